"""The graph leg: as a source, as a factor, as score that is lent; and against reading turns in their context.

Seeds keep what they have in every one of these, and notes that no leg found come in, but with the multiplier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.studies.laboratory import Laboratory, Values, changed
from benchmarks.studies.material import Material
from benchmarks.studies.tables import against, difference_table, share, table
from recollect.embedders import embedder_from
from recollect.evaluation import Outcome, System, open_collection
from recollect.evaluation.embeddings import KeepingEmbedder
from recollect.evaluation.running import evaluation_folder
from recollect.retrieval import Preset, presets
from recollect.retrieval.preset import changed_preset

__all__ = ["along_mentions", "along_turns", "reachable"]

BARE = changed_preset(
    presets()["default"],
    {"name": "two legs", "query": {"common": 1.0}, "context": {"on": False}, "graph": {"use": "off"}, "stages": ()},
)
"""Both legs in the default's fusion, and nothing else."""

TWO_LEGS = System(BARE, name="two legs")
RANKS = System("trovella", name="two legs by RRF")
IN_CONTEXT, WITH_SESSION = "read in context, no graph", "read in context, and the stage session"
WITH_LOANS = "both of these, and addition: neighbours"
BEST_LOANS = "addition: both, two places away, hubs 0.25, lift 0.95"
_TURNS = {"previous": 0.3, "next": 0.3, "session": 0.03}
_BESIDE = {"previous": 0.3, "next": 0.3}
_PLAIN = {"hubs": 0.0, "lift": 0.0}
"""Loans as they are, whoever has many edges, and as high as they lift."""


def _graph(name: str, use: str, edges: dict[str, float], base: Preset = BARE, **settings: Any) -> System:
    return changed(base, name, graph={"use": use, "edges": edges, **_PLAIN, **settings})


def _turn_systems() -> list[System]:
    session = next(rules for rules in presets()["default"].stages if rules.stage == "session")
    weighted = changed_preset(BARE, {"fusion": {"weights": {"lexical": 0.4, "vector": 0.6, "graph": 0.2}}})
    return [
        TWO_LEGS,
        _graph("source, a third list of weight 0.2", "source", _BESIDE, weighted),
        _graph("multiplier", "multiplier", _TURNS),
        _graph("addition: neighbours", "addition", _BESIDE),
        _graph("addition: session", "addition", {"session": 0.03}),
        _graph("addition: neighbours and session", "addition", _TURNS),
        _graph("addition: both, neighbours two places away", "addition", _TURNS, reach=2),
        _graph(BEST_LOANS, "addition", _TURNS, reach=2, hubs=0.25, lift=0.95),
        _graph("addition: both, by random walk", "addition", _TURNS, spread="random_walk"),
        changed(BARE, IN_CONTEXT, context={"on": True}),
        changed(BARE, WITH_SESSION, context={"on": True}, stages=(session,)),
        changed(
            BARE,
            WITH_LOANS,
            context={"on": True},
            stages=(session,),
            graph={"use": "addition", "edges": _BESIDE, **_PLAIN},
        ),
    ]


def _rank_systems() -> list[System]:
    edges = {"previous": 1.0, "next": 1.0, "mention": 1.0}
    return [
        RANKS,
        *(
            changed(
                "trovella",
                f"RRF and a graph leg of weight {weight:g}",
                fusion={"weights": {"graph": weight}},
                graph={"use": "source", "edges": edges},
            )
            for weight in (0.35, 1.0)
        ),
    ]


def _mention_systems() -> list[System]:
    def lent(name: str, use: str = "addition", weight: float = 0.5, **settings: Any) -> System:
        return _graph(name, use, {"mention": weight}, **settings)

    weighted = changed_preset(BARE, {"fusion": {"weights": {"lexical": 0.4, "vector": 0.6, "graph": 0.2}}})
    return [
        TWO_LEGS,
        _graph("source, a third list of weight 0.2", "source", {"mention": 1.0}, weighted),
        lent("multiplier, mention 0.5", "multiplier"),
        lent("addition, mention 0.25", weight=0.25),
        lent("addition, mention 0.5"),
        lent("addition, mention 0.5, hubs 0.25", hubs=0.25),
        lent("addition, mention 0.5, hubs 0.5", hubs=0.5),
        lent("addition, mention 0.5, lift 0.95", lift=0.95),
        lent("addition, mention 0.5, hubs 0.25, lift 0.95", hubs=0.25, lift=0.95),
        lent("addition, mention 0.5, hubs 0.5, lift 0.95", hubs=0.5, lift=0.95),
        lent("addition, mention 1, hubs 0.25, lift 0.95", weight=1.0, hubs=0.25, lift=0.95),
    ]


def along_turns(lab: Laboratory) -> dict[str, str]:
    """Let turns lend to those beside them and to their session."""
    told = {}
    rows: list[list[str]] = []
    for embedder in lab.embedders:
        material = lab.materials["LoCoMo turns"].sample
        told[f"turns {embedder}"] = _compared(lab, [material], embedder, _turn_systems(), material.measures)
        rows += _held_against(lab.outcomes(material, embedder, _turn_systems()), embedder, material.measures)
        told[f"turns by rank {embedder}"] = _compared(lab, [material], embedder, _rank_systems(), material.measures)
    told["context"] = table(["embedder", "", "against", *lab.materials["LoCoMo turns"].measures], rows)
    return told


def _held_against(found: Mapping[str, Outcome], embedder: str, measures: Sequence[str]) -> list[list[str]]:
    """Return rows for reading in context against the best loans, and for loans on top of it."""
    pairs = ((IN_CONTEXT, BEST_LOANS), (WITH_SESSION, BEST_LOANS), (WITH_LOANS, WITH_SESSION))
    return [
        [embedder, name, base, *(against(found[name].values[each], found[base].values[each]) for each in measures)]
        for name, base in pairs
    ]


def along_mentions(lab: Laboratory) -> dict[str, str]:
    """Let notes lend to those that they name by title, or that name them."""
    told = {}
    for embedder in lab.embedders:
        judged = [lab.materials["MuSiQue"], lab.materials["SciFact"].sample]
        told[f"mentions {embedder}"] = _compared(lab, judged, embedder, _mention_systems(), ())
    return told


def _compared(
    lab: Laboratory, judged: Sequence[Material], embedder: str, systems: Sequence[System], measures: Sequence[str]
) -> str:
    columns: dict[str, dict[str, Values]] = {}
    for material in judged:
        found = lab.outcomes(material, embedder, systems)
        for measure in measures or material.measures:
            columns[f"{material.name}, {measure}"] = {name: each.values[measure] for name, each in found.items()}
    return difference_table("graph", columns, systems[0].name)


def reachable(lab: Laboratory) -> dict[str, str]:
    """Count how many of the notes that two legs miss are one mention away from one of the ten best."""
    rows = []
    for name in ("MuSiQue", "SciFact"):
        material = lab.materials[name].sample
        found = lab.outcomes(material, lab.encoder, [TWO_LEGS])[TWO_LEGS.name]
        model = embedder_from(lab.encoder)
        missed = near = relevant = 0
        degrees = []
        for collection in material.dataset.collections.values():
            kept = KeepingEmbedder(model, lab.cache or evaluation_folder()) if model else None
            with open_collection(collection, kept) as memory:
                for question in material.dataset.questions:
                    best = found.rankings[question.id].ids[:10]
                    relevant += len(question.relevant)
                    for note in question.relevant:
                        beside = {each.note.id for each in memory.neighbours(note) if each.kind == "mention"}
                        degrees.append(len(beside))
                        if note not in best:
                            missed += 1
                            near += bool(beside.intersection(best))
        rows.append([name, share(missed, relevant), share(near, missed), f"{sum(degrees) / len(degrees):.1f}"])
    heads = ["collection", "relevant notes not among the ten best of two legs", "of these, one mention away from one",
             "mentions of a relevant note, mean"]  # fmt: skip
    return {"reachable": table(heads, rows)}
