"""A memory as a retriever of LlamaIndex."""

from __future__ import annotations

from typing import Any

from recollect.frameworks.asking import METADATA, Source, ask, ask_async, metadata_of, source
from recollect.model import Hit

try:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise ImportError(f"llama-index-core cannot be imported ({error}): pip install 'recollect[llamaindex]'") from error

__all__ = ["RecollectRetriever"]

_FOR_A_MODEL = ("path", "title", "created_at")
"""What a language model reads before the text of a node; the rest is for programs."""
_FOR_PROGRAMS = [name for name in METADATA if name not in _FOR_A_MODEL]


class RecollectRetriever(BaseRetriever):
    """Searches a memory for LlamaIndex: each hit is a node with its text, its id, its score and how it was found.

    ``memory`` is a Memory, an AsyncMemory or an AsyncClient, which stays open and yours; the other arguments are those
    of ``Memory.search``.

    >>> import recollect
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     retriever = RecollectRetriever(memory, top_k=3, preset="default")
    ...     [(found.text, found.metadata["path"]) for found in retriever.retrieve("which tea?")]
    [('Prefers green tea.', 'memory/tea.md')]
    """

    def __init__(self, memory: Source, *, callback_manager: CallbackManager | None = None, **options: Any) -> None:
        """Keep what is searched, and how."""
        self.memory = source(memory)
        self.options = options
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in ask(self.memory, query_bundle.query_str, self.options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in await ask_async(self.memory, query_bundle.query_str, self.options)]


def _node(hit: Hit) -> NodeWithScore:
    node = TextNode(
        id_=hit.id,
        text=hit.content,
        metadata=metadata_of(hit),
        excluded_llm_metadata_keys=_FOR_PROGRAMS,
        excluded_embed_metadata_keys=list(METADATA),
    )
    return NodeWithScore(node=node, score=hit.score)
