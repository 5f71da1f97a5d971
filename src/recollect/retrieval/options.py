"""SearchOptions: the only list of search parameters, with their types, defaults, ranges and help texts.

``Memory``, ``Retrieval``, the command line, HTTP, MCP and the client take their search parameters from this list, or a
test compares theirs with it. The command line imports this module to list the options, so all its imports load quickly.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, TypeVar, get_args

from recollect.errors import ArgumentTypeError

if TYPE_CHECKING:
    from datetime import datetime

    from numpy import floating
    from numpy.typing import NDArray

    from recollect.model import Filters
    from recollect.query.dates import QuestionDate
    from recollect.retrieval.preset import PresetSpec

    QueryVector = Sequence[float] | NDArray[floating]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Mode = Literal["auto", "hybrid", "bm25", "semantic"]
MODES: tuple[Mode, ...] = get_args(Mode)


def _option(default: Any, help_text: str, *, at_least: float | None = None, at_most: float | None = None) -> Any:
    """Return a dataclass field with its help text and the range of its values."""
    return field(default=default, metadata={"help": help_text, "at_least": at_least, "at_most": at_most})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The parameters of a search, described by :func:`search_options`; an ``ArgumentError`` names an invalid parameter.

    They are checked when the object is created, except ``preset`` and ``vector``, which the search checks.

    >>> SearchOptions(top_k=3).mode
    'auto'
    >>> SearchOptions(mode="hybird")
    Traceback (most recent call last):
    recollect.errors.ArgumentError: mode: must be one of auto, hybrid, bm25, semantic, got 'hybird' (str)
    """

    top_k: int = _option(10, "Maximum number of hits.", at_least=0)
    mode: Mode = _option(
        "auto",
        "Legs to search: bm25 (lexical only), semantic (vector only), hybrid (both), or auto (both if an embedder is "
        "available).",
    )
    preset: PresetSpec | None = _option(
        None, "Preset: a name, a TOML file or a Preset; by default the one that the memory was opened with."
    )
    candidate_k: int | None = _option(
        None, "Number of notes that each leg retrieves before fusion; by default the preset's.", at_least=0
    )
    rerank: bool = _option(default=True, help_text="Rerank the best hits, if a reranker is configured.")
    rerank_top_n: int = _option(20, "Number of hits that the reranker reads.", at_least=0)
    rerank_budget_ms: float | None = _option(
        None,
        "Target time for reranking in milliseconds: from the third search of a process on, the reranker reads only as "
        "many texts as its speed allows; 0 means no limit. By default the preset's.",
        at_least=0,
        at_most=600_000,
    )
    skip_retry_ladder: bool = _option(
        default=False, help_text="Do not try fallback queries if lexical search finds nothing."
    )
    question_date: QuestionDate = _option(
        None,
        "Date of the question, from which 'two weeks ago' counts: 2026-04-18, 2026/04/18 (Sat) 09:30, ISO 8601 or "
        "RFC 2822; an empty text counts as none.",
    )
    now: datetime | str | None = _option(
        None, "Time from which recency counts, in ISO 8601; by default the question's date or the present."
    )
    filters: Filters | Mapping[str, Any] | None = _option(
        None, "Conditions that a note must meet; the engine applies them before it ranks."
    )
    namespace: str | None = _option(None, "Namespace to search; by default the namespace 'default'.")
    vector: QueryVector | None = _option(None, "The query's vector, if the caller embeds the query itself.")
    min_confidence: float | None = _option(
        None,
        "Lowest confidence of a hit, from 0 to 1; candidates below it are dropped. By default the preset's.",
        at_least=0,
        at_most=1,
    )
    answer_threshold: float | None = _option(
        None,
        "Lowest confidence, from 0 to 1, at which the best hit counts as an answer (has_answer); it drops no hits. "
        "By default the preset's.",
        at_least=0,
        at_most=1,
    )

    def __post_init__(self) -> None:
        from recollect import arguments  # noqa: PLC0415 (listing the options does not need the checks)
        from recollect.model import Filters  # noqa: PLC0415 (as above)
        from recollect.query.dates import check_question_date  # noqa: PLC0415 (as above)

        checked_values = {
            "top_k": arguments.count("top_k", self.top_k),
            "mode": arguments.choice("mode", self.mode, MODES),
            "candidate_k": arguments.optional_count("candidate_k", self.candidate_k),
            "rerank": arguments.flag("rerank", self.rerank),
            "rerank_top_n": arguments.count("rerank_top_n", self.rerank_top_n),
            "skip_retry_ladder": arguments.flag("skip_retry_ladder", self.skip_retry_ladder),
            "question_date": None if self.question_date is None else check_question_date(self.question_date),
            "now": arguments.optional_instant("now", self.now),
            "filters": Filters.of(self.filters),
        }
        if self.namespace is not None:
            checked_values["namespace"] = arguments.name("namespace", self.namespace)
        for name in ("min_confidence", "answer_threshold"):
            if getattr(self, name) is not None:
                checked_values[name] = arguments.number(name, getattr(self, name), at_least=0, at_most=1)
        if self.rerank_budget_ms is not None:
            budget = arguments.number("rerank_budget_ms", self.rerank_budget_ms, at_least=0, at_most=600_000)
            checked_values["rerank_budget_ms"] = budget
        for name, value in checked_values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, options: SearchOptions | None, keywords: Mapping[str, Any]) -> SearchOptions:
        """Return ``options``, or the default options if it is ``None``, with the fields in ``keywords`` replaced."""
        for name in keywords:
            if name not in cls.__slots__:
                raise ArgumentTypeError(name, f"is not a search option; the options are {', '.join(cls.__slots__)}")
        if options is None:
            return cls(**keywords)
        if not isinstance(options, cls):
            raise ArgumentTypeError("options", f"must be SearchOptions, got {type(options).__name__}")
        return replace(options, **keywords) if keywords else options


class SearchKeywords(TypedDict, total=False):
    """The fields of :class:`SearchOptions` as keyword arguments, for type checkers."""

    top_k: int
    mode: Mode
    preset: PresetSpec | None
    candidate_k: int | None
    rerank: bool
    rerank_top_n: int
    rerank_budget_ms: float | None
    skip_retry_ladder: bool
    question_date: QuestionDate
    now: datetime | str | None
    filters: Filters | Mapping[str, Any] | None
    namespace: str | None
    vector: QueryVector | None
    min_confidence: float | None
    answer_threshold: float | None


class SearchOption(NamedTuple):
    """One search parameter, as the command line, HTTP and MCP describe it."""

    name: str
    annotation: str  # the type as it is written in SearchOptions, for example int | None
    default: Any
    help: str
    choices: tuple[str, ...] = ()  # the allowed values; empty if there is no fixed list
    at_least: float | None = None
    at_most: float | None = None


def search_options() -> dict[str, SearchOption]:
    """Return every search parameter by name."""
    return {
        option.name: SearchOption(
            option.name,
            str(option.type),
            option.default,
            option.metadata["help"],
            MODES if option.name == "mode" else (),
            option.metadata["at_least"],
            option.metadata["at_most"],
        )
        for option in fields(SearchOptions)
    }


def option_or_default(option: T | None, default: T) -> T:
    """Return the value of an option, or the preset's default if the option is ``None``."""
    return default if option is None else option


def takes_search_options(function: F) -> F:
    """Decorate a function that takes ``**keywords: Unpack[SearchKeywords]``, so that ``help()`` shows the options."""
    signature = inspect.signature(function)
    var_keyword = inspect.Parameter.VAR_KEYWORD
    parameters = [parameter for parameter in signature.parameters.values() if parameter.kind is not var_keyword]
    parameters += [
        inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.annotation
        )
        for option in search_options().values()
    ]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function
