"""Runs conformance vectors: JSON files of one function each, whose cases hold arguments and what is expected.

Each runner below turns a case into a call of the public functions and the result into the vectors' JSON. Numbers
agree to 1e-9, and keys that the expectation does not list are not compared.
"""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recollect import Candidate, fusion, query, ranking, retrieval

Case = dict[str, Any]

OPTIONAL = ("rerankSkippedReason", "rerankProvider", "unanimity", "errorStage")
"""The keys of a trace that are there only where they apply; a case that does not list one expects it to be absent."""


def aliases(case: Case) -> Any:
    """Parse, expand, and show the tree and its canonical string."""
    expanded = query.expand_aliases(query.parse(case["input"]), case["aliases"])
    return {"ast": expanded.to_dict(), "fts": query.compile_fts5(expanded)}


def question_date(case: Case) -> str | None:
    """Show an instant as the vectors write it."""
    moment = query.parse_question_date(case["input"])
    return None if moment is None else moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def candidate(note: dict[str, Any]) -> dict[str, Any]:
    """Give a note of the vectors the names that the library uses."""
    renamed = {"bm25Rank": "lexical_rank", "vectorSimilarity": "vector_similarity"}
    return {renamed.get(key, key): value for key, value in note.items()}


def shown(found: Candidate) -> dict[str, Any]:
    """Give a candidate the names that the vectors use."""
    return {
        **{name: getattr(found, name) for name in ("id", "path", "title", "summary", "content", "score")},
        "bm25Rank": found.lexical_rank,
        "vectorSimilarity": found.vector_similarity,
    }


def rrf(case: Case) -> Any:
    """Fuse the lists."""
    lists = [[candidate(note) for note in each] for each in case["lists"]]
    options = {name: case[name] for name in ("k", "weights", "limit") if name in case}
    return [shown(found) for found in fusion.reciprocal_rank_fusion(lists, **options)]


def unanimity(case: Case) -> Any:
    """Check two legs for agreement."""
    found = ranking.unanimity(case["bm25"], case["vector"], case.get("agreeMin", 2))
    return None if found is None else {"ids": list(found.ids), "agreements": found.agreements}


def intent(case: Case) -> Any:
    """Detect a query's intents."""
    found = ranking.detect_intent(case["input"])
    return {"preferenceQuery": found.preference, "concreteFactQuery": found.concrete_fact}


def multipliers(case: Case) -> Any:
    """Weigh a note under each intent alone and under both."""
    note = candidate(case["note"])
    return {
        "preference": ranking.intent_multiplier(ranking.Intent(preference=True, concrete_fact=False), note),
        "concreteFact": ranking.intent_multiplier(ranking.Intent(preference=False, concrete_fact=True), note),
        "both": ranking.intent_multiplier(ranking.Intent(preference=True, concrete_fact=True), note),
    }


def reweighted(case: Case) -> Any:
    """Reweight a list by the query's intent."""
    return [shown(found) for found in ranking.reweight_by_intent(case["query"], map(candidate, case["results"]))]


class StubIndex:
    """An index whose answers are written down: ids by canonical query, and the dense order."""

    def __init__(self, docs: dict[str, Any], setup: dict[str, Any]) -> None:
        """Keep the answers."""
        self._docs = docs
        self._setup = setup

    def search_text(self, tree: query.Query, *_: Any, **__: Any) -> list[Candidate]:
        """Return what is written down for the query's canonical string."""
        answers = self._setup.get("bm25", {})
        if answers == "throw":
            raise RuntimeError("the word index is down")
        return [self.note(each) for each in answers.get(query.compile_fts5(tree), [])]

    def search_vectors(self, *_: Any, **__: Any) -> list[Candidate]:
        """Return the dense order, each a little less similar than the one before."""
        if self._setup.get("vectorThrow"):
            raise RuntimeError("the vector index is down")
        found = [self.note(each) for each in self._setup.get("vector", [])]
        for place, each in enumerate(found):
            each.score = each.vector_similarity = 1 - place / 100
        return found

    def note(self, identifier: str) -> Candidate:
        """Return a note by its id."""
        return Candidate.from_mapping(self._docs[identifier])


class StubEmbedder:
    """An embedder that answers, answers nothing, or fails."""

    name = "stub-embed"
    dimension = 2

    def __init__(self, answer: str) -> None:
        """Keep what it does."""
        self._answer = answer

    def embed_query(self, _text: str) -> Any:
        """Return a vector, none, or raise."""
        if self._answer == "throw":
            raise RuntimeError("the embedder is down")
        return [] if self._answer == "empty" else [0.6, 0.8]

    embed_documents = embed_query


class StubReranker:
    """A reranker whose verdict depends on places alone."""

    name = "stub-rerank"

    def __init__(self, verdict: str) -> None:
        """Keep what it does."""
        self._verdict = verdict

    def rerank(self, _query: str, documents: Sequence[str]) -> list[tuple[int, float]]:
        """Return a score for each place, or what a faulty one would."""
        places = range(len(documents))
        match self._verdict:
            case "throw":
                raise RuntimeError("the reranker is down")
            case "identity":
                return [(place, float(10 - place)) for place in places]
            case "partial":
                return [(1, 1.0)]
            case "badindex":
                return [(99, 5.0), *((place, float(place)) for place in places)]
            case "dup":
                return [pair for place in places for pair in [(place, float(place))] * 2]
            case "emptyout":
                return []
            case _:
                return [(place, float(place)) for place in places]


def pipeline(case: Case) -> Any:
    """Search a stub index as preset A does, and show ids, scores and the trace."""
    setup = case["setup"]
    docs, request = case["docs"], setup["request"]
    index = StubIndex(docs, setup)
    chunks = [index.note(each) if isinstance(each, str) else candidate(each) for each in setup.get("trigramChunks", [])]
    walk = retrieval.Retrieval(
        index,  # type: ignore[arg-type]
        embedder=StubEmbedder(setup["embedder"]) if setup.get("embedder") else None,  # type: ignore[arg-type]
        reranker=StubReranker(setup["reranker"]) if setup.get("reranker") else None,
        aliases=setup.get("aliases"),
        preset="jeffs-brain",
        trigram_chunks=chunks,
    )
    options = {_snake(name): value for name, value in request.items() if name != "query"}
    found = walk.search(request["query"], **options)
    results = [{"id": hit.id, "score": hit.score} for hit in found]
    for shown_hit, hit in zip(results, found, strict=True):
        if hit.candidate.rerank_score is not None:
            shown_hit["rerankScore"] = hit.candidate.rerank_score
    trace = found.trace.to_dict()
    absent = [name for name in OPTIONAL if name not in case["expected"]["trace"]]
    return {"results": results, "trace": trace | {f"no {name}": name not in trace for name in absent}}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


RUNNERS: dict[str, Callable[[Case], Any]] = {
    "normalise": lambda case: query.normalise(case["input"]),
    "parse_query": lambda case: query.parse(case["input"]).to_dict(),
    "compile_fts5": lambda case: query.compile_fts5(query.parse(case["input"])),
    "expand_aliases": aliases,
    "sanitise_query": lambda case: query.sanitise(case["input"]),
    "strongest_term": lambda case: query.strongest_term(case["input"]),
    "query_tokens": lambda case: query.query_tokens(case["input"]),
    "slug_text_for": lambda case: query.slug_text(case["input"]),
    "compute_trigrams": lambda case: sorted(query.trigrams(case["input"])),
    "jaccard": lambda case: query.jaccard(query.trigrams(case["a"]), query.trigrams(case["b"])),
    "trigram_search": lambda case: [
        match.to_dict() for match in query.trigram_search(case["chunks"], case["tokens"], case["limit"])
    ],
    "expand_temporal": lambda case: query.expand_temporal(case["question"], case.get("questionDate")).to_dict(),
    "augment_with_temporal": lambda case: query.augment_with_temporal(case["question"], case.get("questionDate")),
    "parse_question_date": question_date,
    "date_search_tokens": lambda case: query.date_search_tokens(case["input"]),
    "rrf": rrf,
    "unanimity": unanimity,
    "detect_intent": intent,
    "intent_multiplier": multipliers,
    "reweight": reweighted,
    "pipeline": pipeline,
    "rerank_text": lambda case: ranking.rerank_text(candidate(case["input"])),
}


def expectation(case: Case) -> Any:
    """Return what a case expects; the multipliers stand beside the arguments, and what a trace lacks goes unsaid."""
    if "expected" not in case:
        return {name: case[name] for name in ("preference", "concreteFact", "both")}
    expected = case["expected"]
    if not isinstance(expected, dict) or "trace" not in expected:
        return expected
    absent = {f"no {name}": True for name in OPTIONAL if name not in expected["trace"]}
    return {**expected, "trace": expected["trace"] | absent}


def agrees(expected: Any, actual: Any) -> bool:
    """Compare as the vectors ask: numbers to 1e-9, of an object the keys that are listed."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and agrees(expected[key], actual[key]) for key in expected
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(agrees(one, other) for one, other in zip(expected, actual, strict=True))
        )
    if isinstance(expected, bool) or not isinstance(expected, (int, float)):
        return type(expected) is type(actual) and bool(expected == actual)
    return isinstance(actual, (int, float)) and math.isclose(expected, actual, rel_tol=0, abs_tol=1e-9)


def run_cases(name: str, cases: list[Case]) -> tuple[int, list[str]]:
    """Return how many of a function's cases passed, and a line for each that did not."""
    passed, failures = 0, []
    for number, case in enumerate(cases):
        expected = expectation(case)
        try:
            actual = RUNNERS[name](case)
        except Exception as error:  # noqa: BLE001 (whatever a vector provokes is a failed case, not the end of the run)
            actual = f"raised {error!r}"
        if agrees(expected, actual):
            passed += 1
        else:
            failures.append(f"  case {number}: expected {expected!r}, got {actual!r}")
    return passed, failures


def main(folder: Path) -> int:
    """Run every vector file of a folder; return the exit code."""
    files = sorted(folder.glob("*.json"))
    if not files:
        print(f"{folder}: no vector files (*.json) here", file=sys.stderr)
        return 2
    total, failed = 0, 0
    for path in files:
        name = path.stem
        try:
            vectors = json.loads(path.read_text(encoding="utf-8"))
            name = vectors["function"]
            docs = vectors.get("docs")
            passed, failures = run_cases(name, [{**case, "docs": docs} if docs else case for case in vectors["cases"]])
        except (OSError, ValueError, KeyError, TypeError) as error:
            passed, failures = 0, [f"  {path.name} cannot be read as vectors: {error!r}"]
        print(f"{name}: {passed} passed, {len(failures)} failed", *failures, sep="\n")
        total += passed
        failed += len(failures)
    print(f"{total} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever reads the output may stop early
    sys.exit(main(Path(sys.argv[1])))
