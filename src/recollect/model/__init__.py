"""The plain data that walks through the rooms."""

from recollect.model.candidate import Candidate, Contribution, Step, as_candidate, as_candidates
from recollect.model.document import Document, NoteName, Written
from recollect.model.edge import Edge
from recollect.model.filters import Filters
from recollect.model.hit import Hit
from recollect.model.note import (
    DEFAULT_NAMESPACE,
    NEVER,
    TEXT_FIELDS,
    Draft,
    Link,
    Note,
    aliases_of,
    draft_of,
    is_blank,
    is_over,
)
from recollect.model.ranked import Ranked
from recollect.model.splitting import EmbeddingText, embedding_text, pieces

__all__ = [
    "DEFAULT_NAMESPACE",
    "NEVER",
    "TEXT_FIELDS",
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
    "NoteName",
    "Ranked",
    "Step",
    "Written",
    "aliases_of",
    "as_candidate",
    "as_candidates",
    "draft_of",
    "embedding_text",
    "is_blank",
    "is_over",
    "pieces",
]
