"""The search part of a store's contract: the methods that an index must have, and the methods that it may have.

:class:`SearchIndex` is mandatory. Every other protocol is an optional ability. If an index lacks an ability, a search
omits the steps that need the ability. :class:`IndexAbilities` checks once which abilities an index has.

The parameter ``exclusions`` of several methods is a query with NOT: notes that contain an excluded term are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from recollect.model import Candidate, Edge, Filters
from recollect.query import Query
from recollect.query.expressions import Semantics

if TYPE_CHECKING:
    from recollect.stores.base import Model, Page, Vector


SUPERSEDED_BY = frozenset((("supersedes", "in"), ("superseded-by", "out")))
"""The kind and direction of an edge between a superseded note and its successor, as seen from the superseded note."""
SUPERSESSION_KINDS = frozenset(kind for kind, _ in SUPERSEDED_BY)
MAX_SUPERSESSIONS = 100_000
"""The maximum number of supersession links that one call follows; it bounds the time of a search."""


class SearchIndex(Protocol):
    """The methods that every index has; the protocols below are optional."""

    def search_text(
        self, query: Query, limit: int, *, namespace: str, filters: Filters, semantics: Semantics = "strict"
    ) -> list[Candidate]:
        """Return the best notes by BM25, with ``lexical_rank`` and ``lexical_score``; path and id break ties."""

    def search_vectors(
        self,
        vector: Vector,
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        exclusions: Query | None = None,
        model: Model | None = None,
    ) -> list[Candidate]:
        """Return the nearest notes, with ``vector_rank`` and ``vector_similarity``; ties are sorted by path, then id.

        ``model`` is the model that computed ``vector``, if it is known. If it is not the active model of the store (any
        more), ``ModelChangedError`` is raised.
        """


@runtime_checkable
class SupportsModel(Protocol):
    """An index that knows the model of its vectors; without this ability, the model of a query is not checked."""

    @property
    def model(self) -> Model | None:
        """The model of the stored vectors; ``None`` if the index has no vectors."""


@runtime_checkable
class SupportsCandidates(Protocol):
    """An index that returns notes by id."""

    def candidates(
        self, ids: Sequence[str], *, namespace: str, filters: Filters, exclusions: Query | None = None
    ) -> list[Candidate]:
        """Return the notes with these ids that pass the filters, in the order of ``ids``; unknown ids are left out."""


@runtime_checkable
class SupportsGraph(SupportsCandidates, Protocol):
    """An index that knows the edges between notes."""

    def edges(
        self, ids: Sequence[str], *, namespace: str, reach: int = 1, kinds: Collection[str] | None = None
    ) -> list[Edge]:
        """Return every edge of the notes with these ids, or only the edges of some ``kinds``, each edge once.

        Edges are in the order of ``ids``. Those of one note are sorted by kind: neighbouring positions, links from and
        to the note, mentions from and to the note, shared entities. Notes up to ``reach`` positions before and after a
        note in its session are its neighbours. Unknown ids have no edges, and no edge leads from a note to itself.
        """


@runtime_checkable
class SupportsSuccessors(Protocol):
    """An index that follows chains of superseding notes; without this ability, a search follows edge after edge."""

    def successors(
        self, ids: Sequence[str], *, namespace: str, created_before: datetime | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return the direct successors of each superseded note in the chains that start at ``ids``.

        The keys of the result are all superseded notes of these chains, whether in ``ids`` or further on; the values
        are sorted ids. Note B supersedes note A if B has a link ``supersedes`` to A, or A has a link ``superseded-by``
        to B. Chains are followed to their end, and each cycle once. Links of a note to itself and notes created at
        ``created_before`` or later are ignored. At most :data:`MAX_SUPERSESSIONS` links are followed.
        """


@runtime_checkable
class SupportsTermCounts(Protocol):
    """An index that counts notes; without this ability, a search has no document frequencies."""

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        """Return the number of notes in the namespace, and how many of them match each query."""


@runtime_checkable
class SupportsSimilarities(Protocol):
    """An index that computes the similarity of given notes to a vector."""

    def similarities(
        self, vector: Vector, ids: Sequence[str], *, namespace: str, model: Model | None = None
    ) -> dict[str, float]:
        """Return the similarity of ``vector`` and each note with one of the ids, as ``search_vectors`` computes it.

        Unknown ids, and notes without a vector, are left out.
        """


@runtime_checkable
class SupportsTextScores(Protocol):
    """An index that scores given notes by BM25."""

    def text_scores(
        self, query: Query, notes: Sequence[str], *, namespace: str, semantics: Semantics = "strict"
    ) -> dict[str, float]:
        """Return the BM25 scores of the notes with these ids: the same numbers that ``search_text`` computes.

        Notes that do not match the query, and unknown ids, are left out. No filters apply: pass only ids that the
        caller may see.
        """


@runtime_checkable
class SupportsNames(Protocol):
    """An index that finds notes by misspelt names, for the last step of the fallback ladder."""

    def search_names(
        self,
        words: Sequence[str],
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        titles: bool = False,
        exclusions: Query | None = None,
    ) -> list[Candidate]:
        """Return the notes whose name is spelt like one of the words, sorted by similarity (best first), path and id.

        A note's name is the slug of its path; :func:`recollect.query.trigram_search` defines the similarity. ``titles``
        adds two things: the title is a second name, and in a name of several words, each word of at least four letters
        is also compared alone, with a minimum similarity of 0.5. The best similarity of a note is
        its ``score`` and ``lexical_score``.
        """


@runtime_checkable
class SupportsSpelling(Protocol):
    """An index that suggests terms for misspelt words."""

    def similar_words(self, words: Sequence[str], *, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return, for each word that no note contains, at most three similar words that notes contain, best first.

        Words without a similar word are left out. A word of four to seven letters is one edit away from its similar
        words. A longer word is at most two edits away. Equally distant words are sorted by their number of notes.
        Each returned word is searchable: :meth:`SearchIndex.search_text` finds a note for it.
        """


@runtime_checkable
class SupportsPages(Protocol):
    """An index that lists notes page by page."""

    def page(self, limit: int, *, namespace: str, filters: Filters, after: int = 0) -> Page:
        """Return at most ``limit`` notes after a cursor, in the order of storage; deletions keep cursors valid."""


class IndexAbilities:
    """The optional abilities of an index: each attribute is the index itself, or ``None`` if it lacks the ability."""

    def __init__(self, index: SearchIndex) -> None:
        self.index = index
        try:
            self.model: SupportsModel | None = index if isinstance(index, SupportsModel) else None
        except Exception:  # noqa: BLE001 (isinstance reads the property, which may fail; a search reports the error)
            self.model = cast("SupportsModel", index)
        self.candidates = index if isinstance(index, SupportsCandidates) else None
        self.graph = index if isinstance(index, SupportsGraph) else None
        self.successors = index if isinstance(index, SupportsSuccessors) else None
        self.term_counts = index if isinstance(index, SupportsTermCounts) else None
        self.similarities = index if isinstance(index, SupportsSimilarities) else None
        self.text_scores = index if isinstance(index, SupportsTextScores) else None
        self.names = index if isinstance(index, SupportsNames) else None
        self.spelling = index if isinstance(index, SupportsSpelling) else None
        self.pages = index if isinstance(index, SupportsPages) else None
