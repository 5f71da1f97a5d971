"""Second-stage models read query and document together and say how well they match. See ``docs/rerankers.md``."""

from recollect.rerankers.base import Reranker
from recollect.rerankers.chat import ChatReranker
from recollect.rerankers.function import FunctionReranker
from recollect.rerankers.http_api import HttpReranker
from recollect.rerankers.onnx_directory import OnnxReranker
from recollect.rerankers.selection import RerankerSpec, reranker_from

__all__ = [
    "ChatReranker",
    "FunctionReranker",
    "HttpReranker",
    "OnnxReranker",
    "Reranker",
    "RerankerSpec",
    "reranker_from",
]
