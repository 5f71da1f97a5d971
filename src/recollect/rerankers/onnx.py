"""Reranks with any cross-encoder in ONNX format, from a local folder.

Nogueira and Cho, "Passage Re-ranking with BERT", 2019: the model reads query and document together and returns one
number for how well they match.
"""

from __future__ import annotations

import os
from typing import Any

from recollect import arguments
from recollect.errors import RerankerError
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.onnx import OnnxSession, open_model_folder, shared_session
from recollect.inference.runtime import PerProcess, batches
from recollect.inference.weights import checked_file, require_weights
from recollect.rerankers.base import ModelReranker


class _CrossEncoder(ModelReranker):
    """Base class: scores pairs of texts with a session of onnxruntime, in batches of ``batch_size``."""

    def __init__(self, name: str, session: PerProcess[OnnxSession], batch_size: int, score_scale: float = 1.0) -> None:
        super().__init__(name, "onnxruntime")
        self._session = session
        self._score_scale = score_scale
        self._batch_size = arguments.at_least_one("batch_size", batch_size)

    def _scores(self, query: str, documents: list[str]) -> Any:
        session = self._session.get()
        scores: list[tuple[int, float]] = []
        for batch in batches(documents, size=self._batch_size):
            logits, _ = session.run([(query, documents[index]) for index in batch])
            if logits.shape not in ((len(batch),), (len(batch), 1), (len(batch), 2)):
                shape = f"an array of shape {logits.shape} for {len(batch)} pairs of texts"
                raise RerankerError(f"{session.graph} returned {shape} instead of one or two logits each")
            scores += zip(batch, _probabilities(self._score_scale * logits.reshape(len(batch), -1)), strict=True)
        return scores


class CatalogueReranker(_CrossEncoder):
    """Reranks with a cross-encoder of the catalogue; its weights must be installed."""

    def __init__(self, entry: CatalogueEntry, *, threads: int | None = None, batch_size: int = 1) -> None:
        weights = require_weights(entry, RerankerError, "onnxruntime", "tokenizers")
        session = shared_session(
            open_model_folder(weights.folder, RerankerError),
            str(weights.path),
            lambda: checked_file(entry, weights, RerankerError),
            max_tokens=entry.max_tokens,
            output="logits",
            threads=threads,
        )
        super().__init__(entry.model_name, session, batch_size, entry.score_scale)


class OnnxReranker(_CrossEncoder):
    """Reranks with the ONNX cross-encoder in a folder, as Hugging Face and sentence-transformers export it.

    The folder holds ``model.onnx`` or ``onnx/model.onnx`` (``file`` names another) and ``tokenizer.json``. If a pair
    of query and document has more than ``max_tokens`` (by default the limit in the folder's configuration files), the
    longer of the two texts is cut first. The score, from 0 to 1, is the sigmoid of one logit, or the softmax
    probability of the second of two. The default ``name`` is ``FOLDER``, or ``FOLDER/FILE`` if it is not ``model``.

    Pairs are computed one by one by default. On a CPU that is about as fast as a batch. In a batch, the score that a
    quantised model returns for a document would depend on the other documents.

    >>> OnnxReranker("no/such/folder")
    Traceback (most recent call last):
        ...
    recollect.errors.RerankerError: there is no folder no/such/folder
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        file: str | None = None,
        name: str | None = None,
        max_tokens: int | None = None,
        threads: int | None = None,
        batch_size: int = 1,
    ) -> None:
        """Read the files beside the model; the model itself is loaded with the first query."""
        folder = open_model_folder(directory, RerankerError)
        graph = folder.graph(file)
        variant = "" if graph.stem == "model" else f"/{graph.stem}"
        token_limit = folder.max_tokens() if max_tokens is None else arguments.at_least_one("max_tokens", max_tokens)
        session = shared_session(
            folder, str(graph.resolve()), lambda: graph, max_tokens=token_limit, output="logits", threads=threads
        )
        super().__init__(f"{folder.name}{variant}" if name is None else name, session, batch_size)


def _probabilities(logits: Any) -> list[float]:
    """Return for each row the sigmoid of its only logit, or the softmax probability of the second of two logits."""
    import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

    # In float64, because in float32 the sigmoid is 1 from a logit of 17 on, and the order would be lost.
    columns = logits.astype(np.float64).T
    # The softmax probability of the second of two logits is the sigmoid of their difference.
    logit = columns[1] - columns[0] if len(columns) == 2 else columns[0]
    with np.errstate(invalid="ignore"):  # NaN is reported by sorted_scores
        probabilities: list[float] = np.exp(-np.logaddexp(0, -logit)).tolist()  # the sigmoid, without overflow
    return probabilities
