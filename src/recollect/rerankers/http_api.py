"""Rerankers behind an HTTP API. The APIs differ in their addresses and JSON fields, which are in ``DIALECTS``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from recollect import arguments
from recollect.errors import ArgumentError, RerankerError
from recollect.inference.http_api import JsonApi, check_url
from recollect.inference.runtime import batches
from recollect.rerankers.base import ModelReranker, sorted_scores

AUTOMATIC_KEY = "auto"  # the default of ``key_variable``: :func:`key_variable_for` chooses the variable by the address


class _Dialect(NamedTuple):
    """The address and the JSON field names of one API."""

    path: str = "/rerank"
    documents_field: str = "documents"  # the request field with the documents
    limit_field: str | None = None
    """The request field with the maximum number of results, which is set to the number of documents; ``None`` if the
    API has no such field."""
    fixed_fields: Mapping[str, Any] = {}  # further request fields, with the values that every request has
    results_field: str | None = None
    """The response field with the list of results; ``None`` if the whole response is that list."""
    score_field: str = "relevance_score"
    """The field of a result with the score; the field ``index`` has the index of the document."""
    vendor_url: str | None = None
    """The address of the vendor's service; ``None`` for software that users run themselves."""
    vendor_variable: str | None = None  # the environment variable with the key of the vendor's service
    batch_size: int = 1000  # how many documents a server accepts in one request by default


DIALECTS: Mapping[str, _Dialect] = {
    "cohere": _Dialect(
        path="/v2/rerank",
        limit_field="top_n",
        results_field="results",
        vendor_url="https://api.cohere.com",
        vendor_variable="COHERE_API_KEY",
    ),
    "voyage": _Dialect(
        limit_field="top_k",
        results_field="data",
        vendor_url="https://api.voyageai.com/v1",
        vendor_variable="VOYAGE_API_KEY",
    ),
    "tei": _Dialect(
        documents_field="texts",
        score_field="score",
        fixed_fields={"raw_scores": False, "truncate": True},
        batch_size=32,
    ),
}


class HttpReranker(ModelReranker):
    """Sends query and documents to a server and reads the scores from the response.

    ``dialect`` is ``cohere`` (also used by Jina, vLLM, LiteLLM, Infinity and llama.cpp), ``voyage``, or ``tei`` (Text
    Embeddings Inference). ``base_url`` is by default the address of the vendor. If it does not end in ``/rerank``,
    requests go to the path ``/v2/rerank`` below it for Cohere, and to ``/rerank`` for the others.

    The API key is read from the environment variable ``key_variable`` for each request, and is never stored, shown or
    logged. By default the variable is ``COHERE_API_KEY`` or ``VOYAGE_API_KEY`` at the address of the vendor, and
    ``RECOLLECT_RERANKER_KEY`` at any other address, so that only the vendor receives the vendor's key; with ``None`` no
    key is sent. ``timeout`` (seconds) and ``retries`` are as in :class:`~recollect.embedders.HttpEmbedder`.

    >>> HttpReranker("cohere", "rerank-v3.5").describe()
    'cohere:rerank-v3.5, https://api.cohere.com'
    >>> HttpReranker("tei", base_url="http://localhost:8080").name
    'tei'
    """

    def __init__(
        self,
        dialect: str,
        model: str | None = None,
        base_url: str | None = None,
        *,
        key_variable: str | None = AUTOMATIC_KEY,
        name: str | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        batch_size: int | None = None,
        batch_characters: int = 200_000,
    ) -> None:
        self._dialect = DIALECTS[arguments.choice("dialect", dialect, tuple(DIALECTS))]
        vendor_url = self._dialect.vendor_url
        url = vendor_url if base_url is None else base_url
        if url is None:
            raise ArgumentError("base_url", f"is required for {dialect}, such as http://localhost:8080")
        if model is None and vendor_url is not None:
            raise ArgumentError("model", f"is required for {dialect}")
        self._request: dict[str, Any] = {} if model is None else {"model": arguments.name("model", model)}
        url = check_url(url)
        self._api = JsonApi(
            url,
            "" if url.endswith("/rerank") else self._dialect.path,
            key_variable=key_variable_for(
                url, key_variable, vendor_url=vendor_url, vendor_variable=self._dialect.vendor_variable
            ),
            error_type=RerankerError,
            style=f"a {dialect}-style rerank API",
            too_large_advice="send smaller batches, or raise the limit of the server",
            timeout=timeout,
            retries=retries,
        )
        default_name = dialect if model is None else f"{dialect}:{model}"
        super().__init__(default_name if name is None else name, self._api.server)
        size = self._dialect.batch_size if batch_size is None else batch_size
        self._batch_size = arguments.at_least_one("batch_size", size)
        self._batch_characters = arguments.count("batch_characters", batch_characters)

    def _scores(self, query: str, documents: list[str]) -> Any:
        """Send one request for each batch. All scores are comparable, because none depends on the other documents."""
        scores: list[tuple[int, float]] = []
        for batch_indexes in batches(documents, size=self._batch_size, characters=self._batch_characters):
            indexes = sorted(batch_indexes)  # in the order of the documents
            response = self._request_scores(query, [documents[index] for index in indexes])
            pairs = sorted_scores(self._name, response, count=len(indexes))
            scores += [(indexes[position], score) for position, score in pairs]
        return scores

    def _request_scores(self, query: str, documents: list[str]) -> list[tuple[Any, Any]]:
        """Return the pairs of an index into ``documents`` and a score that the server sent, without checking them."""
        dialect = self._dialect
        request = {
            **self._request,
            **dialect.fixed_fields,
            "query": query or " ",  # some servers refuse an empty text, and all ignore a space
            dialect.documents_field: [document or " " for document in documents],
        }
        if dialect.limit_field:
            request[dialect.limit_field] = len(documents)
        response = self._api.post(request)
        results = response
        if dialect.results_field:
            results = response.get(dialect.results_field) if isinstance(response, dict) else None
        required = {"index", dialect.score_field}
        if not isinstance(results, list) or not all(
            isinstance(result, dict) and required <= result.keys() for result in results
        ):
            where = f" in {dialect.results_field}" if dialect.results_field else ""
            raise self._api.unexpected_response(f"JSON without a list of index and {dialect.score_field}{where}")
        return [(result["index"], result[dialect.score_field]) for result in results]


def key_variable_for(
    url: str, key_variable: str | None, *, vendor_url: str | None, vendor_variable: str | None
) -> str | None:
    """Return ``key_variable``. ``"auto"`` is the vendor's variable if scheme and host are the vendor's, else ours."""
    if key_variable != AUTOMATIC_KEY:
        return key_variable
    is_vendor = vendor_url is not None and _origin(url) == _origin(vendor_url)
    return vendor_variable if is_vendor else "RECOLLECT_RERANKER_KEY"


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
