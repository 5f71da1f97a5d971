"""Edges of several searches are merged by note, each once, in the order of the searches."""

from __future__ import annotations

from recollect.stores.sql.graph import KeyEdge, links_between, merge_edges


def test_merge_edges_groups_by_note_without_duplicates() -> None:
    out, back = KeyEdge(1, 2, "related", "out"), KeyEdge(2, 1, "related", "in")
    mention = KeyEdge(1, 3, "mention", "out")
    assert merge_edges([2, 1, 5], [[out, back], [mention, out]]) == [back, out, mention]


def test_merge_edges_drops_loops() -> None:
    assert merge_edges([1], [[KeyEdge(1, 1, "related", "out")]]) == []


def test_merge_edges_filters_by_kind() -> None:
    edges = [KeyEdge(1, 2, "related", "out"), KeyEdge(1, 2, "mention", "out")]
    assert merge_edges([1], [edges], {"mention"}) == edges[1:]


def test_links_between_yields_both_directions() -> None:
    links = [(3, "related", "tea"), (1, "related", "tea"), (1, "part-of", "milk"), (1, "related", "nowhere")]
    assert list(links_between({1, 2}, links, {"tea": 2, "milk": 4})) == [
        KeyEdge(1, 2, "related", "out"),
        KeyEdge(1, 4, "part-of", "out"),
        KeyEdge(2, 1, "related", "in"),
        KeyEdge(2, 3, "related", "in"),
    ]
