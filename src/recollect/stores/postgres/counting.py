"""How many notes of a namespace hold a word, counted once for as long as they say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.query import Query
from recollect.query.expressions import Expression, Match, expression
from recollect.stores.postgres.scoring import matching_notes
from recollect.stores.postgres.text import query_terms as query_words
from recollect.stores.postgres.text import term

__all__ = ["NoteCounts"]

MOST = 10_000
"""How many counts are kept; one that was never asked for twice is soon counted again."""


class NoteCounts:
    """The counts of a namespace at one of its revisions. Threads may count the same at once: they get the same."""

    def __init__(self, namespace: int, notes: int) -> None:
        """Begin with the number of all notes."""
        self.notes = notes
        self._namespace = namespace
        self._counts: dict[Expression, int] = {}

    @classmethod
    def begun(cls, connection: Connection[TupleRow], namespace: int, _: Self | None) -> Self:
        """Return counts of what a connection's transaction sees; those before are of no help."""
        # As the word index has it: notes that are due and not seen any more are in its counts until they are removed.
        ((notes,),) = connection.execute("SELECT notes FROM namespaces WHERE key = %s", [namespace]).fetchall()
        return cls(namespace, notes)

    def of(self, connection: Connection[TupleRow], queries: Sequence[Query]) -> list[int]:
        """Return how many notes each query finds by its words."""
        nodes = [expression(query) for query in queries]
        counts = self._counts
        unknown = {node for node in nodes if node is not None and node not in counts}
        if len(counts) + len(unknown) > MOST:
            counts = self._counts = {node: counts[node] for node in nodes if node in counts}
        if unknown:
            counts |= self._counted(connection, unknown)
        return [0 if node is None else counts[node] for node in nodes]

    def _counted(self, connection: Connection[TupleRow], nodes: set[Expression]) -> dict[Expression, int]:
        """Count notes: those that hold a single word are counted already, in the lists of words."""
        words = {node: query_words(node.text) for node in nodes if isinstance(node, Match) and node.kind != "prefix"}
        terms = {node: term(held[0]) for node, held in words.items() if len(held) == 1}
        rows = connection.execute(_HOLDING, [self._namespace, list(set(terms.values()))]).fetchall() if terms else []
        holding: dict[str, int] = dict(rows)
        single: dict[Expression, int] = {node: holding.get(held, 0) for node, held in terms.items()}
        return single | {
            node: len(matching_notes(connection, self._namespace, node)) for node in nodes if node not in single
        }


_HOLDING = """
SELECT term, sum(count)::bigint FROM postings WHERE namespace = %s AND term = ANY (%s) GROUP BY term
"""
