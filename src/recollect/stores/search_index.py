"""The search part of a store's contract: what an index must implement, and what it may implement.

:class:`SearchIndex` is mandatory. Every other protocol is an optional ability: a search omits the steps that need an
ability which the index lacks. :class:`IndexAbilities` checks for all of them once.
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
"""Kind and direction of the edges that lead from a note to one that supersedes it."""
SUPERSESSION_KINDS = frozenset(kind for kind, _ in SUPERSEDED_BY)
MAX_SUPERSESSIONS = 100_000
"""The maximum number of superseding links that one call follows; it bounds the time of a search."""


class SearchIndex(Protocol):
    """The methods that every index has; the protocols below are optional."""

    def search_text(
        self, query: Query, limit: int, *, namespace: str, filters: Filters, semantics: Semantics = "strict"
    ) -> list[Candidate]:
        """Return the best notes by BM25 with ``lexical_rank`` and ``lexical_score``; ties by path, then id."""

    def search_vectors(
        self,
        vector: Vector,
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        without: Query | None = None,
        model: Model | None = None,
    ) -> list[Candidate]:
        """Return the nearest notes with ``vector_rank`` and ``vector_similarity``; ties by path, then id.

        Notes that contain what the query ``without`` excludes are left out. ``model`` is the model of the vector, if it
        is known; ``ModelChangedError`` is raised if the store's active model is another by now.
        """


@runtime_checkable
class SupportsModel(Protocol):
    """An index that knows the model of its vectors; without it, any vector is searched."""

    @property
    def model(self) -> Model | None:
        """The model of the stored vectors; ``None`` if there are none."""


@runtime_checkable
class SupportsCandidates(Protocol):
    """An index that returns notes by id."""

    def candidates(
        self, ids: Sequence[str], *, namespace: str, filters: Filters, without: Query | None = None
    ) -> list[Candidate]:
        """Return the notes with these ids that pass the filters, in the order of ``ids``; unknown ids are left out.

        Notes that contain what the query ``without`` excludes are left out, too.
        """


@runtime_checkable
class SupportsGraph(SupportsCandidates, Protocol):
    """An index that knows the edges between notes."""

    def edges(
        self, ids: Sequence[str], *, namespace: str, reach: int = 1, kinds: Collection[str] | None = None
    ) -> list[Edge]:
        """Return every edge of the notes with these ids, or those of some ``kinds``, each once.

        They are in the order of ``ids``, and the edges of one note by kind: positions first, then links from and to the
        note, mentions from and to it, and shared entities. ``reach`` is how many positions before and after count as
        neighbours. Unknown ids have none, and no edge leads from a note to itself.
        """


@runtime_checkable
class SupportsSuccessors(Protocol):
    """An index that follows chains of superseding notes; without it, edges are followed step by step."""

    def successors(
        self, ids: Sequence[str], *, namespace: str, created_before: datetime | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return the direct successors of each superseded note in the chains that start at ``ids``.

        A note supersedes another by a link ``supersedes`` to it, or by the other's link ``superseded-by``; links to
        itself do not count. Chains are followed to their end, cycles only once: the keys of the result are the
        superseded notes among ``ids`` and their direct and indirect successors, the values are sorted ids. Notes
        created at ``created_before`` or later are ignored. At most :data:`MAX_SUPERSESSIONS` links are followed.
        """


@runtime_checkable
class SupportsTermCounts(Protocol):
    """An index that counts notes; without it, there are no document frequencies."""

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        """Return the number of notes in the namespace, and how many of them match each query."""


@runtime_checkable
class SupportsSimilarities(Protocol):
    """An index that compares given notes with a vector."""

    def similarities(
        self, vector: Vector, ids: Sequence[str], *, namespace: str, model: Model | None = None
    ) -> dict[str, float]:
        """Return the similarities of the notes with these ids, as ``search_vectors`` computes them.

        Unknown ids, and notes without a vector, are left out.
        """


@runtime_checkable
class SupportsTextScores(Protocol):
    """An index that scores given notes by BM25."""

    def text_scores(
        self, query: Query, notes: Sequence[str], *, namespace: str, semantics: Semantics = "strict"
    ) -> dict[str, float]:
        """Return the BM25 scores of the notes with these ids: exactly those of ``search_text``, whatever their rank.

        Notes that do not match the query, and unknown ids, are left out. No filters apply: pass only ids that the
        caller may see.
        """


@runtime_checkable
class SupportsNames(Protocol):
    """An index that compares the names of notes, for the last step of the fallback ladder."""

    def search_names(
        self,
        words: Sequence[str],
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        titles: bool = False,
        without: Query | None = None,
    ) -> list[Candidate]:
        """Return the notes whose name is spelt like one of the words, the most similar first, then by path, then id.

        A note's name is the slug of its path, and :func:`recollect.query.trigram_search` defines the similarity. With
        ``titles``, its title is a name, too, and so is each word with at least four letters of a longer name, if its
        similarity is at least 0.5. The best similarity is the ``score`` and ``lexical_score``. Notes that contain what
        the query ``without`` excludes are left out.
        """


@runtime_checkable
class SupportsSpelling(Protocol):
    """An index that suggests terms for misspelt words."""

    def similar_words(self, words: Sequence[str], *, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return, for each word that no note contains, the index terms with the most similar spelling.

        At most three terms, best first; words without a similar term are left out. A word of four to seven letters may
        be one edit away, a longer one two; among equally close terms, the more frequent come first.
        :meth:`SearchIndex.search_text` matches every term that is returned.
        """


@runtime_checkable
class SupportsPages(Protocol):
    """An index that lists notes."""

    def page(self, limit: int, *, namespace: str, filters: Filters, after: int = 0) -> Page:
        """Return the next notes in the order in which they were stored, after the cursor ``after``.

        The cursor stays valid if its note is deleted.
        """


class IndexAbilities:
    """An index with each of its optional abilities, or ``None``."""

    def __init__(self, index: SearchIndex) -> None:
        self.index = index
        try:
            self.model: SupportsModel | None = index if isinstance(index, SupportsModel) else None
        except Exception:  # noqa: BLE001 (isinstance reads the property, which may fail; a search reports that)
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
