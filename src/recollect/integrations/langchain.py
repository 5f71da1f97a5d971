"""A LangChain retriever that searches a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from recollect.errors import ArgumentTypeError
from recollect.integrations.search import check_search_options, check_source, hit_metadata, search, search_async
from recollect.model import RankedHits

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import AfterValidator, Field, model_validator
except ImportError as error:
    raise ImportError(f"langchain-core cannot be imported ({error}): pip install 'recollectdb[langchain]'") from error

__all__ = ["RecollectRetriever"]


class RecollectRetriever(BaseRetriever):
    """Searches a memory for LangChain; each hit becomes a document with the text, id and metadata of its note.

    ``memory`` is a Memory, an AsyncMemory or an AsyncClient, which the caller must close. Pass the options of
    ``Memory.search`` by name, or as a dict ``options``; options that are passed to ``invoke`` take precedence. A
    search without an answer returns no documents; with ``include_weak``, it returns its hits with ``"weak": True`` in
    their metadata. The text of a superseded note begins with a line that names its successors.

    >>> import recollect
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     retriever = RecollectRetriever(memory=memory, top_k=3, preset="default")
    ...     [(document.page_content, document.metadata["path"]) for document in retriever.invoke("which tea?")]
    [('Prefers green tea.', 'memory/tea.md')]
    """

    memory: Annotated[Any, AfterValidator(check_source)]
    options: dict[str, Any] = Field(default_factory=dict)
    include_weak: bool = False

    if TYPE_CHECKING:  # the __init__ that pydantic generates from the fields lacks the search options

        def __init__(
            self, *, memory: Any, options: dict[str, Any] = ..., include_weak: bool = ..., **search_options: Any
        ) -> None:
            """Take the fields, and any option of ``Memory.search`` by name."""

    @model_validator(mode="before")
    @classmethod
    def _collect_options(cls, values: Any) -> Any:
        """Move the search options that were passed by name into the field ``options``, and check them."""
        by_name = {name: value for name, value in values.items() if name not in cls.model_fields}
        fields = {name: value for name, value in values.items() if name in cls.model_fields}
        options = fields.get("options", {})
        if not isinstance(options, dict):
            raise ArgumentTypeError("options", f"must be a dict of search options, got {type(options).__name__}")
        return fields | {"options": check_search_options({**options, **by_name}, arguments=list(cls.model_fields))}

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        include_weak: bool | None = None,
        **options: Any,
    ) -> list[Document]:
        result = search(self.memory, query, {**self.options, **options})
        return self._documents(result, include_weak=include_weak)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 (as above)
        include_weak: bool | None = None,
        **options: Any,
    ) -> list[Document]:
        result = await search_async(self.memory, query, {**self.options, **options})
        return self._documents(result, include_weak=include_weak)

    def _documents(self, result: RankedHits, *, include_weak: bool | None) -> list[Document]:
        weak = not result.has_answer
        if weak and not (self.include_weak if include_weak is None else include_weak):
            return []
        return [
            Document(result.text_with_superseded_notice(hit), id=hit.id, metadata=hit_metadata(hit, weak=weak))
            for hit in result
        ]
