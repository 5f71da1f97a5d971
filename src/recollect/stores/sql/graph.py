"""The edges of the note graph: neighbours in a session, links, mentions and shared entities.

The edges of many notes are read at once, with one query for each kind of edge, in the SQL of ``dialect.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, NamedTuple

from recollect.model import Edge
from recollect.stores.rows import to_microseconds
from recollect.stores.search_index import MAX_SUPERSESSIONS, SUPERSESSION_KINDS
from recollect.stores.sql.dialect import MAX_INTEGER, Row, SqlTransaction
from recollect.stores.tokens import MAX_TITLE_NOTES

ADJACENT = frozenset(("previous", "next"))  # the kinds of edges between neighbours in a session
DERIVED = ADJACENT | {"mention", "entity"}  # the kinds of edges that are not links
MAX_ENTITY_NOTES = 64  # if more notes share an entity, the entity makes no edges


class KeyEdge(NamedTuple):
    """An edge of the note ``source``, by note keys; with the direction "in", the link or mention leads to it."""

    source: int
    target: int
    kind: str
    direction: Literal["out", "in"]
    distance: int = 1  # in a session, how many notes away the target is; 1 for all other edges


class _Source(NamedTuple):
    """A note whose edges are looked up; a link to it has its id, path or name as target."""

    key: int
    id: str
    path: str | None
    name: str | None


def edges(
    transaction: SqlTransaction,
    namespace_id: int,
    ids: Sequence[str],
    distance: int,
    kinds: Collection[str] | None = None,
) -> list[Edge]:
    """Return the edges of the notes with these ids; ``distance`` is the maximum distance of neighbours in a session."""
    rows = transaction.fetch(
        "SELECT key, id, path, name FROM visible_notes "
        "WHERE namespace = :namespace AND LOOKUP(id) IN LOOKUP_LIST(:ids)",
        namespace=namespace_id,
        ids=ids,
    )
    by_id = {row[1]: _Source(*row) for row in rows}
    sources = [by_id[note_id] for note_id in dict.fromkeys(ids) if note_id in by_id]
    key_edges, ids_by_key = _edges(transaction, namespace_id, sources, distance, kinds)
    ids_by_key |= {source.key: source.id for source in sources}
    return [Edge(ids_by_key[edge.source], ids_by_key[edge.target], *edge[2:]) for edge in key_edges]


def edges_of_key(transaction: SqlTransaction, namespace_id: int, key: int) -> list[KeyEdge]:
    """Return all edges of one note, given by its key."""
    rows = transaction.fetch("SELECT key, id, path, name FROM notes WHERE key = :key", key=key)
    return _edges(transaction, namespace_id, [_Source(*row) for row in rows], 1, None)[0]


def successors(
    transaction: SqlTransaction, namespace_id: int, ids: Sequence[str], created_before: datetime | None
) -> dict[str, tuple[str, ...]]:
    """Return the direct successors, by id, of each superseded note in the successor chains that start at ``ids``."""
    # Most namespaces have no superseding links. One index lookup shows this, and saves the recursive query.
    if not transaction.fetch_value(
        "SELECT EXISTS (SELECT 1 FROM links WHERE namespace = :namespace AND LOOKUP(kind) IN LOOKUP_LIST(:kinds))",
        namespace=namespace_id,
        kinds=sorted(SUPERSESSION_KINDS),
    ):
        return {}
    before = MAX_INTEGER if created_before is None else to_microseconds(created_before)
    successor_ids: dict[str, list[str]] = {}
    for old_id, new_id in transaction.superseding_pairs(namespace_id, ids, before, MAX_SUPERSESSIONS):
        successor_ids.setdefault(old_id, []).append(new_id)
    return {old_id: tuple(sorted(new_ids)) for old_id, new_ids in sorted(successor_ids.items())}


def _edges(
    transaction: SqlTransaction,
    namespace_id: int,
    sources: Sequence[_Source],
    distance: int,
    kinds: Collection[str] | None,
) -> tuple[list[KeyEdge], dict[int, str]]:
    """Return the edges from ``sources`` to visible notes, ordered by source and kind, and the target ids by key."""
    if not sources:
        return [], {}
    keys = [source.key for source in sources]
    edge_lists: list[Iterable[KeyEdge]] = []
    if kinds is None or not ADJACENT.isdisjoint(kinds):
        previous, following = transaction.adjacent_notes(keys, max(distance, 0))
        edge_lists += _adjacent_edges(previous, "previous"), _adjacent_edges(following, "next")
    if kinds is None or not DERIVED.issuperset(kinds):  # any other kind is a kind of links
        edge_lists.append(_link_edges(transaction, namespace_id, sources, kinds))
    queries: list[tuple[str, dict[str, Any]]] = []
    query_edges: list[tuple[str, Literal["out", "in"]]] = []  # the kind and direction of the edges of each query
    if kinds is None or "mention" in kinds:
        queries += ((sql, {"notes": keys, "limit": MAX_TITLE_NOTES}) for sql in (_MENTIONED_NOTES, _MENTIONING_NOTES))
        query_edges += ("mention", "out"), ("mention", "in")
    if kinds is None or "entity" in kinds:
        queries.append((_NOTES_SHARING_ENTITIES, {"notes": keys, "limit": MAX_ENTITY_NOTES}))
        query_edges.append(("entity", "out"))
    for rows, (kind, direction) in zip(transaction.fetch_together(queries), query_edges, strict=True):
        edge_lists.append([KeyEdge(source, target, kind, direction) for source, target in rows])
    merged = merge_edges(keys, edge_lists, kinds)
    # Only visible notes are read, because the queries for mentions and entities may return expired notes.
    ids_by_key = transaction.fetch_dict(
        "SELECT key, id FROM visible_notes WHERE key IN LIST(:keys)", keys=list({edge.target for edge in merged})
    )
    return [edge for edge in merged if edge.target in ids_by_key], ids_by_key


def merge_edges(
    notes: Iterable[int], edge_lists: Iterable[Iterable[KeyEdge]], kinds: Collection[str] | None = None
) -> list[KeyEdge]:
    """Return the distinct edges of several lists without loops, ordered by source as in ``notes``, then by list."""
    by_note: dict[int, dict[KeyEdge, None]] = {note: {} for note in notes}
    for edge_list in edge_lists:
        for edge in edge_list:
            if edge.source != edge.target and (kinds is None or edge.kind in kinds):
                by_note[edge.source][edge] = None
    return [edge for note_edges in by_note.values() for edge in note_edges]


def _adjacent_edges(rows: Iterable[Row], kind: str) -> Iterator[KeyEdge]:
    """Yield an edge for each pair of a note and a neighbour in its session; the pairs of a note are nearest first."""
    for note, pairs in groupby(rows, key=lambda row: row[0]):
        for distance, (_, neighbour) in enumerate(pairs, start=1):
            yield KeyEdge(note, neighbour, kind, "out", distance)


def _link_edges(
    transaction: SqlTransaction, namespace_id: int, sources: Sequence[_Source], kinds: Collection[str] | None
) -> Iterator[KeyEdge]:
    """Yield edges for the links from ``sources``, then for the links to them; a target may lack the suffix ``.md``."""
    condition = "" if kinds is None else "AND LOOKUP(+kind) IN LOOKUP_LIST(:kinds)"
    ids_and_paths = [text for source in sources for text in (source.id, source.path) if text]
    keys = [source.key for source in sources]
    params = {
        "keys": keys,
        "namespace": namespace_id,
        "targets": [*ids_and_paths, *(text.removesuffix(".md") for text in ids_and_paths if text.endswith(".md"))],
        "names": [source.name for source in sources if source.name is not None],
        "kinds": sorted(set(kinds or ()) - DERIVED),
    }
    outgoing, incoming = transaction.fetch_together(
        (sql.format(condition=condition), dict(params)) for sql in (_LINKS_FROM, _LINKS_TO)
    )
    targets = transaction.resolve_links(namespace_id, {row[-1] for row in (*outgoing, *incoming)})
    for source, kind, target in outgoing:
        if target in targets:
            yield KeyEdge(source, targets[target], kind, "out")
    for source, _, kind, target in sorted(incoming):
        if targets.get(target) in keys:  # a link by name may lead to another note with the same name
            yield KeyEdge(targets[target], source, kind, "in")


# In ``links``, ``place`` is the position of the link in its note, and ``name`` is the last part of its target.
_LINKS_FROM = "SELECT source, kind, target FROM links WHERE source IN LIST(:keys) {condition} ORDER BY source, place"
_LINKS_TO = """
SELECT source, place, kind, target FROM links
WHERE namespace = :namespace AND LOOKUP(target) IN LOOKUP_LIST(:targets) {condition}
UNION SELECT source, place, kind, target FROM links
WHERE namespace = :namespace AND LOOKUP(name) IN LOOKUP_LIST(:names) {condition}
"""

# In the queries for mentions, m says that the note ``mentioning`` mentions the title t, and ``titled`` that the note
# ``mentioned`` has this title. A mention is ``exact`` if it has the words of the title, not only their stems.
# A title makes no edges if too many notes mention it (t.common), or if more than :limit notes have it.
_DISTINCTIVE = (
    "t.key = {}.title AND NOT t.common AND NOT EXISTS (SELECT 1 FROM titled WHERE title = t.key LIMIT 1 OFFSET :limit)"
)
# Mentions within a document make no edges: its sections have the same session, with which their paths start.
_OTHER_DOCUMENT = (
    "STRAIGHT_JOIN notes AS mentioning ON mentioning.key = m.note STRAIGHT_JOIN notes AS mentioned "
    "ON mentioned.key = titled.note AND (mentioned.session = mentioning.session "
    "AND substr(mentioning.path, 1, length(mentioning.session)) = mentioning.session "
    "AND substr(mentioned.path, 1, length(mentioned.session)) = mentioned.session) IS NOT TRUE"
)

_MENTIONED_NOTES = f"""
SELECT m.note, titled.note FROM mentions AS m STRAIGHT_JOIN titles AS t ON {_DISTINCTIVE.format("m")}
STRAIGHT_JOIN titled ON titled.title = m.title {_OTHER_DOCUMENT}
WHERE m.note IN LIST(:notes) AND m.exact ORDER BY m.note, titled.note
"""  # noqa: S608 (conditions of our own)

_MENTIONING_NOTES = f"""
SELECT titled.note, m.note FROM titled STRAIGHT_JOIN titles AS t ON {_DISTINCTIVE.format("titled")}
STRAIGHT_JOIN mentions AS m ON m.title = titled.title AND m.exact {_OTHER_DOCUMENT}
WHERE titled.note IN LIST(:notes) ORDER BY titled.note, m.note
"""  # noqa: S608 (conditions of our own)

# An entity makes no edges if more than :limit notes share it.
_NOTES_SHARING_ENTITIES = """
SELECT e.note, other.note FROM entities AS e
STRAIGHT_JOIN entities AS other ON other.namespace = e.namespace AND LOOKUP(other.name) = LOOKUP(e.name)
WHERE e.note IN LIST(:notes) AND NOT EXISTS (
    SELECT 1 FROM entities AS shared
    WHERE shared.namespace = e.namespace AND LOOKUP(shared.name) = LOOKUP(e.name) LIMIT 1 OFFSET :limit
)
ORDER BY e.note, other.note
"""
