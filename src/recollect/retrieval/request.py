"""The request of a search: the parsed query, the scope to search, and the terms of the query.

A word of a text matches a term if both begin with the same letters up to a common ending, as in the lexical index;
accents are ignored. A name with a symbol, such as C++, matches only as it is written. Each term is searched as plain
text: compiling a pattern for each query would take longer than the search.

If no note contains a word as written, notes may contain another form of the same number, identifier or name
(:mod:`recollect.query.expressions`): :func:`substitute` adds the forms that notes contain to the query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.model import Candidate, Filters
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
from recollect.query.expressions import Form, form_tokens, joined_forms, letter_forms, number_forms
from recollect.query.parser import PUNCTUATION, lower_operators, symbolic_name
from recollect.query.terms import STOPWORDS
from recollect.query.time_expressions import asks_only_for_times
from recollect.retrieval.messages import ONLY_STOPWORDS
from recollect.text import fold_accents

if TYPE_CHECKING:
    from recollect.retrieval.preset import Preset
    from recollect.stores.search_index import SupportsTermCounts

Aliases = Mapping[str, Sequence[str]]

_WORD = re.compile(r"\w+")


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
    tree: Query
    """The query of the lexical leg: the terms, and the dates that relative times refer to."""
    terms: Query
    """The terms alone."""
    compiled: str
    """The canonical form of the query, for the trace."""
    embedded_text: str
    """The text that is embedded; empty if the query has only exclusions."""
    exclusions: Query | None
    """The query whose NOT terms are excluded in every leg; ``None`` if the semantics are literal."""
    excluded: tuple[str, ...]
    """The excluded terms, as written."""
    now: datetime
    date_hints: tuple[str, ...]
    warnings: tuple[str, ...]
    only_stopwords: bool = False
    """Whether the query has only stopwords, none with an alias; then they are searched for."""
    times: tuple[TimeInterval, ...] = ()
    """The times that the query names, in presets with the stage ``time_match``."""
    time_only: bool = False
    """Whether the query names only a time."""


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
    only_stopwords = (
        bool(parsed.tokens)
        and not parsed.has_operators
        and all(not token.alternative and token.text in STOPWORDS for token in parsed.tokens)
    )
    warnings = [*parsed.warnings]
    if operators:
        words = "was read as a word" if len(operators) == 1 else "were read as words"
        names = " and ".join(operators)
        warnings.append(
            f"{names} {words}, because the query is a question; to use operators, write the search terms alone"
        )
    if only_stopwords:
        warnings.append(ONLY_STOPWORDS)
    if is_strict and parsed.tokens and not embedded_text:
        warnings.append("the query has only excluded terms; add a term to search for")
    negated = (token for token, is_excluded in _with_exclusion(parsed) if is_excluded and token.alternative <= 1)
    excluded = [(token.source or token.text).strip("?!.,;:()") for token in negated] if is_strict else []
    moment = now or asked_at or datetime.now(UTC)
    matches_times = any(stage.name == "time_match" for stage in preset.stages)
    times = find_time_expressions(query, moment) if matches_times else ()
    return SearchRequest(
        query=query,
        tree=with_dates(terms, hints) if hints else terms,
        terms=terms,
        compiled=compile_fts5(compiled),
        embedded_text=embedded_text,
        exclusions=parsed if is_strict else None,
        excluded=tuple(dict.fromkeys(excluded)),
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


def positive_text(tree: Query) -> str:
    """Return the text of a query without its exclusions; "" if it has only exclusions."""
    if tree.tokens and all(token.operator != "NOT" for token in tree.tokens):
        return tree.raw
    positive = (token for token, excluded in _with_exclusion(tree) if not excluded and token.alternative <= 1)
    return " ".join(token.source or token.text for token in positive)


def exclude_terms(tree: Query, exclusions: Query) -> Query:
    """Return ``tree`` with the NOT terms of another query added."""
    tokens = [token for token, excluded in _with_exclusion(exclusions) if excluded]
    return replace(tree, tokens=(*tree.tokens, *tokens)) if tokens else tree


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
    marked = enumerate(_with_exclusion(tree))
    tokens = tuple(token for index, (token, excluded) in marked if index < max_words or excluded)
    if len(tokens) == len(tree.tokens):
        return tree, ()
    used = f"lexical search uses the first {max_words}, vector search all of them"
    return replace(tree, tokens=tokens), (f"the query has {len(tree.tokens)} words; {used}",)


_SHORTEST_STEM = 3
_ENDINGS = "ations ation ments ment ings ing ions ion ies ied ers es ed er ly al s e y".split()
_POSSIBLE_ENDINGS = frozenset((*_ENDINGS, ""))
_NEXT_WORD = re.compile(r"(?:\s++|[^\w\s]){1,3}(\w+)")
"""The next word of a phrase, after at most three punctuation marks or runs of white space."""
_SYMBOLS = ("+", "#")
_SEVERAL_LETTERS = frozenset("ßẞæÆœŒİ")
"""Letters that become several letters when they are folded to lower case without accents."""
MAX_SCANNED = 100_000
"""How many characters of a text are scanned."""


class TermMatch(NamedTuple):
    """A span of a text that matches a term of the query, and the index of that term."""

    start: int
    end: int
    term: int


class _Term(NamedTuple):
    """One word or phrase: the stems of its words, and whether the last is only a prefix."""

    stems: tuple[str, ...]
    is_prefix: bool
    term: int
    """The index of the query's term; the aliases of a term have the same index."""
    symbolic: str = ""
    """The whole name if it has a symbol: ``c#`` or ``.net``."""


def match_terms(text: str, query: Query) -> list[TermMatch]:
    """Return the spans of ``text`` that match positive terms of ``query``, from left to right, without overlaps.

    If several begin at the same character, the longest is returned.
    """
    lowered, offsets = _folded_with_offsets(text[:MAX_SCANNED])
    matches = [
        TermMatch(offsets[start], offsets[end - 1] + 1, term.term)
        for start, terms in _word_starts(lowered, query)
        for term in terms
        if (end := _match_end(lowered, start, term))
    ]
    matches.sort(key=lambda match: (match.start, -match.end, match.term))
    disjoint: list[TermMatch] = []
    for match in matches:
        if not disjoint or match.start >= disjoint[-1].end:
            disjoint.append(match)
    return disjoint


def count_terms(text: str, query: Query) -> dict[int, int]:
    """Return how often ``text`` contains each positive term of ``query``, by the term's index.

    It is faster than :func:`match_terms`, and a search calls it for each candidate: a generator such as
    :func:`_word_starts` would take a third more time.
    """
    lowered = fold_accents(text[:MAX_SCANNED].lower())
    counts: dict[int, int] = {}
    for stem, terms in _terms_by_stem(query.tokens).items():
        start = lowered.find(stem)
        while start >= 0:
            before = lowered[start - 1 : start]
            if not (before.isalnum() or before == "_"):
                for term in terms:
                    if _match_end(lowered, start, term):
                        counts[term.term] = counts.get(term.term, 0) + 1
                        break
            start = lowered.find(stem, start + 1)
    return counts


def _word_starts(lowered: str, query: Query) -> Iterator[tuple[int, list[_Term]]]:
    """Yield the offsets at which a word begins with the stem of a term, each with the terms of that stem."""
    for stem, terms in _terms_by_stem(query.tokens).items():
        start = lowered.find(stem)
        while start >= 0:
            before = lowered[start - 1 : start]
            if not (before.isalnum() or before == "_"):
                yield start, terms
            start = lowered.find(stem, start + 1)


def positive_terms(query: Query) -> dict[str, Query]:
    """Return a single-term query for each term that the query does not exclude, by the term as written, in order."""
    terms: dict[str, list[Token]] = {}
    for token, _ in _positive_tokens(query.tokens):
        terms.setdefault(token.source or token.text, []).append(token._replace(operator=None))
    return {term: Query(term, tuple(tokens), has_operators=False) for term, tokens in terms.items()}


@lru_cache(maxsize=64)  # every hit of a search is scanned for the same terms
def _terms_by_stem(tokens: tuple[Token, ...]) -> dict[str, list[_Term]]:
    """Return the positive terms among tokens by the stem of their first word."""
    numbers: dict[str, int] = {}
    by_stem: dict[str, list[_Term]] = {}
    for token, words in _positive_tokens(tokens):
        number = numbers.setdefault(token.source or token.text, len(numbers))
        if token.kind == "prefix":
            term = _Term((fold_accents(words[-1].lower()),), is_prefix=True, term=number)
        else:
            symbolic = "" if token.alternative or token.kind == "phrase" else symbolic_name(token.source)
            term = _Term(tuple(map(_stem, words)), is_prefix=False, term=number, symbolic=fold_accents(symbolic))
        same = by_stem.setdefault(term.stems[0], [])
        if term not in same:
            same.append(term)
    return by_stem


def _positive_tokens(tokens: Iterable[Token]) -> Iterator[tuple[Token, list[str]]]:
    """Yield the tokens that are not excluded and have a letter or digit, each with its words."""
    excluded = False
    for token in tokens:
        excluded = excluded if token.alternative > 1 else token.operator == "NOT"
        words = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if words and not excluded:
            yield token, words


def _folded_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in lower case without accents, and for each of its characters the offset in the original text."""
    folded = fold_accents(text.lower())
    if text.isascii() or (len(folded) == len(text) and _SEVERAL_LETTERS.isdisjoint(text)):
        return folded, range(len(text))
    letters = [fold_accents(letter.lower()) for letter in text]
    offsets = [offset for offset, characters in enumerate(letters) for _ in characters]
    return "".join(letters), offsets


def _match_end(lowered: str, start: int, term: _Term) -> int:
    """Return the end of a match of the term at ``start``; 0 if it does not match there."""
    if term.symbolic:
        return _symbolic_end(lowered, start, term.symbolic)
    end = start
    word = _WORD.match(lowered, start)
    for index, stem in enumerate(term.stems):
        if index:
            word = _NEXT_WORD.match(lowered, end)
        if word is None:
            return 0
        spelt = word[word.lastindex or 0]
        if not spelt.startswith(stem) or not (term.is_prefix or spelt[len(stem) :] in _POSSIBLE_ENDINGS):
            return 0
        end = word.end()
        if len(spelt) == 1 and lowered[end : end + 1] in _SYMBOLS:
            return 0  # C is neither C++ nor C#
    return end


def _symbolic_end(lowered: str, start: int, name: str) -> int:
    """Return the end of a name with a symbol whose first letter is at ``start``; 0 if it does not match there."""
    start -= name.startswith(".")
    end = start + len(name)
    following = lowered[end : end + 1]
    is_whole = not (following.isalnum() or following == "_" or following in _SYMBOLS)
    return end if start >= 0 and is_whole and lowered.startswith(name, start) else 0


def _stem(word: str) -> str:
    """Return a word without its inflectional ending."""
    lowered = fold_accents(word.lower())
    for ending in _ENDINGS:
        if lowered.endswith(ending) and len(lowered) - len(ending) >= _SHORTEST_STEM:
            return lowered.removesuffix(ending)
    return lowered


MAX_COUNTED_TERMS = 32
"""Queries with more terms are searched without document frequencies."""
_MIN_WEIGHT = 1e-6


class TermFrequencies(NamedTuple):
    """The number of notes, and how many of them contain each term of a query, by the term as written."""

    notes: int
    counts: Mapping[str, int]

    def bm25_weight(self, term: str) -> float:
        """Return the inverse document frequency of BM25, as FTS5 computes it: ``ln((N - n + 0.5) / (n + 0.5))``."""
        count = min(self.notes, self.counts[term])  # the caller's own index may count otherwise
        return max(_MIN_WEIGHT, log((self.notes - count + 0.5) / (count + 0.5)))

    def weight(self, term: str) -> float:
        """Return the inverse document frequency ``ln(1 + (N - n + 0.5) / (n + 0.5))``, always above 0."""
        count = min(self.notes, self.counts[term])
        return log(1 + (self.notes - count + 0.5) / (count + 0.5))


def document_frequencies(query: Query, index: SupportsTermCounts, namespace: str) -> TermFrequencies | None:
    """Return the document frequencies of a query's terms; ``None`` if it has none, or too many."""
    terms = positive_terms(query)
    if not 0 < len(terms) <= MAX_COUNTED_TERMS:
        return None
    notes, counts = index.note_counts(list(terms.values()), namespace=namespace)
    return TermFrequencies(notes, dict(zip(terms, counts, strict=True)))


MAX_SUBSTITUTED = 8
"""The largest number of absent words whose other forms are tried."""

NoteCounts = Callable[[Sequence[Query]], Sequence[int]]
"""Returns how many notes match each query."""


class Substitution(NamedTuple):
    """A word of the query, or several, and the forms of it that were searched for."""

    written: str
    forms: tuple[str, ...]
    """The forms as the index has them: words without punctuation, in lower case."""

    def to_dict(self) -> dict[str, Any]:
        """Return the substitution as JSON-ready data."""
        return {"written": self.written, "forms": list(self.forms)}

    def is_in(self, candidate: Candidate) -> bool:
        """Return whether a note contains one of the forms in its title, summary, content or path."""
        forms = _query(self.written, [("phrase", form) for form in self.forms])
        texts = (candidate.content, candidate.title, candidate.summary, candidate.path)
        return any(text and count_terms(text, forms) for text in texts)

    def message(self) -> str:
        """Return a warning for the user."""
        forms = ", ".join(f"“{form}”" for form in self.forms)
        return f"no note contains “{self.written}” as written; searched for {forms} as well"


def substitute(
    query: Query, frequencies: TermFrequencies, note_counts: NoteCounts
) -> tuple[Query, tuple[Substitution, ...]]:
    """Add to each word that no note contains its other forms that notes contain; return the query and substitutions.

    Adjacent words with a digit are joined if a note contains them as one word and none contains them in sequence.
    ``frequencies`` has the note counts of the query's words; ``note_counts`` returns those of other queries.
    """
    joined, substitutions = _join_words(query, note_counts)
    # Excluded words and aliases are not counted.
    words = (token for token in joined.tokens if token.kind == "term" and not token.alternative)
    absent = {
        token: forms for token in words if not frequencies.counts.get(token.source, 1) and (forms := _forms(token))
    }
    tried = list(absent.items())[:MAX_SUBSTITUTED]
    counts = note_counts([_query(token.source, forms) for token, forms in tried]) if tried else ()
    possible = [(token, form) for (token, forms), count in zip(tried, counts, strict=True) if count for form in forms]
    counts = note_counts([_query(token.source, [form]) for token, form in possible]) if possible else ()
    present: dict[Token, list[Form]] = {}
    for (token, form), count in zip(possible, counts, strict=True):
        if count:
            present.setdefault(token, []).append(form)
    expanded: list[Token] = []
    for token in joined.tokens:
        if token in present:
            own, *others = form_tokens(token.source, [("term", token.text), *present[token]])
            expanded += [own._replace(operator=token.operator), *others]
        else:
            expanded.append(token)
    substitutions += [Substitution(token.source, tuple(text for _, text in forms)) for token, forms in present.items()]
    return replace(joined, tokens=tuple(expanded)), tuple(substitutions)


def _join_words(query: Query, note_counts: NoteCounts) -> tuple[Query, list[Substitution]]:
    """Return the query with adjacent words joined if notes contain them only as one word."""
    runs = joined_forms(query)
    counts = note_counts([_query(run.written, [run.form]) for run in runs]) if runs else ()
    runs = [run for run, count in zip(runs, counts, strict=True) if count]
    if not runs:
        return query, []
    phrases: list[Form] = [("phrase", run.written.lower()) for run in runs]
    counts = note_counts([_query(run.written, [phrase]) for run, phrase in zip(runs, phrases, strict=True)])
    groups: list[tuple[Token, ...]] = [(token,) for token in query.tokens]
    taken: set[int] = set()
    substitutions = []
    for run, phrase, phrase_count in zip(runs, phrases, counts, strict=True):
        span = range(run.first, run.last)
        if not phrase_count and taken.isdisjoint(span):
            taken.update(span)
            groups[run.first : run.last] = [form_tokens(run.written, [run.form, phrase]), *[()] * (len(span) - 1)]
            substitutions.append(Substitution(run.written, (run.form[1],)))
    return replace(query, tokens=tuple(token for group in groups for token in group)), substitutions


def _forms(token: Token) -> list[Form]:
    return number_forms(token.source.strip(PUNCTUATION)) or letter_forms(token.text)


def _query(written: str, forms: Sequence[Form]) -> Query:
    return Query(written, form_tokens(written, forms), has_operators=False)
