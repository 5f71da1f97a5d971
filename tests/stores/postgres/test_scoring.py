"""BM25 over posting lists equals that of FTS5."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.query import Query, expression, parse, render
from recollect.query.expressions import AllOf, AnyOf, Except, Expression, Match, Semantics
from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.bm25 import Scores
from recollect.stores.postgres.connections import Connections
from recollect.stores.postgres.postings import score_notes
from recollect.stores.postgres.text import query_terms
from recollect.stores.sqlite.search import _Fts5
from recollect.stores.tokens import stems_of
from tests.stores.postgres.fts5_reference import NOTES, expressions, fts5, queries, with_unique_path, write_notes
from tests.stores.postgres.server import Server
from tests.strategies import ENGINE_EXAMPLES

Search = Callable[[Expression], dict[int, float]]

BOOK = " ".join(f"word{number}" for number in range(17_000)) + " green tea at the end, and tea " + "tea " * 300 + "cup"


def as_dict(scores: Scores) -> dict[int, float]:
    return dict(zip(scores.notes.tolist(), scores.scores.tolist(), strict=True))


@pytest.fixture(scope="module")
def connections(postgres: Server) -> Iterator[Connections]:
    name = postgres.create()
    with closing(Connections(postgres.address(name))) as connections:
        notes = dict(enumerate([*NOTES, ["", "", "", "", BOOK]], start=1))
        with connections.write(["other"], create=True) as transaction:
            write_notes(transaction, {1001: ["", "tea", "", "", "green tea"]})
        for part in ({key: notes[key] for key in notes if key % 2 == odd} for odd in (0, 1)):
            with connections.write(["tea"], create=True) as transaction:
                write_notes(transaction, part, highest_keys=False)
        yield connections
    postgres.drop(name)


@pytest.fixture(scope="module")
def search(connections: Connections) -> Search:
    def scores(node: Expression) -> dict[int, float]:
        return connections.read(
            lambda t: as_dict(score_notes(t.connection, t.namespaces["tea"], node)), namespace="tea"
        )

    return scores


@pytest.fixture(scope="module")
def fts5_search() -> Search:
    connection: apsw.Connection = fts5([*NOTES, ["", "", "", "", BOOK]])
    weights = ", ".join(map(str, FIELD_WEIGHTS.values()))
    statement = f"SELECT rowid, -bm25(w, {weights}) FROM w WHERE w MATCH ?"  # noqa: S608 (numbers of our own)

    def scores(node: Expression) -> dict[int, float]:
        rows: list[Any] = connection.execute(statement, (render(node, _Fts5()),)).fetchall()
        return dict(rows)

    return scores


def is_scored_as_a_whole(node: Expression, *, in_alternative: bool = False) -> bool:
    """Return whether FTS5 scores only those leaves whose parents match too.

    It does if no alternative and no excluded part is a conjunction.
    """
    match node:
        case Match():
            return True
        case AnyOf(parts):
            return all(is_scored_as_a_whole(part, in_alternative=True) for part in parts)
        case AllOf(parts):
            return not in_alternative and all(is_scored_as_a_whole(part) for part in parts)
        case Except(included, excluded):
            scored = is_scored_as_a_whole(included) and is_scored_as_a_whole(excluded, in_alternative=True)
            return scored and not in_alternative


@settings(max_examples=ENGINE_EXAMPLES // 40)
@given(expressions)
@example(Match("phrase", "green tea"))
@example(Match("phrase", "tea tea"))
@example(Match("prefix", "word1"))
@example(AnyOf((Match("term", "tea"), Match("term", "tea"), Match("term", "?!"))))
def test_any_tree_scores_as_in_fts5(search: Search, fts5_search: Search, node: Expression) -> None:
    actual, expected = search(node), fts5_search(node)
    assert actual.keys() == expected.keys()
    if is_scored_as_a_whole(node):
        assert actual == expected


@settings(max_examples=ENGINE_EXAMPLES // 40)
@given(queries, st.sampled_from(["strict", "literal"]))
def test_any_query_scores_as_in_fts5(search: Search, fts5_search: Search, query: Query, semantics: Semantics) -> None:
    node = expression(query, semantics)
    if node is not None:
        actual, expected = search(node), fts5_search(node)
        assert actual.keys() == expected.keys()
        if is_scored_as_a_whole(node):
            assert actual == expected


def bm25_scores(node: Expression) -> dict[int, float]:
    """Return the scores by the BM25 formula, note by note."""
    texts = [with_unique_path(key, fields) for key, fields in enumerate([*NOTES, ["", "", "", "", BOOK]], start=1)]
    notes = {key: [stems_of(text) for text in fields] for key, fields in enumerate(texts, start=1)}
    length = {key: sum(map(len, fields)) for key, fields in notes.items()}
    average = sum(length.values()) / len(notes)

    def leaf_scores(match: Match) -> dict[int, float]:
        words = query_terms(match.text)
        weights: dict[int, float] = {}
        for key, fields in notes.items():
            for field, weight in zip(fields, FIELD_WEIGHTS.values(), strict=True):
                windows = [field[at : at + len(words)] for at in range(len(field) - len(words) + 1)] if words else []
                for window in windows:
                    last = window[-1].startswith(words[-1]) if match.kind == "prefix" else window[-1] == words[-1]
                    if last and window[:-1] == words[:-1]:
                        weights[key] = weights.get(key, 0.0) + weight
        idf = max(math.log((len(notes) - len(weights) + 0.5) / (len(weights) + 0.5)), 1e-6)
        return {key: idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length[key] / average)) for key, f in weights.items()}

    def scores_of(node: Expression) -> dict[int, float]:
        match node:
            case Match():
                return leaf_scores(node)
            case AnyOf(parts):
                part_scores = list(map(scores_of, parts))
                return {key: sum(part.get(key, 0.0) for part in part_scores) for key in set().union(*part_scores)}
            case AllOf(parts):
                part_scores = list(map(scores_of, parts))
                return {
                    key: sum(part[key] for part in part_scores)
                    for key in set(part_scores[0]).intersection(*part_scores)
                }
            case Except(included, excluded):
                excluded_scores = scores_of(excluded)
                return {key: score for key, score in scores_of(included).items() if key not in excluded_scores}

    return scores_of(node)


@pytest.mark.parametrize(
    "node",
    [
        AnyOf(
            (Match("term", "brew"), AllOf((Match("term", "tea"), AnyOf((Match("term", "42"), Match("term", "run"))))))
        ),
        AnyOf((Match("prefix", "r"), Except(Match("term", "tea"), Match("term", "green")))),
        AllOf((Match("phrase", "green tea"), AnyOf((Match("prefix", "bre"), Match("term", "cafe"))))),
    ],
)
def test_leaf_scores_only_if_its_parents_match(search: Search, node: Expression) -> None:
    assert search(node) == pytest.approx(bm25_scores(node), abs=1e-12)
    assert search(node)


def test_phrase_at_the_end_of_a_long_note(search: Search, fts5_search: Search) -> None:
    book = len(NOTES) + 1
    for node in (Match("phrase", "tea at the end"), Match("prefix", "tea tea cu")):
        assert set(search(node)) == {book}
        assert search(node) == fts5_search(node)


def test_scores_do_not_depend_on_other_namespaces(connections: Connections) -> None:
    node = expression(parse('tea OR "green tea" OR gre*'))
    assert node is not None
    actual = connections.read(
        lambda t: as_dict(score_notes(t.connection, t.namespaces["other"], node)), namespace="other"
    )
    # One note of average length matches all three leaves: idf is 0.000001, f is 11, 1 and 1.
    expected = 1e-6 * 2.2 * (11 / (11 + 1.2) + 1 / (1 + 1.2) + 1 / (1 + 1.2))
    assert actual == {1001: pytest.approx(expected, rel=1e-12)}


def test_empty_namespace_has_no_results(connections: Connections) -> None:
    with connections.write(["empty"], create=True) as transaction:
        (empty,) = transaction.namespaces.values()
        scores = score_notes(transaction.connection, empty, AnyOf((Match("term", "tea"), Match("prefix", "t"))))
    assert as_dict(scores) == {}


def test_best_includes_ties_with_the_last(connections: Connections) -> None:
    node = Match("term", "tea")
    scores = connections.read(lambda t: score_notes(t.connection, t.namespaces["tea"], node), namespace="tea")
    ranked = sorted(as_dict(scores).items(), key=lambda pair: (-pair[1], pair[0]))
    best = list(as_dict(scores.best(5)).items())
    assert best == ranked[: len(best)]
    assert len(best) >= 5
    assert best[-1][1] == ranked[4][1]
    assert list(as_dict(scores.best(1_000)).items()) == ranked


def test_scores_of_distant_keys(connections: Connections) -> None:
    with connections.write(["far"], create=True) as transaction:
        write_notes(transaction, {2_001: ["", "", "", "", "tea"], 10**12: ["", "", "", "", "cup of tea"]})
        node = AnyOf((Match("term", "tea"), Match("term", "cup")))
        scores = score_notes(transaction.connection, transaction.namespaces["far"], node)
    assert scores.notes.tolist() == [2_001, 10**12]
