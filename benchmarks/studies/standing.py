"""The default against the four published systems, and against its own legs: it must not lose anywhere."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.studies.fusing import MEANING, WORDS, convex, reciprocal
from benchmarks.studies.laboratory import Laboratory, Values, default_with
from benchmarks.studies.tables import against, best_of, difference_table, table
from recollect.evaluation import Outcome, System, compare_outcomes, holm, interval, paired_difference
from recollect.evaluation.report.plots import Bar, bars
from recollect.evaluation.report.wording import fraction, p_value, signed, span

__all__ = ["conversations", "own_legs", "standings", "weak_legs"]

SOURCES = ("jeffs-brain", "trovella", "memini", "weighted-graph")
LEGS = (System("default", "bm25"), System("default", "semantic"))
JUDGED = (System("default"), *LEGS, *map(System, SOURCES))


def _found(lab: Laboratory, name: str, embedder: str) -> dict[str, Outcome]:
    return lab.outcomes(lab.materials[name], embedder, JUDGED)


def standings(lab: Laboratory) -> dict[str, str]:
    """Hold the default against each of them, with Holm's correction for their number."""
    told = {}
    losses = []
    for embedder in lab.embedders:
        rows = []
        for name, material in lab.materials.items():
            found = _found(lab, name, embedder)
            others = [system for system in found if system != "default"]
            for measure in material.measures:
                ours = found["default"].values[measure]
                rows.append([f"**{name}, {measure}**", f"**{fraction(float(ours.mean()))}**", "", "", ""])
                differences = [paired_difference(ours, found[other].values[measure]) for other in others]
                corrected = holm([difference.p for difference in differences])
                for other, difference, p in zip(others, differences, corrected, strict=True):
                    told_span = f"{signed(difference.mean)} ({span(difference.low, difference.high)})"
                    value = fraction(found[other].mean(measure))
                    rows.append([other, value, told_span, p_value(p), difference.verdict])
                    if difference.verdict == "worse":
                        losses.append(f"{name}, {embedder}, {measure}: below {other} by {told_span}")
            if embedder == lab.encoder:
                lab.pictures[f"study-standing-{material.slug}.svg"] = _bars(name, material.measure, found)
        heads = ["system", "value", "the default is above it by", "p after Holm", "the default is"]
        told[f"standings {embedder}"] = table(heads, rows)
    told["losses"] = "\n".join(f"- {loss}" for loss in losses) or "There is none."
    return told


def _bars(name: str, measure: str, found: Mapping[str, Outcome]) -> str:
    compared = compare_outcomes(list(found.values()), measures=[measure], strata=["all"])
    drawn = {
        system: Bar(interval(each.values[measure]), compared.of(system, measure)) for system, each in found.items()
    }
    return bars(f"{name}: {measure}", drawn)


def conversations(lab: Laboratory) -> dict[str, str]:
    """Show the default beside the best published preset for each conversation by itself."""
    material = lab.materials["LoCoMo turns"]
    found = _found(lab, material.name, lab.encoder)
    rows = []
    homes = [question.collection for question in material.dataset.questions]
    for number, home in enumerate(dict.fromkeys(homes), 1):
        places = [place for place, each in enumerate(homes) if each == home]
        cells = [
            against(found["default"].values[measure][places], found["memini"].values[measure][places])
            for measure in material.measures
        ]
        rest = [place for place, each in enumerate(homes) if each != home]
        if rest:
            cells.append(against(found["default"].values["any@5"][rest], found["memini"].values["any@5"][rest]))
        rows.append([str(number), str(len(places)), *cells])
    heads = ["conversation", "questions", *material.measures, "any@5 without it"][: len(rows[0])]
    return {"conversations": table(heads, rows)}


def weak_legs(lab: Laboratory) -> dict[str, str]:
    """Show whether fusion with fixed weights falls below its better leg, plain legs and plain fusion."""
    rows = []
    for embedder in lab.embedders:
        for name, material in lab.materials.items():
            found: dict[str, Values] = {
                way: lab.values(material, embedder, rank)[material.measure]
                for way, rank in {
                    WORDS: lambda legs: legs.lexical,
                    MEANING: lambda legs: legs.vector,
                    "RRF": lambda legs: reciprocal(legs, k=60),
                    "min-max": lambda legs: convex(legs, vector=0.5),
                    "zero": lambda legs: convex(legs, vector=0.5, zero=0.0),
                    "light": lambda legs: convex(legs, vector=0.4, zero=0.0),
                }.items()
            }
            best = best_of(found, [WORDS, MEANING])
            cells = [against(found[way], found[best]) for way in ("RRF", "min-max", "zero", "light")]
            legs = [fraction(float(found[way].mean())) for way in (WORDS, MEANING)]
            rows.append([f"{name}, {embedder}, {material.measure}", *legs, *cells])
    heads = ["collection", WORDS, MEANING, "RRF, k = 60", "min-max, vectors 0.5", "zero is 0, vectors 0.5",
             "zero is 0, vectors 0.4"]  # fmt: skip
    return {"weak legs": table(heads, rows)}


def own_legs(lab: Laboratory) -> dict[str, str]:
    """Hold the default against its own two modes, and against itself with what keeps a weak leg down turned off."""
    rows = []
    columns: dict[str, dict[str, Values]] = {}
    weights = default_with("`fusion.by_strength` off", fusion={"by_strength": False})
    spread = default_with("`fusion.least`: the worst", fusion={"least": {}})
    for embedder in lab.embedders:
        for name, material in lab.materials.items():
            found = _found(lab, name, embedder)
            for measure in material.measures:
                values = {system: outcome.values[measure] for system, outcome in found.items()}
                best = best_of(values, [leg.name for leg in LEGS])
                worst = next(leg.name for leg in LEGS if leg.name != best)
                difference = paired_difference(values["default"], values[best])
                rows.append(
                    [
                        f"{name}, {embedder}, {measure}",
                        fraction(float(values["default"].mean())),
                        f"{best.removeprefix('default ')} {fraction(float(values[best].mean()))}",
                        against(values["default"], values[best]).partition(", ")[2],
                        f"{worst.removeprefix('default ')} {fraction(float(values[worst].mean()))}",
                        "yes" if difference.high < 0 else "no",
                    ]
                )
            sample = material.sample
            varied = lab.outcomes(sample, embedder, [System("default"), weights, spread])
            columns[f"{name}, {embedder}, {material.measure}"] = {
                system: outcome.values[material.measure] for system, outcome in varied.items()
            }
    heads = ["collection", "default", "its better mode", "difference", "its other mode", "does it lose?"]
    return {"own legs": table(heads, rows), "strength": difference_table("default with", columns, "default")}
