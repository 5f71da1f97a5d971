"""Recollect: hybrid memory retrieval for agents, and the reasons for every result.

The rooms, from a person's words to a ranked list:

- :mod:`recollect.query`: words become a query tree, and the tree an engine's query;
- :mod:`recollect.fusion`: several ranked lists become one;
- :mod:`recollect.ranking`: what changes an order after fusion;
- :mod:`recollect.retrieval`: the walk through them; so far the drawing of what happened on it.
"""

from recollect import fusion, query, ranking, retrieval
from recollect.errors import ArgumentError, ArgumentTypeError, RecollectError
from recollect.model import Candidate, Contribution, Step

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "Candidate",
    "Contribution",
    "RecollectError",
    "Step",
    "__version__",
    "fusion",
    "query",
    "ranking",
    "retrieval",
]
