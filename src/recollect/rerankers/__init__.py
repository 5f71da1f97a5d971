"""Rerankers: second-stage models that read query and document together. See ``docs/rerankers.md``."""

from recollect.rerankers.base import FunctionReranker, Reranker
from recollect.rerankers.chat import ChatReranker
from recollect.rerankers.http_api import HttpReranker
from recollect.rerankers.onnx import OnnxReranker
from recollect.rerankers.registry import RERANKERS, RerankerSpec, reranker_from

__all__ = [
    "RERANKERS",
    "ChatReranker",
    "FunctionReranker",
    "HttpReranker",
    "OnnxReranker",
    "Reranker",
    "RerankerSpec",
    "reranker_from",
]
