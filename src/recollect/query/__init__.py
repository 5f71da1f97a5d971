"""Parse text into a query, render it for an engine, and find times in a text. See ``docs/query-language.md``."""

# augment_with_temporal adds dates to the text of a query, whereas with_dates adds dates to a parsed query.
from recollect.query.dates import (
    TemporalExpansion,
    augment_with_temporal,
    date_search_tokens,
    expand_temporal,
    parse_question_date,
    with_dates,
)
from recollect.query.expressions import AllOf, AnyOf, Except, Expression, Match, Renderer, exclusion, expression, render
from recollect.query.parser import MAX_LENGTH, AliasTable, Query, Token, compile_fts5, expand_aliases, normalise, parse
from recollect.query.terms import query_tokens, sanitise, strongest_term
from recollect.query.time_expressions import dates_in_text, find_time_expressions
from recollect.query.time_intervals import TimeInterval
from recollect.query.trigrams import TrigramIndex, TrigramMatch, jaccard, slug_text, trigram_search, trigrams

__all__ = [
    "MAX_LENGTH",
    "AliasTable",
    "AllOf",
    "AnyOf",
    "Except",
    "Expression",
    "Match",
    "Query",
    "Renderer",
    "TemporalExpansion",
    "TimeInterval",
    "Token",
    "TrigramIndex",
    "TrigramMatch",
    "augment_with_temporal",
    "compile_fts5",
    "date_search_tokens",
    "dates_in_text",
    "exclusion",
    "expand_aliases",
    "expand_temporal",
    "expression",
    "find_time_expressions",
    "jaccard",
    "normalise",
    "parse",
    "parse_question_date",
    "query_tokens",
    "render",
    "sanitise",
    "slug_text",
    "strongest_term",
    "trigram_search",
    "trigrams",
    "with_dates",
]
