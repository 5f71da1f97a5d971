"""Rerankers behind an HTTP API. The vendors differ in the names of fields, which are in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from recollect import arguments
from recollect.errors import ArgumentError, RerankerError
from recollect.inference.http_api import JsonApi, check_url
from recollect.inference.runtime import batches
from recollect.rerankers.base import ModelReranker, sorted_scores

AUTOMATIC_KEY = "auto"
"""The default of ``key_variable``: the address determines the variable."""


class _Dialect(NamedTuple):
    """The field names and the address of one API."""

    path: str = "/rerank"
    documents: str = "documents"
    """The request field of the documents."""
    results: str | None = None
    """The response field of the results; ``None`` if the response is that list."""
    score: str = "relevance_score"
    limit: str | None = None
    """The request field of the number of results; all are requested."""
    fixed: Mapping[str, Any] = {}
    """Further request fields, with their values."""
    url: str | None = None
    """The vendor's own address."""
    key_variable: str | None = None
    """The environment variable of the vendor's key."""
    batch_size: int = 1000
    """How many documents a server accepts in one request by default."""


DIALECTS: Mapping[str, _Dialect] = {
    "cohere": _Dialect(
        path="/v2/rerank",
        limit="top_n",
        results="results",
        url="https://api.cohere.com",
        key_variable="COHERE_API_KEY",
    ),
    "voyage": _Dialect(limit="top_k", results="data", url="https://api.voyageai.com/v1", key_variable="VOYAGE_API_KEY"),
    "tei": _Dialect(documents="texts", fixed={"raw_scores": False, "truncate": True}, score="score", batch_size=32),
}


class HttpReranker(ModelReranker):
    """Sends query and documents to a server and reads the scores from the response.

    ``dialect`` is ``cohere`` (also used by Jina, vLLM, LiteLLM, Infinity and llama.cpp), ``voyage``, or ``tei`` (Text
    Embeddings Inference). ``base_url`` is by default the vendor's own. An address that does not end in ``/rerank`` is
    followed by ``/v2/rerank`` for Cohere and by ``/rerank`` for the others.

    The key is read from the environment variable ``key_variable`` for each request; it is never stored, shown or
    logged. By default that is ``COHERE_API_KEY`` or ``VOYAGE_API_KEY`` at the vendor's own address and
    ``RECOLLECT_RERANKER_KEY`` at any other, so that only the vendor receives the vendor's key; ``None`` sends none.

    A request is repeated up to ``retries`` times if the server is unreachable, busy or failing, after the delay that it
    requests or one that doubles from half a second.

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
        fields = DIALECTS[arguments.choice("dialect", dialect, tuple(DIALECTS))]
        url = fields.url if base_url is None else base_url
        if url is None:
            raise ArgumentError("base_url", f"is required for {dialect}, such as http://localhost:8080")
        if model is None and fields.url is not None:
            raise ArgumentError("model", f"is required for {dialect}")
        self._dialect = fields
        self._request: dict[str, Any] = {} if model is None else {"model": arguments.name("model", model)}
        url = check_url(url)
        self._api = JsonApi(
            url,
            "" if url.endswith("/rerank") else fields.path,
            key_variable=variable_for(url, key_variable, vendor_url=fields.url, vendor_variable=fields.key_variable),
            error_type=RerankerError,
            style=f"a {dialect}-style rerank API",
            too_large_advice="pass a smaller batch_size or batch_characters",
            timeout=timeout,
            retries=retries,
        )
        default_name = dialect if model is None else f"{dialect}:{model}"
        super().__init__(default_name if name is None else name, self._api.server)
        size = fields.batch_size if batch_size is None else batch_size
        self._batch_size = arguments.at_least_one("batch_size", size)
        self._batch_characters = arguments.count("batch_characters", batch_characters)

    def _scores(self, query: str, documents: list[str]) -> Any:
        """Send one request for each batch; a score does not depend on the other documents."""
        scores: list[tuple[int, float]] = []
        for batch in batches(documents, size=self._batch_size, characters=self._batch_characters):
            indexes = sorted(batch)
            pairs = self._request_scores(query, [documents[index] for index in indexes])
            scores += [(indexes[i], score) for i, score in sorted_scores(self._name, pairs, count=len(indexes))]
        return scores

    def _request_scores(self, query: str, documents: list[str]) -> list[tuple[Any, Any]]:
        """Return the pairs of one response, unchecked."""
        dialect = self._dialect
        request = {
            **self._request,
            **dialect.fixed,
            "query": query or " ",  # some servers refuse an empty text, and all ignore a space
            dialect.documents: [document or " " for document in documents],
        }
        if dialect.limit:
            request[dialect.limit] = len(documents)
        response = self._api.post(request)
        results = response
        if dialect.results:
            results = response.get(dialect.results) if isinstance(response, dict) else None
        fields = {"index", dialect.score}
        if not isinstance(results, list) or not all(
            isinstance(result, dict) and fields <= result.keys() for result in results
        ):
            where = f" in {dialect.results}" if dialect.results else ""
            raise self._api.unexpected(f"JSON without a list of index and {dialect.score}{where}")
        return [(result["index"], result[dialect.score]) for result in results]


def variable_for(url: str, variable: str | None, *, vendor_url: str | None, vendor_variable: str | None) -> str | None:
    """Return the key's variable for ``url``; a vendor's is only used for the scheme and host of ``vendor_url``."""
    if variable != AUTOMATIC_KEY:
        return variable
    is_vendor = vendor_url is not None and _origin(url) == _origin(vendor_url)
    return vendor_variable if is_vendor else "RECOLLECT_RERANKER_KEY"


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
