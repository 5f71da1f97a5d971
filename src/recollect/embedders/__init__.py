"""Text becomes vectors. See ``docs/embedders.md``."""

from recollect.embedders.base import Embedder
from recollect.embedders.function import FunctionEmbedder
from recollect.embedders.http_api import HttpEmbedder
from recollect.embedders.minilm import MiniLMEmbedder
from recollect.embedders.model import ModelEmbedder
from recollect.embedders.onnx_directory import OnnxEmbedder
from recollect.embedders.selection import EmbedderChoice, EmbedderSpec, choose_embedder, embedder_from
from recollect.embedders.static import StaticEmbedder

__all__ = [
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
