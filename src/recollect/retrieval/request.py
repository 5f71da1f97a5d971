"""The request of a search: the parsed query, the time from which it counts, and the scope to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from recollect.model import Filters
from recollect.query import (
    Query,
    TimeInterval,
    Token,
    augment_with_temporal,
    compile_fts5,
    expand_aliases,
    expand_temporal,
    find_time_expressions,
    parse,
    parse_question_date,
    with_dates,
)
from recollect.query.dates import QuestionDate
from recollect.query.parser import lower_operators
from recollect.query.terms import STOPWORDS
from recollect.query.time_expressions import asks_only_for_times
from recollect.retrieval.messages import ONLY_STOPWORDS
from recollect.retrieval.preset import Preset

Aliases = Mapping[str, Sequence[str]]


class SearchScope(NamedTuple):
    """The notes to search, and how many each leg retrieves."""

    namespace: str
    filters: Filters
    depth: int

    def within(self, interval: TimeInterval) -> SearchScope:
        """Return the scope with only the notes that were created within an interval."""
        filters = self.filters
        starts = [start for start in (filters.created_after, interval.start) if start is not None]
        ends = [end for end in (filters.created_before, interval.end) if end is not None]
        return self._replace(
            filters=replace(filters, created_after=max(starts, default=None), created_before=min(ends, default=None))
        )


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A query, parsed by the rules of a preset."""

    query: str
    """The query as written."""
    tree: Query
    """What the lexical leg searches for: the terms, and the dates of relative times."""
    terms: Query
    """The terms alone."""
    compiled: str
    """The canonical string that the trace shows."""
    embedded_text: str
    """The text that is embedded; empty if the query has only exclusions."""
    excluding: Query | None
    """The query whose exclusions hold in every leg; ``None`` if the semantics are literal."""
    excluded: tuple[str, ...]
    """The excluded terms, as written."""
    now: datetime
    date_hints: tuple[str, ...]
    warnings: tuple[str, ...]
    only_stopwords: bool = False
    """Whether the query has nothing but stopwords, and is searched with them."""
    times: tuple[TimeInterval, ...] = ()
    """The times that the query names, in presets with the stage ``time_match``."""
    time_only: bool = False
    """Whether it names nothing but a time."""


def parse_request(
    query: str,
    preset: Preset,
    aliases: Aliases | None,
    question_date: QuestionDate | None = None,
    now: datetime | None = None,
) -> SearchRequest:
    """Return ``query`` parsed by the rules of a preset; relative times count from ``question_date``."""
    asked_at = parse_question_date(question_date) if question_date is not None else None
    text, operators = (query, ()) if preset.query.question_operators else lower_operators(query)
    hints = expand_temporal(query, question_date).date_hints if asked_at else ()
    parsed = parse_query(text, preset, aliases)
    terms, truncation = truncate_query(parsed, preset.query.max_words)
    is_strict = preset.query.semantics == "strict"
    augmented = augment_with_temporal(text, question_date) if hints else text
    compiled = terms
    if hints:
        dated = parse_query(augmented, preset, aliases)
        own_dates = dated.tokens[len(parsed.tokens) :]
        compiled = replace(dated, tokens=(*terms.tokens, *own_dates)) if truncation else dated
    embedded_text = positive_text(parsed) if is_strict else augmented
    only_stopwords = _has_only_stopwords(parsed)
    warnings = [*parsed.warnings]
    if operators:
        warnings.append(_operators_warning(operators))
    if only_stopwords:
        warnings.append(ONLY_STOPWORDS)
    if is_strict and parsed.tokens and not embedded_text:
        warnings.append("the query has only excluded terms; add a term to search for")
    moment = now or asked_at or datetime.now(UTC)
    matches_times = any(stage.name == "time_match" for stage in preset.stages)
    times = find_time_expressions(query, moment) if matches_times else ()
    return SearchRequest(
        query=query,
        tree=with_dates(terms, hints) if hints else terms,
        terms=terms,
        compiled=compile_fts5(compiled),
        embedded_text=embedded_text,
        excluding=parsed if is_strict else None,
        excluded=_excluded(parsed) if is_strict else (),
        now=moment,
        date_hints=hints,
        warnings=(*warnings, *truncation),
        only_stopwords=only_stopwords,
        times=times,
        time_only=preset.query.time_only and not parsed.has_operators and asks_only_for_times(query, times),
    )


def parse_query(text: str, preset: Preset, aliases: Aliases | None) -> Query:
    """Return a text parsed by the rules of a preset, with aliases beside terms."""
    tree = parse(text, keep_short=preset.query.short_words)
    if not tree.tokens and preset.query.stopwords_alone:
        tree = parse(text, drop_stopwords=False)
    return expand_aliases(tree, aliases) if aliases else tree


def _has_only_stopwords(tree: Query) -> bool:
    """Return whether a query without quotes and operators has nothing but stopwords, none of which has an alias."""
    tokens = tree.tokens
    return (
        bool(tokens)
        and not tree.has_operators
        and all(not token.alternative and token.text in STOPWORDS for token in tokens)
    )


def positive_text(tree: Query) -> str:
    """Return the text of a query without its exclusions; empty if it has nothing else."""
    if tree.tokens and all(token.operator != "NOT" for token in tree.tokens):
        return tree.raw
    own = (token for token, excluded in _with_exclusion(tree) if not excluded and token.alternative <= 1)
    return " ".join(token.source or token.text for token in own)


def exclude_terms(tree: Query, excluding: Query) -> Query:
    """Return ``tree`` with the exclusions of another query added."""
    exclusions = [token for token, excluded in _with_exclusion(excluding) if excluded]
    return replace(tree, tokens=(*tree.tokens, *exclusions)) if exclusions else tree


def _excluded(tree: Query) -> tuple[str, ...]:
    """Return the terms that a query excludes, as written, without their aliases."""
    own = (token for token, excluded in _with_exclusion(tree) if excluded and token.alternative <= 1)
    return tuple(dict.fromkeys((token.source or token.text).strip("?!.,;:()") for token in own))


def _operators_warning(operators: Sequence[str]) -> str:
    names, verb = " and ".join(operators), "was read as a word" if len(operators) == 1 else "were read as words"
    return f"{names} {verb}, because the query is a question; to use operators, write the search terms alone"


def _with_exclusion(tree: Query) -> list[tuple[Token, bool]]:
    """Return each token, and whether it is excluded; the aliases of an excluded term are, too."""
    marked: list[tuple[Token, bool]] = []
    for token in tree.tokens:
        excluded = marked[-1][1] if token.alternative > 1 and marked else token.operator == "NOT"
        marked.append((token, excluded))
    return marked


def truncate_query(tree: Query, max_words: int) -> tuple[Query, tuple[str, ...]]:
    """Return a query with at most ``max_words`` terms and all its exclusions, and a warning if it was longer."""
    if not max_words or len(tree.tokens) <= max_words:
        return tree, ()
    tokens = tuple(
        token for index, (token, excluded) in enumerate(_with_exclusion(tree)) if index < max_words or excluded
    )
    if len(tokens) == len(tree.tokens):
        return tree, ()
    warning = (
        f"the query has {len(tree.tokens)} words; lexical search uses the first {max_words}, vector search all of them"
    )
    return replace(tree, tokens=tokens), (warning,)
