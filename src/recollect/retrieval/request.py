"""The parsed query and the scope of a search; functions that find the query's terms in texts or add other forms.

:func:`match_terms` and :func:`count_terms` find the terms of a query in a text. The stem of a term is the term without
a common ending and without accents. A word of the text matches if it is the stem, or the stem with a common ending. A
name with a symbol, such as C++, matches only as written. Stems are found by plain text search, because compiling a
regular expression for each query would take longer than the search.

If no note contains a word of the query as written, notes may contain another form of the same number, identifier or
name (:mod:`recollect.query.expressions`). :func:`substitute` adds the forms that notes contain to the query.
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

Aliases = Mapping[str, Sequence[str]]  # the alternatives of each term, which replace it in the query

_WORD = re.compile(r"\w+")  # a run of letters, digits and underscores


class SearchScope(NamedTuple):
    """The notes to search: those of a namespace that pass the filters."""

    namespace: str
    filters: Filters
    depth: int  # how many notes each leg retrieves

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
    tree: Query  # the query of the lexical leg: its terms, then the dates of ``date_hints``
    terms: Query  # ``tree`` without these dates
    compiled: str  # the lexical query in FTS5 syntax, for the trace
    embedded_text: str  # the text that is embedded; empty if the query has only exclusions
    query_with_exclusions: Query | None  # its NOT terms are excluded in every leg; None if the semantics are literal
    excluded: tuple[str, ...]  # the excluded terms, as written
    now: datetime  # the time from which recency and relative times count
    date_hints: tuple[str, ...]  # the dates that relative times in the query refer to, such as "two weeks ago"
    warnings: tuple[str, ...]
    only_stopwords: bool = False  # whether the query has only stopwords without aliases, which are then searched for
    times: tuple[TimeInterval, ...] = ()  # the times that the query names, in presets with the stage time_match
    time_only: bool = False  # whether the query names a time and nothing else


def parse_request(
    query: str, preset: Preset, aliases: Aliases | None, question_date: QuestionDate = None, now: datetime | None = None
) -> SearchRequest:
    """Return ``query``, parsed; date hints count from ``question_date``, which is also the default of ``now``."""
    question_time = parse_question_date(question_date) if question_date is not None else None
    # If the preset does not allow operators in questions, the operators of a question become words in lower case.
    text, lowered_operators = (query, ()) if preset.query.question_operators else lower_operators(query)
    date_hints = expand_temporal(query, question_date).date_hints if question_time else ()
    parsed = parse_query(text, preset, aliases)
    terms, truncation_warnings = truncate_query(parsed, preset.query.max_words)
    is_strict = preset.query.semantics == "strict"
    text_with_dates = augment_with_temporal(text, question_date) if date_hints else text
    traced_tree = terms  # the query that the trace shows: the text with its dates, parsed
    if date_hints:
        traced_tree = parse_query(text_with_dates, preset, aliases)
        if truncation_warnings:
            date_tokens = traced_tree.tokens[len(parsed.tokens) :]
            traced_tree = replace(traced_tree, tokens=(*terms.tokens, *date_tokens))
    embedded_text = positive_text(parsed) if is_strict else text_with_dates
    only_stopwords = (
        bool(parsed.tokens)
        and not parsed.has_operators
        and all(not token.alternative and token.text in STOPWORDS for token in parsed.tokens)
    )
    warnings = [*parsed.warnings]
    if lowered_operators:
        were_read = "was read as a word" if len(lowered_operators) == 1 else "were read as words"
        advice = "to use operators, write the search terms alone"
        warnings.append(f"{' and '.join(lowered_operators)} {were_read}, because the query is a question; {advice}")
    if only_stopwords:
        warnings.append(ONLY_STOPWORDS)
    if is_strict and parsed.tokens and not embedded_text:
        warnings.append("the query has only excluded terms; add a term to search for")
    excluded_tokens = (token for token, is_excluded in _mark_excluded(parsed) if is_excluded and token.alternative <= 1)
    excluded = [(token.source or token.text).strip("?!.,;:()") for token in excluded_tokens] if is_strict else []
    now = now or question_time or datetime.now(UTC)
    matches_times = any(stage.name == "time_match" for stage in preset.stages)
    times = find_time_expressions(query, now) if matches_times else ()
    return SearchRequest(
        query=query,
        tree=with_dates(terms, date_hints) if date_hints else terms,
        terms=terms,
        compiled=compile_fts5(traced_tree),
        embedded_text=embedded_text,
        query_with_exclusions=parsed if is_strict else None,
        excluded=tuple(dict.fromkeys(excluded)),
        now=now,
        date_hints=date_hints,
        warnings=(*warnings, *truncation_warnings),
        only_stopwords=only_stopwords,
        times=times,
        time_only=preset.query.time_only and not parsed.has_operators and asks_only_for_times(query, times),
    )


def parse_query(text: str, preset: Preset, aliases: Aliases | None) -> Query:
    """Return a text parsed by the rules of a preset, with each term replaced by its aliases, if it has any."""
    tree = parse(text, keep_short=preset.query.short_words)
    if not tree.tokens and preset.query.stopwords_alone:
        tree = parse(text, drop_stopwords=False)
    return expand_aliases(tree, aliases) if aliases else tree


def positive_text(tree: Query) -> str:
    """Return the text of a query without its exclusions; "" if it has only exclusions."""
    if tree.tokens and all(token.operator != "NOT" for token in tree.tokens):
        return tree.raw
    positive = (token for token, excluded in _mark_excluded(tree) if not excluded and token.alternative <= 1)
    return " ".join(token.source or token.text for token in positive)


def exclude_terms(tree: Query, query_with_exclusions: Query) -> Query:
    """Return ``tree`` with the NOT terms of another query added."""
    tokens = [token for token, excluded in _mark_excluded(query_with_exclusions) if excluded]
    return replace(tree, tokens=(*tree.tokens, *tokens)) if tokens else tree


def _mark_excluded(tree: Query) -> list[tuple[Token, bool]]:
    """Return each token and whether it is excluded; all aliases of an excluded term are excluded."""
    marked: list[tuple[Token, bool]] = []
    for token in tree.tokens:
        excluded = marked[-1][1] if token.alternative > 1 and marked else token.operator == "NOT"
        marked.append((token, excluded))
    return marked


def truncate_query(tree: Query, max_words: int) -> tuple[Query, tuple[str, ...]]:
    """Return a query with its first ``max_words`` tokens and all exclusions, and a warning if tokens were dropped."""
    if not max_words or len(tree.tokens) <= max_words:
        return tree, ()
    marked = enumerate(_mark_excluded(tree))
    tokens = tuple(token for index, (token, excluded) in marked if index < max_words or excluded)
    if len(tokens) == len(tree.tokens):
        return tree, ()
    usage = f"lexical search uses the first {max_words}, vector search all of them"
    return replace(tree, tokens=tokens), (f"the query has {len(tree.tokens)} words; {usage}",)


_MIN_STEM_LENGTH = 3
_ENDINGS = "ations ation ments ment ings ing ions ion ies ied ers es ed er ly al s e y".split()  # tried in this order
_POSSIBLE_ENDINGS = frozenset((*_ENDINGS, ""))  # what may follow the stem in a word that matches
_NEXT_WORD = re.compile(r"(?:\s++|[^\w\s]){1,3}(\w+)")  # a word after one to three marks or runs of white space
_SYMBOLS = ("+", "#")  # after a single letter they make another name: C is neither C++ nor C#
_LETTERS_THAT_EXPAND = frozenset("ßẞæÆœŒİ")  # each becomes several letters in lower case without accents
MAX_SCANNED = 100_000  # how many characters of a text are scanned for terms


class TermMatch(NamedTuple):
    """A span of a text that matches a term of the query: its start and end as offsets, and the index of the term."""

    start: int
    end: int
    term_index: int  # the position of the term in positive_terms()


class _TermPattern(NamedTuple):
    """What a text must contain to match a term or one of its aliases: the stem of a word, or the stems of a phrase."""

    stems: tuple[str, ...]
    is_prefix: bool  # whether the last stem is a prefix of a word
    term_index: int  # the index of the query's term; the aliases of a term have the same index
    symbolic: str = ""  # the whole name if it has a symbol: c# or .net


def match_terms(text: str, query: Query) -> list[TermMatch]:
    """Return the disjoint matches of the positive (not excluded) terms of ``query`` in ``text``, from left to right.

    If several matches begin at the same character, the longest is returned.
    """
    folded, offsets = _fold_with_offsets(text[:MAX_SCANNED])
    matches = []
    for stem, patterns in _patterns_by_stem(query.tokens).items():
        start = folded.find(stem)
        while start >= 0:
            before = folded[start - 1 : start]
            if not (before.isalnum() or before == "_"):  # a word begins at start
                for pattern in patterns:
                    end = _match_end(folded, start, pattern)
                    if end:
                        matches.append(TermMatch(offsets[start], offsets[end - 1] + 1, pattern.term_index))
            start = folded.find(stem, start + 1)
    matches.sort(key=lambda match: (match.start, -match.end, match.term_index))
    disjoint: list[TermMatch] = []
    for match in matches:
        if not disjoint or match.start >= disjoint[-1].end:
            disjoint.append(match)
    return disjoint


def count_terms(text: str, query: Query) -> dict[int, int]:
    """Return how often ``text`` contains each positive term of ``query``, by the term's index.

    A search calls this function for each candidate. It repeats the loop of :func:`match_terms`, because a shared
    generator would take a third more time.
    """
    folded = fold_accents(text[:MAX_SCANNED].lower())
    counts: dict[int, int] = {}
    for stem, patterns in _patterns_by_stem(query.tokens).items():
        start = folded.find(stem)
        while start >= 0:
            before = folded[start - 1 : start]
            if not (before.isalnum() or before == "_"):  # a word begins at start
                for pattern in patterns:
                    if _match_end(folded, start, pattern):
                        counts[pattern.term_index] = counts.get(pattern.term_index, 0) + 1
                        break
            start = folded.find(stem, start + 1)
    return counts


def positive_terms(query: Query) -> dict[str, Query]:
    """Return the terms that ``query`` does not exclude: a query of each term alone, by the term as written."""
    terms: dict[str, list[Token]] = {}
    for token, _ in _positive_tokens(query.tokens):
        terms.setdefault(token.source or token.text, []).append(token._replace(operator=None))
    return {term: Query(term, tuple(tokens), has_operators=False) for term, tokens in terms.items()}


@lru_cache(maxsize=64)  # every hit of a search is scanned for the same terms
def _patterns_by_stem(tokens: tuple[Token, ...]) -> dict[str, list[_TermPattern]]:
    """Return the patterns of the positive terms among tokens, by the stem of their first word."""
    term_indexes: dict[str, int] = {}
    by_stem: dict[str, list[_TermPattern]] = {}
    for token, words in _positive_tokens(tokens):
        index = term_indexes.setdefault(token.source or token.text, len(term_indexes))
        if token.kind == "prefix":
            pattern = _TermPattern((fold_accents(words[-1].lower()),), is_prefix=True, term_index=index)
        else:
            symbolic = "" if token.alternative or token.kind == "phrase" else fold_accents(symbolic_name(token.source))
            pattern = _TermPattern(tuple(map(_stem, words)), is_prefix=False, term_index=index, symbolic=symbolic)
        patterns = by_stem.setdefault(pattern.stems[0], [])
        if pattern not in patterns:
            patterns.append(pattern)
    return by_stem


def _positive_tokens(tokens: Iterable[Token]) -> Iterator[tuple[Token, list[str]]]:
    """Yield the tokens that are not excluded and have a letter or digit, each with its words."""
    excluded = False
    for token in tokens:
        excluded = excluded if token.alternative > 1 else token.operator == "NOT"
        # The source of an alias is the word that the alias replaces, so an alias is read from its text.
        words = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if words and not excluded:
            yield token, words


def _fold_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in lower case without accents, and for each character of this text its offset in the original."""
    folded = fold_accents(text.lower())
    if text.isascii() or (len(folded) == len(text) and _LETTERS_THAT_EXPAND.isdisjoint(text)):
        return folded, range(len(text))
    letters = [fold_accents(letter.lower()) for letter in text]
    offsets = [offset for offset, characters in enumerate(letters) for _ in characters]
    return "".join(letters), offsets


def _match_end(folded: str, start: int, pattern: _TermPattern) -> int:
    """Return the offset of the end of a match that begins at ``start``; 0 if the pattern does not match there."""
    if pattern.symbolic:
        return _symbolic_end(folded, start, pattern.symbolic)
    end = start
    match = _WORD.match(folded, start)
    for index, stem in enumerate(pattern.stems):
        if index:
            match = _NEXT_WORD.match(folded, end)
        if match is None:
            return 0
        word = match[match.lastindex or 0]  # the group of _NEXT_WORD, or the whole match of _WORD
        if not word.startswith(stem) or not (pattern.is_prefix or word[len(stem) :] in _POSSIBLE_ENDINGS):
            return 0
        end = match.end()
        if len(word) == 1 and folded[end : end + 1] in _SYMBOLS:
            return 0
    return end


def _symbolic_end(folded: str, start: int, name: str) -> int:
    """Return the offset of the end of a name with a symbol; 0 if its first letter or digit is not at ``start``."""
    if name.startswith("."):  # as in .NET, whose first letter is at start
        start -= 1
    end = start + len(name)
    following = folded[end : end + 1]
    is_whole = not (following.isalnum() or following == "_" or following in _SYMBOLS)
    return end if start >= 0 and is_whole and folded.startswith(name, start) else 0


def _stem(word: str) -> str:
    """Return a word in lower case without accents and without its longest common ending, if three letters remain."""
    folded = fold_accents(word.lower())
    for ending in _ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= _MIN_STEM_LENGTH:
            return folded.removesuffix(ending)
    return folded


MAX_COUNTED_TERMS = 32  # queries with more terms are searched without document frequencies
_MIN_WEIGHT = 1e-6  # replaces weights of 0 or below: FTS5's formula gives them to terms in half of the notes or more


class TermFrequencies(NamedTuple):
    """The document frequencies of the terms of a query."""

    notes: int  # the number of notes in the namespace, N
    counts: Mapping[str, int]  # the number of notes that contain each term, n, by the term as written

    def bm25_weight(self, term: str) -> float:
        """Return the inverse document frequency of BM25, as FTS5 computes it: ``ln((N - n + 0.5) / (n + 0.5))``."""
        count = min(self.notes, self.counts[term])  # a caller's own index may return a higher count
        return max(_MIN_WEIGHT, log((self.notes - count + 0.5) / (count + 0.5)))

    def weight(self, term: str) -> float:
        """Return the inverse document frequency ``ln(1 + (N - n + 0.5) / (n + 0.5))``, always above 0."""
        count = min(self.notes, self.counts[term])
        return log(1 + (self.notes - count + 0.5) / (count + 0.5))


def document_frequencies(query: Query, index: SupportsTermCounts, namespace: str) -> TermFrequencies | None:
    """Return the document frequencies of a query's terms; ``None`` if the query has no terms, or too many."""
    terms = positive_terms(query)
    if not 0 < len(terms) <= MAX_COUNTED_TERMS:
        return None
    notes, counts = index.note_counts(list(terms.values()), namespace=namespace)
    return TermFrequencies(notes, dict(zip(terms, counts, strict=True)))


MAX_SUBSTITUTED = 8  # other forms are searched for at most this many words

NoteCounts = Callable[[Sequence[Query]], Sequence[int]]  # a function that returns how many notes match each query


class Substitution(NamedTuple):
    """A word of the query, or several adjacent words, and the other forms that were searched for as well."""

    written: str  # the word or words as the user wrote them
    forms: tuple[str, ...]  # as the index has them: words without punctuation, in lower case

    def to_dict(self) -> dict[str, Any]:
        """Return the substitution as JSON-ready data."""
        return {"written": self.written, "forms": list(self.forms)}

    def is_in(self, candidate: Candidate) -> bool:
        """Return whether a note contains one of the forms in its title, summary, content or path."""
        forms = _forms_query(self.written, [("phrase", form) for form in self.forms])
        texts = (candidate.content, candidate.title, candidate.summary, candidate.path)
        return any(text and count_terms(text, forms) for text in texts)

    def message(self) -> str:
        """Return the warning that names the forms."""
        forms = ", ".join(f"“{form}”" for form in self.forms)
        return f"no note contains “{self.written}” as written; searched for {forms} as well"


def substitute(
    query: Query, frequencies: TermFrequencies, note_counts: NoteCounts
) -> tuple[Query, tuple[Substitution, ...]]:
    """Return the query with other forms added, and the substitutions.

    A word that no note contains gets those of its other forms that notes contain. Adjacent words, one of them with a
    digit, are joined if a note contains them as one word and no note contains them in sequence. ``frequencies`` has the
    note counts of the query's words; ``note_counts`` counts the notes that match other queries.
    """
    joined, substitutions = _join_words(query, note_counts)
    forms_by_token: dict[Token, list[Form]] = {}
    for token in joined.tokens:
        # Excluded words have no count; with the default of 1 they stay unchanged. Aliases also stay unchanged.
        if token.kind == "term" and not token.alternative and not frequencies.counts.get(token.source, 1):
            forms_by_token[token] = number_forms(token.source.strip(PUNCTUATION)) or letter_forms(token.text)
    word_forms = [(token, forms) for token, forms in forms_by_token.items() if forms][:MAX_SUBSTITUTED]
    # First count the notes with any form of a word. Only for words with such notes, count the notes with each form.
    counts = note_counts([_forms_query(token.source, forms) for token, forms in word_forms]) if word_forms else ()
    matching_words = [word for word, count in zip(word_forms, counts, strict=True) if count]
    pairs = [(token, form) for token, forms in matching_words for form in forms]
    counts = note_counts([_forms_query(token.source, [form]) for token, form in pairs]) if pairs else ()
    found_forms: dict[Token, list[Form]] = {}
    for (token, form), count in zip(pairs, counts, strict=True):
        if count:
            found_forms.setdefault(token, []).append(form)
    tokens: list[Token] = []
    for token in joined.tokens:
        if token in found_forms:
            original, *others = form_tokens(token.source, [("term", token.text), *found_forms[token]])
            tokens += [original._replace(operator=token.operator), *others]
        else:
            tokens.append(token)
    for token, forms in found_forms.items():
        substitutions.append(Substitution(token.source, tuple(text for _, text in forms)))
    return replace(joined, tokens=tuple(tokens)), tuple(substitutions)


def _join_words(query: Query, note_counts: NoteCounts) -> tuple[Query, list[Substitution]]:
    """Return the query with adjacent words joined if notes contain them only as one word, and the substitutions."""
    runs = joined_forms(query)  # a run is a sequence of adjacent words that may be one word in a note
    counts = note_counts([_forms_query(run.written, [run.form]) for run in runs]) if runs else ()
    runs = [run for run, count in zip(runs, counts, strict=True) if count]
    if not runs:
        return query, []
    phrases: list[Form] = [("phrase", run.written.lower()) for run in runs]
    counts = note_counts([_forms_query(run.written, [phrase]) for run, phrase in zip(runs, phrases, strict=True)])
    tokens_by_index: dict[int, tuple[Token, ...]] = {index: (token,) for index, token in enumerate(query.tokens)}
    joined_indexes: set[int] = set()
    substitutions = []
    for run, phrase, phrase_count in zip(runs, phrases, counts, strict=True):
        span = range(run.first, run.end)
        if not phrase_count and joined_indexes.isdisjoint(span):
            joined_indexes.update(span)
            tokens_by_index |= dict.fromkeys(span, ())
            tokens_by_index[run.first] = form_tokens(run.written, [run.form, phrase])
            substitutions.append(Substitution(run.written, (run.form[1],)))
    return replace(query, tokens=tuple(token for group in tokens_by_index.values() for token in group)), substitutions


def _forms_query(written: str, forms: Sequence[Form]) -> Query:
    """Return a query for the notes that contain one of the forms of the word ``written``."""
    return Query(written, form_tokens(written, forms), has_operators=False)
