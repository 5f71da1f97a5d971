"""A small static model: each token has a vector, and a text's vector is their mean.

It needs no neural network at query time, so that it is very quick; it knows no word order and no context. The token
vectors come with the package ``wordllama`` (256 numbers each, taken from the input layers of large language models).
Both of its files are read here directly: the package itself would look for its tokenizer on the network.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.embedders.model import QUERY_CACHE, ModelEmbedder
from recollect.errors import EmbedderError
from recollect.inference.once import OncePerProcess
from recollect.inference.parts import installed_folder, not_installed, part

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

__all__ = ["StaticEmbedder", "why_no_static"]

_PACKAGE = "wordllama"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")


class _StaticModel(NamedTuple):
    """A tokenizer and the vector of each of its tokens."""

    tokenizer: Any
    vectors: NDArray[float32]


class StaticEmbedder(ModelEmbedder):
    """Embeds with the small static model of the package ``wordllama``.

    Thousands of texts a second, but weaker than MiniLM: beside good keyword search it can do more harm than good, so
    measure. A text of no tokens, such as the empty one, has a vector of zeros.

    >>> StaticEmbedder().describe()
    'wordllama-l2-supercat-256, 256 dimensions, static token vectors'
    """

    def __init__(
        self,
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        query_cache: int = QUERY_CACHE,
        batch_size: int = 256,
    ) -> None:
        """Find the package; nothing is loaded yet."""
        reason = why_no_static()
        if reason:
            raise EmbedderError(reason)
        super().__init__(
            "wordllama-l2-supercat-256",
            "static token vectors",
            dimension=256,
            batch_size=batch_size,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
            query_cache=query_cache,
        )
        self._folder = installed_folder(_PACKAGE) or Path()

    def _vectors(self, texts: list[str]) -> Any:
        """Return the mean of the vectors of each text's tokens."""
        import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

        model = _shared(self._folder).get()
        means = np.zeros((len(texts), model.vectors.shape[1]), dtype=np.float32)
        for place, encoding in enumerate(model.tokenizer.encode_batch_fast(texts, add_special_tokens=False)):
            if encoding.ids:
                means[place] = model.vectors[encoding.ids].mean(axis=0)
        return means


def why_no_static() -> str | None:
    """Return why the static model cannot be used and what to do about it, or ``None`` if it can.

    >>> why_no_static() is None or "pip install" in why_no_static()
    True
    """
    missing = not_installed(_PACKAGE, "tokenizers", "safetensors")
    if missing:
        return f"the static model needs {' and '.join(missing)}: pip install 'recollectdb[models]'"
    return None


@cache
def _shared(folder: Path) -> OncePerProcess[_StaticModel]:
    """Return the one place where the model of ``folder`` is, for all embedders."""
    return OncePerProcess(lambda: _load(folder))


def _load(folder: Path) -> _StaticModel:
    """Read the tokenizer and the vectors."""
    import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

    tokenizers, safetensors = part("tokenizers", EmbedderError), part("safetensors.numpy", EmbedderError)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
        vectors = safetensors.load_file(folder / _WEIGHTS)["embedding.weight"].astype(np.float32)
    except Exception as error:  # both readers raise what they like
        raise EmbedderError(f"the static model in {folder} cannot be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _StaticModel(tokenizer, vectors)
