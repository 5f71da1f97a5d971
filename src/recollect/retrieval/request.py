"""What is searched for, read once: the query as a tree, the time it was asked, and where to look."""

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
from recollect.retrieval.preset import Preset
from recollect.retrieval.wording import ONLY_STOPWORDS

__all__ = ["Aliases", "Place", "Request", "excluding", "read_request", "read_tree", "shortened", "wanted"]

Aliases = Mapping[str, Sequence[str]]


class Place(NamedTuple):
    """Where to search, and how deep."""

    namespace: str
    filters: Filters
    depth: int

    def within(self, time: TimeInterval) -> Place:
        """Return the place with only the notes that were created within a time."""
        filters = self.filters
        starts = [each for each in (filters.created_after, time.start) if each is not None]
        ends = [each for each in (filters.created_before, time.end) if each is not None]
        return self._replace(
            filters=replace(filters, created_after=max(starts, default=None), created_before=min(ends, default=None))
        )


@dataclass(frozen=True, slots=True)
class Request:
    """A query, read under the rules of a preset."""

    query: str
    """What the person wrote."""
    tree: Query
    """What the lexical leg looks for: the words, and the dates that they speak of."""
    words: Query
    """The words alone."""
    compiled: str
    """The canonical string that the trace shows."""
    meaning: str
    """What the dense leg embeds; nothing where a query says only what it does not want."""
    excluding: Query | None
    """Whose exclusions hold in every leg; ``None`` where the reading is literal."""
    excluded: tuple[str, ...]
    """The terms that the query excludes, as they were written."""
    now: datetime
    date_hints: tuple[str, ...]
    warnings: tuple[str, ...]
    only_stopwords: bool = False
    """Whether the query has nothing but stopwords, which were searched for after all."""
    times: tuple[TimeInterval, ...] = ()
    """The times that the query names, in presets with the stage ``time_match``."""
    time_only: bool = False
    """Whether it names nothing but a time."""


def read_request(
    query: str,
    preset: Preset,
    aliases: Aliases | None,
    question_date: QuestionDate | None = None,
    now: datetime | None = None,
) -> Request:
    """Return ``query`` as the preset reads it, with the dates that it speaks of, seen from ``question_date``."""
    asked = parse_question_date(question_date) if question_date is not None else None
    warnings: tuple[str, ...] = ()
    text, operators = (query, ()) if preset.query.question_operators else lower_operators(query)
    if operators:
        warnings = (*warnings, _operators_warning(operators))
    hints = expand_temporal(query, question_date).date_hints if asked else ()
    own = read_tree(text, preset, aliases)
    most = preset.query.most_words
    words, cut = shortened(own, most)
    strict = preset.query.reading == "strict"
    augmented = augment_with_temporal(text, question_date) if hints else text
    compiled = words
    if hints:
        dated = read_tree(augmented, preset, aliases)
        compiled = replace(dated, tokens=(*words.tokens, *dated.tokens[len(own.tokens) :])) if cut else dated
    meaning = wanted(own) if strict else augmented
    only_stopwords = _has_only_stopwords(own)
    if only_stopwords:
        warnings = (*warnings, ONLY_STOPWORDS)
    if strict and own.tokens and not meaning:
        warnings = (*warnings, "the query says only what is not wanted; add what is")
    moment = now or asked or datetime.now(UTC)
    matches_times = any(stage.stage == "time_match" for stage in preset.stages)
    times = find_time_expressions(query, moment) if matches_times else ()
    return Request(
        query=query,
        tree=with_dates(words, hints) if hints else words,
        words=words,
        compiled=compile_fts5(compiled),
        meaning=meaning,
        excluding=own if strict else None,
        excluded=_excluded(own) if strict else (),
        now=moment,
        date_hints=hints,
        warnings=(*own.warnings, *warnings, *cut),
        only_stopwords=only_stopwords,
        times=times,
        time_only=preset.query.time_only and not own.has_operators and asks_only_for_times(query, times),
    )


def read_tree(text: str, preset: Preset, aliases: Aliases | None) -> Query:
    """Return a text parsed as the preset parses, with aliases in the place of terms."""
    tree = parse(text, keep_short=preset.query.short_words)
    if not tree.tokens and preset.query.stopwords_alone:
        tree = parse(text, drop_stopwords=False)  # nothing but stopwords: then they are what is meant
    return expand_aliases(tree, aliases) if aliases else tree


def _has_only_stopwords(tree: Query) -> bool:
    """Return whether a query without quotes and operators has nothing but stopwords, none of which has an alias."""
    tokens = tree.tokens
    return (
        bool(tokens)
        and not tree.has_operators
        and all(not token.alternative and token.text in STOPWORDS for token in tokens)
    )


def wanted(tree: Query) -> str:
    """Return the query's text without what it excludes, of which neither meaning nor rungs may think.

    A query that wants nothing has none.
    """
    if tree.tokens and all(token.operator != "NOT" for token in tree.tokens):
        return tree.raw
    own = (token for token, excluded in _marked(tree) if not excluded and token.alternative <= 1)
    return " ".join(token.source or token.text for token in own)


def excluding(tree: Query, by: Query) -> Query:
    """Return ``tree`` with all that ``by`` excludes excluded from it, too."""
    exclusions = [token for token, excluded in _marked(by) if excluded]
    return replace(tree, tokens=(*tree.tokens, *exclusions)) if exclusions else tree


def _excluded(tree: Query) -> tuple[str, ...]:
    """Return the terms that a query excludes, as they were written, without their aliases."""
    own = (token for token, excluded in _marked(tree) if excluded and token.alternative <= 1)
    return tuple(dict.fromkeys((token.source or token.text).strip("?!.,;:()") for token in own))


def _operators_warning(operators: Sequence[str]) -> str:
    named, verb = " and ".join(operators), "was read as a word" if len(operators) == 1 else "were read as words"
    return f"{named} {verb}, because the query is a question; to use operators, write the search terms alone"


def _marked(tree: Query) -> list[tuple[Token, bool]]:
    """Return each token, and whether it is excluded; the aliases of a word are if the word is."""
    marked: list[tuple[Token, bool]] = []
    for token in tree.tokens:
        excluded = marked[-1][1] if token.alternative > 1 and marked else token.operator == "NOT"
        marked.append((token, excluded))
    return marked


def shortened(tree: Query, most: int) -> tuple[Query, tuple[str, ...]]:
    """Return a long query cut to its first words; exclusions stay."""
    if not most or len(tree.tokens) <= most:
        return tree, ()
    kept = tuple(token for place, (token, excluded) in enumerate(_marked(tree)) if place < most or excluded)
    if len(kept) == len(tree.tokens):
        return tree, ()
    warning = f"the query has {len(tree.tokens)} words; the first {most} were looked for, and all by meaning"
    return replace(tree, tokens=kept), (warning,)
