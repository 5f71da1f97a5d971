"""Rerankers behind an HTTP API. They differ in names of fields, which stand in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentError, RerankerError
from recollect.inference.batches import batches
from recollect.inference.json_api import JsonApi, read_url
from recollect.rerankers.api_keys import AUTOMATIC, api_key
from recollect.rerankers.model import ModelReranker
from recollect.rerankers.verdicts import ranking

__all__ = ["DIALECTS", "HttpReranker"]


class _Dialect(NamedTuple):
    """How one API is spoken to."""

    path: str
    documents: str
    """The field of a question that holds the documents."""
    results: str | None
    """The field of an answer that lists the results; ``None`` if the answer is that list."""
    score: str
    most: str | None = None
    """The field that says how many results are wanted; all are."""
    fixed: Mapping[str, Any] = {}
    url: str | None = None
    """The vendor's own address."""
    key_variable: str | None = None
    """The environment variable that holds the key for it."""
    batch_size: int = 1000
    """How many documents a server takes at once unless it was set up otherwise."""


DIALECTS: Mapping[str, _Dialect] = {
    "cohere": _Dialect(
        path="/v2/rerank",
        documents="documents",
        most="top_n",
        results="results",
        score="relevance_score",
        url="https://api.cohere.com",
        key_variable="COHERE_API_KEY",
    ),
    "voyage": _Dialect(
        path="/rerank",
        documents="documents",
        most="top_k",
        results="data",
        score="relevance_score",
        url="https://api.voyageai.com/v1",
        key_variable="VOYAGE_API_KEY",
    ),
    "tei": _Dialect(
        path="/rerank",
        documents="texts",
        fixed={"raw_scores": False, "truncate": True},
        results=None,
        score="score",
        batch_size=32,
    ),
}


class HttpReranker(ModelReranker):
    """Sends query and documents to a server and reads the scores from its answer.

    ``dialect`` is ``cohere`` (also that of Jina, vLLM, LiteLLM, Infinity and llama.cpp), ``voyage``, or ``tei`` (Text
    Embeddings Inference). Without ``base_url`` it is the vendor's own. ``path`` follows it, by default ``/v2/rerank``
    for Cohere and ``/rerank`` for the others; an address that ends in ``/rerank`` is the whole one.

    The key is ``key``, or what the environment variable ``key_variable`` holds at the time of each request; it is never
    shown or logged. By default that is ``COHERE_API_KEY`` or ``VOYAGE_API_KEY`` at the vendor's own address and
    ``RECOLLECT_RERANKER_KEY`` at any other, so that a vendor's key goes to the vendor alone; ``None`` sends none.

    A request that meets no server, a busy or a failing one is repeated up to ``retries`` times, after waits that double
    from ``backoff`` seconds or that the server asks for.

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
        path: str | None = None,
        key: str | None = None,
        key_variable: str | None = AUTOMATIC,
        name: str | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        backoff: float = 0.5,
        batch_size: int | None = None,
        batch_characters: int = 200_000,
    ) -> None:
        """Check the arguments; nothing is sent yet."""
        spoken = DIALECTS[arguments.choice("dialect", dialect, tuple(DIALECTS))]
        url = spoken.url if base_url is None else base_url
        if url is None:
            raise ArgumentError("base_url", f"must be given for {dialect}, such as http://localhost:8080")
        if model is None and spoken.url is not None:
            raise ArgumentError("model", f"must be given for {dialect}")
        self._dialect = spoken
        self._question: dict[str, Any] = {} if model is None else {"model": arguments.name("model", model)}
        url = read_url(url)
        if path is None:
            path = "" if url.endswith("/rerank") else spoken.path
        self._api = JsonApi(
            url,
            "/" + arguments.line("path", path).lstrip("/") if path else "",
            key=api_key(url, key, key_variable, home=spoken.url, home_variable=spoken.key_variable),
            failure=RerankerError,
            style=f"a rerank API that speaks like {dialect}",
            smaller="pass a smaller batch_size or batch_characters",
            timeout=timeout,
            retries=retries,
            backoff=backoff,
        )
        own = dialect if model is None else f"{dialect}:{model}"
        super().__init__(own if name is None else name, self._api.server)
        size = spoken.batch_size if batch_size is None else batch_size
        self._batch_size = arguments.at_least_one("batch_size", size)
        self._batch_characters = arguments.count("batch_characters", batch_characters)

    def _verdict(self, query: str, documents: list[str]) -> Any:
        """Ask the server about each batch of documents; a score does not depend on the other documents."""
        scores: list[tuple[int, float]] = []
        for batch in batches(documents, size=self._batch_size, characters=self._batch_characters):
            places = sorted(batch)
            found = ranking(self._name, self._ask(query, [documents[place] for place in places]), count=len(places))
            scores += [(places[index], score) for index, score in found]
        return scores

    def _ask(self, query: str, documents: list[str]) -> list[tuple[Any, Any]]:
        """Return the pairs of one answer as they came."""
        dialect = self._dialect
        question = {
            **self._question,
            **dialect.fixed,
            "query": query or " ",  # some servers refuse an empty text, and none makes anything of a space
            dialect.documents: [document or " " for document in documents],
        }
        if dialect.most:
            question[dialect.most] = len(documents)
        answer = self._api.ask(question)
        results = answer
        if dialect.results:
            results = answer.get(dialect.results) if isinstance(answer, dict) else None
        fields = {"index", dialect.score}
        if not isinstance(results, list) or not all(
            isinstance(each, dict) and fields <= each.keys() for each in results
        ):
            where = f" in {dialect.results}" if dialect.results else ""
            raise self._api.misread(f"JSON without a list of index and {dialect.score}{where}")
        return [(each["index"], each[dialect.score]) for each in results]
