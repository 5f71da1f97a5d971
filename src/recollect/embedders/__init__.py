"""Embedders, which turn texts into vectors. Each file has one kind of model. See ``docs/embedders.md``."""

from recollect.embedders.base import Embedder, FunctionEmbedder, ModelEmbedder
from recollect.embedders.http_api import HttpEmbedder
from recollect.embedders.minilm import MiniLMEmbedder
from recollect.embedders.onnx import OnnxEmbedder
from recollect.embedders.registry import EMBEDDERS, EmbedderChoice, EmbedderSpec, choose_embedder, embedder_from
from recollect.embedders.static import StaticEmbedder

__all__ = [
    "EMBEDDERS",
    "Embedder",
    "EmbedderChoice",
    "EmbedderSpec",
    "FunctionEmbedder",
    "HttpEmbedder",
    "MiniLMEmbedder",
    "ModelEmbedder",
    "OnnxEmbedder",
    "StaticEmbedder",
    "choose_embedder",
    "embedder_from",
]
