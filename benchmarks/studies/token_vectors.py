"""Late interaction: the similarity of a query and a text by the vectors of their tokens.

Khattab and Zaharia, "ColBERT", 2020. ColBERT trains a model for it; here the vectors are those of an embedding model,
before it pools them into one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from recollect.embedders import Embedder
from recollect.embedders.onnx import CatalogueEmbedder, OnnxEmbedder, OnnxEncoder
from recollect.errors import EmbedderError
from recollect.inference.catalogue import CatalogueEntry, catalogue_entry
from recollect.inference.onnx import OnnxSession, open_model_folder
from recollect.inference.weights import checked_file, require_weights

__all__ = ["TokenEncoder", "maxsim", "token_encoder"]

Floats: TypeAlias = NDArray[np.float64]
Vectors: TypeAlias = NDArray[np.float32]


def maxsim(query: Vectors, text: Vectors) -> float:
    """Return the mean over the query's tokens of the best cosine similarity with a token of the text.

    Both arguments have a row of unit length for each token. ColBERT's score is the sum instead of the mean, which gives
    the same order for one query. Without tokens the score is 0.

    >>> maxsim(np.eye(2, dtype=np.float32), np.array([[1, 0], [0.6, 0.8]], dtype=np.float32))
    0.9
    """
    if not len(query) or not len(text):
        return 0.0
    return round(float((query @ text.T).max(axis=1).mean()), 6)


class TokenEncoder:
    """Returns the vectors of the tokens of a text, of unit length, without special tokens and without the prefix.

    The model reads the prefix that the embedding model has for queries or for documents.
    """

    def __init__(
        self, session: OnnxSession, tokenizer: Path, max_tokens: int, *, query_prefix: str, document_prefix: str
    ) -> None:
        self._session = session
        self._query_prefix, self._document_prefix = query_prefix, document_prefix
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    def query_vectors(self, text: str) -> Vectors:
        """Return the vectors of the tokens of a query."""
        return self._vectors(self._query_prefix, text)

    def text_vectors(self, text: str) -> Vectors:
        """Return the vectors of the tokens of a note's text."""
        return self._vectors(self._document_prefix, text)

    def _vectors(self, prefix: str, text: str) -> Vectors:
        output, _ = self._session.run([(prefix + text,)])
        encoding = self._tokenizer.encode(prefix + text)
        is_content = [
            not special and start >= len(prefix)
            for special, (start, _) in zip(encoding.special_tokens_mask, encoding.offsets, strict=True)
        ]
        rows = np.asarray(output[0][np.array(is_content, dtype=bool)], dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def token_encoder(embedder: Embedder | None, spec: str) -> TokenEncoder | None:
    """Return the token encoder of an embedder that was made from ``spec``; ``None`` unless it runs by ONNX."""
    source: CatalogueEntry | OnnxEncoder
    if isinstance(embedder, CatalogueEmbedder):
        source = catalogue_entry(spec)
        weights = require_weights(source, EmbedderError)
        folder, graph = open_model_folder(weights.folder, EmbedderError), checked_file(source, weights, EmbedderError)
    elif isinstance(embedder, OnnxEmbedder):
        folder = open_model_folder(spec, EmbedderError)
        graph = folder.graph()
        source = OnnxEncoder(folder, str(graph), lambda: graph)  # it reads the prefixes, and does not load the model
    else:
        return None
    return TokenEncoder(
        OnnxSession(folder, graph, max_tokens=source.max_tokens, output="last_hidden_state"),
        folder.path / "tokenizer.json",
        source.max_tokens,
        query_prefix=source.query_prefix,
        document_prefix=source.document_prefix,
    )
