"""Static embedders: each token has a fixed vector, and the vector of a text is the mean of its tokens' vectors.

They run no neural network, so they are fast; they ignore word order and context. The token vectors are those of the
package ``wordllama`` (from the input layers of large language models), or of a model of the catalogue that Model2Vec
distilled from a sentence encoder, such as potion-base-8m. Only the files of ``wordllama`` are read: its code would look
for its tokenizer on the network.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from recollect.embedders.base import EmbedderOptions, ModelEmbedder
from recollect.errors import EmbedderError
from recollect.inference.catalogue import catalogue_entry
from recollect.inference.runtime import PerProcess, install_command, missing_modules, package_folder, require_module
from recollect.inference.weights import require_weights

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_WORDLLAMA = "wordllama-l2-supercat-256"


class _StaticModel(NamedTuple):
    """A tokenizer and the vector of each of its tokens."""

    tokenizer: Any
    vectors: NDArray[float32]


class _StaticFiles(NamedTuple):
    """The files of a static model."""

    tokenizer: Path
    weights: Path
    tensor: str  # the name of the tensor with the token vectors


class StaticEmbedder(ModelEmbedder):
    """Embeds with static token vectors: those of the package ``wordllama``, or a static ``model`` of the catalogue.

    It embeds thousands of texts a second, but its quality is below that of a sentence encoder. Combined with good
    lexical search it can make the results worse, so evaluate it on your own notes. A text without tokens has a vector
    of zeros.

    >>> StaticEmbedder().describe()
    'wordllama-l2-supercat-256, 256 dimensions, static token vectors'
    """

    def __init__(self, model: str = "static", *, batch_size: int = 256, **options: Unpack[EmbedderOptions]) -> None:
        self._files = _static_files(model)
        name = _WORDLLAMA if model == "static" else catalogue_entry(model, "embedder").model_name
        super().__init__(name, "static token vectors", dimension=256, batch_size=batch_size, **options)

    def _vectors(self, texts: list[str]) -> Any:
        """Return the mean of the vectors of each text's tokens."""
        import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

        model = _MODELS.setdefault(self._files, PerProcess(partial(_load, self._files))).get()
        means = np.zeros((len(texts), model.vectors.shape[1]), dtype=np.float32)
        for index, encoding in enumerate(model.tokenizer.encode_batch_fast(texts, add_special_tokens=False)):
            if encoding.ids:
                means[index] = model.vectors[encoding.ids].mean(axis=0)
        return means


def static_unavailable_reason() -> str | None:
    """Return why the static model cannot be used and what to install, or ``None`` if it can be used."""
    missing = missing_modules("wordllama", *_MODULES)
    if missing:
        return f"the static model needs {' and '.join(missing)}: {install_command(*missing)}"
    return None


def _static_files(model: str) -> _StaticFiles:
    if model != "static":
        weights = require_weights(catalogue_entry(model, "embedder"), EmbedderError, *_MODULES)
        return _StaticFiles(weights.folder / "tokenizer.json", weights.path, "embeddings")
    reason = static_unavailable_reason()
    if reason:
        raise EmbedderError(reason)
    folder = package_folder("wordllama") or Path()
    tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    return _StaticFiles(tokenizer, folder / "weights" / "l2_supercat_256.safetensors", "embedding.weight")


def _load(files: _StaticFiles) -> _StaticModel:
    import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

    tokenizers = require_module("tokenizers", EmbedderError)
    safetensors = require_module("safetensors.numpy", EmbedderError)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        vectors = safetensors.load_file(files.weights)[files.tensor].astype(np.float32)
    except Exception as error:  # both packages may raise any exception
        raise EmbedderError(f"the static model in {files.weights.parent} cannot be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _StaticModel(tokenizer, vectors)


_MODULES = ("tokenizers", "safetensors")
_MODELS: dict[_StaticFiles, PerProcess[_StaticModel]] = {}
"""The loaded models, which all embedders of a process share."""
