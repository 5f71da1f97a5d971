"""A memory as a retriever of LangChain."""

from __future__ import annotations

from typing import Any

from recollect.frameworks.asking import ask, ask_async, metadata_of, source
from recollect.model import Hit

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field, field_validator
except ImportError as error:
    raise ImportError(f"langchain-core cannot be imported ({error}): pip install 'recollect[langchain]'") from error

__all__ = ["RecollectRetriever"]


class RecollectRetriever(BaseRetriever):
    """Searches a memory for LangChain: each hit is a document with its text, its id and how it was found.

    ``memory`` is a Memory, an AsyncMemory or an AsyncClient, which stays open and yours; ``options`` are those of
    ``Memory.search``. What ``invoke`` is given beside the query goes before them.

    >>> import recollect
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     retriever = RecollectRetriever(memory=memory, options={"top_k": 3, "preset": "default"})
    ...     [(document.page_content, document.metadata["path"]) for document in retriever.invoke("which tea?")]
    [('Prefers green tea.', 'memory/tea.md')]
    """

    memory: Any
    """What is searched."""
    options: dict[str, Any] = Field(default_factory=dict)
    """How: top_k, mode, preset, filters, namespace, min_confidence and so on."""

    @field_validator("memory")
    @classmethod
    def _can_be_asked(cls, value: Any) -> Any:
        return source(value)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        **options: Any,
    ) -> list[Document]:
        return [_document(hit) for hit in ask(self.memory, query, {**self.options, **options})]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 (as above)
        **options: Any,
    ) -> list[Document]:
        return [_document(hit) for hit in await ask_async(self.memory, query, {**self.options, **options})]


def _document(hit: Hit) -> Document:
    return Document(hit.content, id=hit.id, metadata=metadata_of(hit))
