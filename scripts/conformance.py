"""Run conformance vectors: JSON files, one for each function, of cases with arguments and an expected result.

A runner calls the public functions with the arguments of a case, and converts the result to the JSON of the vectors.
Numbers may differ by 1e-9. Keys that the expected result does not have are not compared.
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

OPTIONAL_TRACE_KEYS = ("rerankSkippedReason", "rerankProvider", "unanimity", "errorStage")
"""Optional keys of a trace. If the expected trace does not have one, the actual trace must not have it either."""


def aliases(case: Case) -> Any:
    """Parse a query and expand its aliases; return the tree and its canonical FTS5 string."""
    expanded = query.expand_aliases(query.parse(case["input"]), case["aliases"])
    return {"ast": expanded.to_dict(), "fts": query.compile_fts5(expanded)}


def question_date(case: Case) -> str | None:
    """Parse a question date; return it in the format of the vectors."""
    time = query.parse_question_date(case["input"])
    return None if time is None else time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def candidate(note: dict[str, Any]) -> dict[str, Any]:
    """Return a note of the vectors with the field names of the library."""
    renamed = {"bm25Rank": "lexical_rank", "vectorSimilarity": "vector_similarity"}
    return {renamed.get(key, key): value for key, value in note.items()}


def to_vector_names(result: Candidate) -> dict[str, Any]:
    """Return a candidate with the field names of the vectors."""
    return {
        **{name: getattr(result, name) for name in ("id", "path", "title", "summary", "content", "score")},
        "bm25Rank": result.lexical_rank,
        "vectorSimilarity": result.vector_similarity,
    }


def rrf(case: Case) -> Any:
    """Fuse the lists by reciprocal rank fusion."""
    lists = [[candidate(note) for note in notes] for notes in case["lists"]]
    options = {name: case[name] for name in ("k", "weights", "limit") if name in case}
    return [to_vector_names(result) for result in fusion.reciprocal_rank_fusion(lists, **options)]


def unanimity(case: Case) -> Any:
    """Return the agreement of two legs; ``None`` if they do not agree."""
    result = ranking.unanimity(case["bm25"], case["vector"], case.get("agreeMin", 2))
    return None if result is None else {"ids": list(result.ids), "agreements": result.agreements}


def intent(case: Case) -> Any:
    """Detect a query's intents."""
    result = ranking.detect_intent(case["input"])
    return {"preferenceQuery": result.preference, "concreteFactQuery": result.concrete_fact}


def multipliers(case: Case) -> Any:
    """Return the multiplier of a note for each intent and for both."""
    note = candidate(case["note"])
    return {
        "preference": ranking.intent_multiplier(ranking.Intent(preference=True, concrete_fact=False), note),
        "concreteFact": ranking.intent_multiplier(ranking.Intent(preference=False, concrete_fact=True), note),
        "both": ranking.intent_multiplier(ranking.Intent(preference=True, concrete_fact=True), note),
    }


def reweighted(case: Case) -> Any:
    """Reweight a list by the query's intent."""
    results = ranking.reweight_by_intent(case["query"], map(candidate, case["results"]))
    return [to_vector_names(result) for result in results]


class StubIndex:
    """An index with fixed results: note ids by canonical query for the lexical leg, and a list for the vector leg."""

    def __init__(self, docs: dict[str, Any], setup: dict[str, Any]) -> None:
        self._docs = docs
        self._setup = setup

    def search_text(self, tree: query.Query, *_: Any, **__: Any) -> list[Candidate]:
        """Return the results for the query's canonical string."""
        ids_by_query = self._setup.get("bm25", {})
        if ids_by_query == "throw":
            raise RuntimeError("the lexical index is down")
        return [self.note(note_id) for note_id in ids_by_query.get(query.compile_fts5(tree), [])]

    def search_vectors(self, *_: Any, **__: Any) -> list[Candidate]:
        """Return the notes of the vector leg, with decreasing similarity."""
        if self._setup.get("vectorThrow"):
            raise RuntimeError("the vector index is down")
        results = [self.note(note_id) for note_id in self._setup.get("vector", [])]
        for position, result in enumerate(results):
            result.score = result.vector_similarity = 1 - position / 100
        return results

    def note(self, note_id: str) -> Candidate:
        """Return a note by its id."""
        return Candidate.from_mapping(self._docs[note_id])


class StubEmbedder:
    """An embedder that returns a vector, returns nothing, or fails."""

    name = "stub-embed"
    dimension = 2

    def __init__(self, behaviour: str) -> None:
        self._behaviour = behaviour

    def embed_query(self, _text: str) -> Any:
        """Return a vector, return an empty one, or raise."""
        if self._behaviour == "throw":
            raise RuntimeError("the embedder is down")
        return [] if self._behaviour == "empty" else [0.6, 0.8]

    embed_documents = embed_query


class StubReranker:
    """A reranker whose scores depend on the positions of the documents only."""

    name = "stub-rerank"

    def __init__(self, behaviour: str) -> None:
        self._behaviour = behaviour

    def rerank(self, _query: str, documents: Sequence[str]) -> list[tuple[int, float]]:
        """Return (position, score) pairs; some behaviours return a faulty list or raise."""
        positions = range(len(documents))
        match self._behaviour:
            case "throw":
                raise RuntimeError("the reranker is down")
            case "identity":
                return [(position, float(10 - position)) for position in positions]
            case "partial":
                return [(1, 1.0)]
            case "badindex":
                return [(99, 5.0), *((position, float(position)) for position in positions)]
            case "dup":
                return [pair for position in positions for pair in [(position, float(position))] * 2]
            case "emptyout":
                return []
            case _:
                return [(position, float(position)) for position in positions]


def pipeline(case: Case) -> Any:
    """Search a stub index with the preset jeffs-brain; return ids, scores and the trace."""
    setup = case["setup"]
    docs, request = case["docs"], setup["request"]
    index = StubIndex(docs, setup)
    notes = setup.get("trigramChunks", [])
    chunks = [index.note(note) if isinstance(note, str) else candidate(note) for note in notes]
    search = retrieval.Retrieval(
        index,  # type: ignore[arg-type]
        embedder=StubEmbedder(setup["embedder"]) if setup.get("embedder") else None,  # type: ignore[arg-type]
        reranker=StubReranker(setup["reranker"]) if setup.get("reranker") else None,
        aliases=setup.get("aliases"),
        preset="jeffs-brain",
        trigram_chunks=chunks,
    )
    options = {_snake(name): value for name, value in request.items() if name != "query"}
    result = search.search(request["query"], **options)
    results = [{"id": hit.id, "score": hit.score} for hit in result]
    for data, hit in zip(results, result, strict=True):
        if hit.candidate.rerank_score is not None:
            data["rerankScore"] = hit.candidate.rerank_score
    trace = result.trace.to_dict()
    absent = [name for name in OPTIONAL_TRACE_KEYS if name not in case["expected"]["trace"]]
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
    """Return the expected result of a case.

    Cases of ``intent_multiplier`` have it beside the arguments. In a trace, optional keys that are missing are expected
    to be absent: ``no KEY`` is true.
    """
    if "expected" not in case:
        return {name: case[name] for name in ("preference", "concreteFact", "both")}
    expected = case["expected"]
    if not isinstance(expected, dict) or "trace" not in expected:
        return expected
    absent = {f"no {name}": True for name in OPTIONAL_TRACE_KEYS if name not in expected["trace"]}
    return {**expected, "trace": expected["trace"] | absent}


def agrees(expected: Any, actual: Any) -> bool:
    """Return whether a result is as expected: numbers to 1e-9, objects in the keys that the expected one has."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and agrees(expected[key], actual[key]) for key in expected
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and len(expected) == len(actual) and all(map(agrees, expected, actual))
    if isinstance(expected, bool) or not isinstance(expected, (int, float)):
        return type(expected) is type(actual) and bool(expected == actual)
    return isinstance(actual, (int, float)) and math.isclose(expected, actual, rel_tol=0, abs_tol=1e-9)


def run_cases(name: str, cases: list[Case]) -> tuple[int, list[str]]:
    """Return the number of passed cases, and a line of text for each failed case."""
    passed, failures = 0, []
    for number, case in enumerate(cases):
        expected = expectation(case)
        try:
            actual = RUNNERS[name](case)
        except Exception as error:  # noqa: BLE001 (any error is a failed case)
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
        print(f"{folder} has no vector files (*.json); name a folder that has some", file=sys.stderr)
        return 2
    total_passed, total_failed = 0, 0
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
        total_passed += passed
        total_failed += len(failures)
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # no traceback if the reader of the output stops early
    sys.exit(main(Path(sys.argv[1])))
