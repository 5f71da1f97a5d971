"""Plain data: notes, drafts, documents, filters, candidates and hits."""

from recollect.model.candidate import Candidate, Contribution, Step, as_candidate, as_candidates
from recollect.model.chunks import EmbeddingText, embedding_chunks, embedding_text
from recollect.model.document import Document, NoteName, WriteCounts
from recollect.model.filters import Filters
from recollect.model.hit import Hit, RankedHits
from recollect.model.note import (
    DEFAULT_NAMESPACE,
    DRAFT_FIELDS,
    NEVER,
    NOTE_FIELDS,
    TEXT_FIELDS,
    UNCHANGED_IF_EMPTY,
    Draft,
    Edge,
    Link,
    Note,
    NoteField,
    aliases_of,
    draft_of,
    is_blank,
    is_expired,
)

__all__ = [
    "DEFAULT_NAMESPACE",
    "DRAFT_FIELDS",
    "NEVER",
    "NOTE_FIELDS",
    "TEXT_FIELDS",
    "UNCHANGED_IF_EMPTY",
    "Candidate",
    "Contribution",
    "Document",
    "Draft",
    "Edge",
    "EmbeddingText",
    "Filters",
    "Hit",
    "Link",
    "Note",
    "NoteField",
    "NoteName",
    "RankedHits",
    "Step",
    "WriteCounts",
    "aliases_of",
    "as_candidate",
    "as_candidates",
    "draft_of",
    "embedding_chunks",
    "embedding_text",
    "is_blank",
    "is_expired",
]
