"""Edges of several searches are merged by note, without duplicates, in the order of the searches."""

from __future__ import annotations

from recollect.stores.sql.graph import KeyEdge, merge_edges


def test_merge_edges_groups_by_note_without_duplicates() -> None:
    out, back = KeyEdge(1, 2, "related", "out"), KeyEdge(2, 1, "related", "in")
    mention = KeyEdge(1, 3, "mention", "out")
    assert merge_edges([2, 1, 5], [[out, back], [mention, out]]) == [back, out, mention]


def test_merge_edges_drops_loops() -> None:
    assert merge_edges([1], [[KeyEdge(1, 1, "related", "out")]]) == []


def test_merge_edges_filters_by_kind() -> None:
    edges = [KeyEdge(1, 2, "related", "out"), KeyEdge(1, 2, "mention", "out")]
    assert merge_edges([1], [edges], {"mention"}) == edges[1:]
