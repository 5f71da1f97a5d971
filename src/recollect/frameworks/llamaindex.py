"""A memory as a retriever of LlamaIndex."""

from __future__ import annotations

from typing import Any

from recollect.frameworks.asking import METADATA, WEAK, Source, ask, ask_async, metadata_of, search_options, source
from recollect.model import Hit, RankedHits

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
    of ``Memory.search``. A search without an answer returns no nodes, unless ``include_weak`` is set; then the metadata
    of each node has ``weak``. The text of a superseded note begins with a line that says so.

    >>> import recollect
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     retriever = RecollectRetriever(memory, top_k=3, preset="default")
    ...     [(found.text, found.metadata["path"]) for found in retriever.retrieve("which tea?")]
    [('Prefers green tea.', 'memory/tea.md')]
    """

    def __init__(
        self,
        memory: Source,
        *,
        include_weak: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        """Keep what is searched, and how."""
        self.memory = source(memory)
        self.include_weak = include_weak
        self.options = search_options(options, others=("memory", "include_weak", "callback_manager"))
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(ask(self.memory, query_bundle.query_str, self.options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(await ask_async(self.memory, query_bundle.query_str, self.options))

    def _nodes(self, result: RankedHits) -> list[NodeWithScore]:
        if not result.has_answer and not self.include_weak:
            return []
        return [_node(hit, result) for hit in result]


def _node(hit: Hit, result: RankedHits) -> NodeWithScore:
    node = TextNode(
        id_=hit.id,
        text=result.marked_text(hit),
        metadata=metadata_of(hit, weak=not result.has_answer),
        excluded_llm_metadata_keys=_FOR_PROGRAMS,
        excluded_embed_metadata_keys=[*METADATA, WEAK],
    )
    return NodeWithScore(node=node, score=hit.score)
