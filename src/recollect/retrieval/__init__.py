"""The walk from a query to a ranked list, and the drawing of what happened on it."""

from recollect.retrieval.explanation import explain
from recollect.retrieval.pipeline import Retrieval
from recollect.retrieval.result import SearchResult
from recollect.retrieval.trace import Attempt, Trace

__all__ = ["Attempt", "Retrieval", "SearchResult", "Trace", "explain"]
