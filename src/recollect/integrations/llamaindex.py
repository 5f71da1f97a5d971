"""A LlamaIndex retriever that searches a memory."""

from __future__ import annotations

from typing import Any

from recollect.integrations.search import (
    HIT_METADATA,
    WEAK,
    SearchSource,
    check_search_options,
    check_source,
    hit_metadata,
    search,
    search_async,
)
from recollect.model import RankedHits

try:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise ImportError(
        f"llama-index-core cannot be imported ({error}): pip install 'recollectdb[llamaindex]'"
    ) from error

__all__ = ["RecollectRetriever"]

_LLM_METADATA = ("path", "title", "created_at")  # the metadata that a language model reads before the text of a node


class RecollectRetriever(BaseRetriever):
    """Searches a memory for LlamaIndex; each hit becomes a node with the text, id, metadata and score of the hit.

    ``memory`` is a Memory, an AsyncMemory or an AsyncClient, which the caller must close. ``options`` are the keywords
    of ``Memory.search``. A search without an answer returns no nodes; with ``include_weak``, it returns its hits with
    ``"weak": True`` in their metadata. The text of a superseded note begins with a line that names its successors.

    >>> import recollect
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     retriever = RecollectRetriever(memory, top_k=3, preset="default")
    ...     [(node.text, node.metadata["path"]) for node in retriever.retrieve("which tea?")]
    [('Prefers green tea.', 'memory/tea.md')]
    """

    def __init__(
        self,
        memory: SearchSource,
        *,
        include_weak: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        self.memory = check_source(memory)
        self.include_weak = include_weak
        self.options = check_search_options(options, arguments=("memory", "include_weak", "callback_manager"))
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(search(self.memory, query_bundle.query_str, self.options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(await search_async(self.memory, query_bundle.query_str, self.options))

    def _nodes(self, result: RankedHits) -> list[NodeWithScore]:
        if not result.has_answer and not self.include_weak:
            return []
        nodes = [
            TextNode(
                id_=hit.id,
                text=result.text_with_superseded_notice(hit),
                metadata=hit_metadata(hit, weak=not result.has_answer),
                excluded_llm_metadata_keys=[name for name in HIT_METADATA if name not in _LLM_METADATA],
                excluded_embed_metadata_keys=[*HIT_METADATA, WEAK],
            )
            for hit in result
        ]
        return [NodeWithScore(node=node, score=hit.score) for node, hit in zip(nodes, result, strict=True)]
