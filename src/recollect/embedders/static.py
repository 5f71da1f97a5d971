"""The static embedder: each token has a fixed vector, and the vector of a text is the mean of its tokens' vectors.

It runs no neural network, so it is fast; it ignores word order and context. The token vectors come with the package
``wordllama`` (256 numbers each, from the input layers of large language models). Two files of the package are read
directly: the package itself would look for its tokenizer on the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from recollect.embedders.base import EmbedderOptions, ModelEmbedder
from recollect.errors import EmbedderError
from recollect.inference.runtime import PerProcess, missing_modules, package_folder, require_module

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_PACKAGE = "wordllama"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")


class _StaticModel(NamedTuple):
    """A tokenizer and the vector of each of its tokens."""

    tokenizer: Any
    vectors: NDArray[float32]


class StaticEmbedder(ModelEmbedder):
    """Embeds with the static model of the package ``wordllama``.

    It embeds thousands of texts a second, but its quality is below that of MiniLM. Combined with good lexical search it
    can make the results worse, so evaluate it on your own notes. A text without tokens has a vector of zeros.

    >>> StaticEmbedder().describe()
    'wordllama-l2-supercat-256, 256 dimensions, static token vectors'
    """

    def __init__(self, *, batch_size: int = 256, **options: Unpack[EmbedderOptions]) -> None:
        reason = static_unavailable_reason()
        if reason:
            raise EmbedderError(reason)
        super().__init__(
            "wordllama-l2-supercat-256", "static token vectors", dimension=256, batch_size=batch_size, **options
        )

    def _vectors(self, texts: list[str]) -> Any:
        """Return the mean of the vectors of each text's tokens."""
        import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

        model = _MODEL.get()
        means = np.zeros((len(texts), model.vectors.shape[1]), dtype=np.float32)
        for index, encoding in enumerate(model.tokenizer.encode_batch_fast(texts, add_special_tokens=False)):
            if encoding.ids:
                means[index] = model.vectors[encoding.ids].mean(axis=0)
        return means


def static_unavailable_reason() -> str | None:
    """Return why the static model cannot be used and what to install, or ``None`` if it can be used."""
    missing = missing_modules(_PACKAGE, "tokenizers", "safetensors")
    if missing:
        return f"the static model needs {' and '.join(missing)}: pip install 'recollectdb[models]'"
    return None


def _load(folder: Path) -> _StaticModel:
    import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

    tokenizers = require_module("tokenizers", EmbedderError)
    safetensors = require_module("safetensors.numpy", EmbedderError)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
        vectors = safetensors.load_file(folder / _WEIGHTS)["embedding.weight"].astype(np.float32)
    except Exception as error:  # both packages may raise any exception
        raise EmbedderError(f"the static model in {folder} cannot be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _StaticModel(tokenizer, vectors)


_MODEL = PerProcess(lambda: _load(package_folder(_PACKAGE) or Path()))
"""The model, which all embedders of a process share."""
