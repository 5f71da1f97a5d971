"""A first look: a query parsed and compiled, two ranked lists fused, and the result explained.

Run it with ``scripts/demo``, or ``scripts/demo "a query of your own"``. The lists are real: one comes from SQLite's
full-text index, with the query as it is executed there, the other from names that are spelt alike.
"""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import sys
from datetime import UTC, datetime

from recollect import Candidate, RecollectError
from recollect.fusion import reciprocal_rank_fusion
from recollect.query import (
    Query,
    augment_with_temporal,
    compile_fts5,
    expand_aliases,
    expand_temporal,
    parse,
    query_tokens,
    render_fts5,
    trigram_search,
    with_dates,
)
from recollect.ranking import detect_intent, importance_prior, reweight_by_intent, temporal_boost
from recollect.retrieval import explain

QUERY = "recommend tea, perhaps something bought 3 weeks ago NOT rooibos"
NOW = datetime(2026, 4, 18, tzinfo=UTC)
ALIASES = {"tea": ["tea", "sencha", "gyokuro"]}

# path, title, content, day of 2026, importance
NOTES = [
    ("memory/global/user-preference-tea.md", "Tea", "Prefers green tea, brewed cool; no milk.", "01-09", 0.8),
    ("memory/global/user-fact-sencha.md", "Sencha", "I bought 200 g of sencha in Uji.", "03-28", 0.6),
    ("memory/global/user-preference-coffee.md", "Coffee", "Gave up coffee; dislikes the smell by now.", "02-18", 0.7),
    ("wiki/tea-guide.md", "Tea guide", "Tips and options for brewing every tea: gyokuro, rolled oolong.", "02-11", 0.3),
    ("wiki/rooibos.md", "Rooibos", "A red bush, not a tea; no caffeine.", "02-12", 0.2),
    ("wiki/kyoto.md", "Kyoto", "Temples in the morning, tea in Uji in the afternoon.", "03-02", 0.4),
    ("journal/march-recap.md", "March", "Recap: two trips, one cold, much tea.", "03-31", 0.4),
    ("journal/bicycle.md", "Bicycle", "New brake pads; the rear wheel still squeaks.", "03-14", 0.3),
    ("journal/concert.md", "Concert", "Heard the late quartets; sat too close to the cello.", "02-27", 0.4),
    ("journal/garden.md", "Garden", "Sowed peas and the first lettuce.", "03-22", 0.3),
    ("memory/global/milestone-flat.md", "New flat", "[date: 2026-02-01] Signed for the flat.", "02-01", 0.9),
    ("memory/global/user-fact-allergy.md", "Allergy", "Allergic to walnuts, not to almonds.", "01-20", 0.9),
    ("projects/thesis.md", "Thesis", "Chapter three needs a second experiment.", "04-10", 0.7),
    ("projects/website.md", "Website", "Fonts are settled; the footer is not.", "04-11", 0.4),
    ("journal/dentist.md", "Dentist", "Check-up went well. Next one in autumn.", "04-02", 0.5),
    ("projects/kubernetes-move.md", "Cluster move", "Moved the staging cluster; node.js 22 everywhere.", "03-27", 0.6),
]


def main(text: str) -> None:
    """Walk from a person's words to a ranked, explained list."""
    _title(f"What the person asked, on {NOW:%Y-%m-%d}")
    tree = parse(text)
    print(f"  {tree.raw}")

    _title("The query tree")
    for warning in tree.warnings:
        print(f"  ! {warning}")
    for token in tree.tokens:
        print(f"  {json.dumps(token.to_dict(), ensure_ascii=False)}")
    if not tree.tokens:
        print("  (nothing to look for: no word but stopwords)")

    _title("With aliases and dates, for SQLite FTS5")
    augmented = expand_aliases(parse(augment_with_temporal(text, NOW)), ALIASES)
    print(f"  canonical   {compile_fts5(augmented) or '(nothing)'}")
    query = expand_aliases(with_dates(parse(text), expand_temporal(text, NOW).date_hints), ALIASES)
    print(f"  executed    {render_fts5(query) or '(nothing)'}")

    _title("Two ranked lists, fused and re-ranked")
    lexical, names = _by_words(render_fts5(query)), _by_names(text, query)
    print(f"  by words    {', '.join(note.title for note in lexical) or '(none)'}")
    print(f"  by names    {', '.join(note.title for note in names) or '(none)'}")
    intent = detect_intent(text)
    print(f"  intent      preference: {_yes(intent.preference)}, concrete fact: {_yes(intent.concrete_fact)}")
    ranked = reciprocal_rank_fusion([lexical, names], legs=["lexical", "names"])
    ranked = reweight_by_intent(text, ranked)
    ranked = temporal_boost(ranked, query=text, now=NOW, combine="multiply")
    ranked = importance_prior(ranked)

    _title("Why each result stands where it stands")
    print(explain(ranked) or "Nothing was found. Try: scripts/demo tea")


def _candidate(number: int, score: float) -> Candidate:
    path, title, content, day, importance = NOTES[number]
    created = datetime.fromisoformat(f"2026-{day}T12:00:00+00:00")
    return Candidate(path, path, title, "", content, score, created_at=created, importance=importance)


def _by_words(match: str) -> list[Candidate]:
    """Return the notes that SQLite's full-text index finds, the best first."""
    if not match:
        return []
    index = sqlite3.connect(":memory:")
    try:
        index.execute("CREATE VIRTUAL TABLE notes USING fts5(path, title, content, tokenize='porter unicode61')")
    except sqlite3.OperationalError:
        print("  ! this Python's SQLite has no FTS5: nothing can be found by words", file=sys.stderr)
        return []
    rows = [(number, path, title, content) for number, (path, title, content, _, _) in enumerate(NOTES)]
    index.executemany("INSERT INTO notes(rowid, path, title, content) VALUES (?, ?, ?, ?)", rows)
    found = index.execute(
        "SELECT rowid, -bm25(notes, 3, 10, 1) FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 3, 10, 1)", (match,)
    )
    return [_candidate(number, score) for number, score in found.fetchall()]


def _by_names(text: str, query: Query) -> list[Candidate]:
    """Return the notes whose file names are spelt like a word of the query, without those it excludes."""
    not_wanted = tuple(token._replace(operator=None) for token in query.tokens if token.operator == "NOT")
    excluded = {note.path for note in _by_words(render_fts5(Query("", not_wanted, has_operators=True)))}
    numbers = {path: number for number, (path, *_) in enumerate(NOTES) if path not in excluded}
    words = [word for word in query_tokens(text) if word not in {token.text for token in not_wanted}]
    chunks = [{"id": path, "path": path} for path in numbers]
    return [_candidate(numbers[match.id], match.similarity) for match in trigram_search(chunks, words, 10)]


def _title(text: str) -> None:
    styled = f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text
    print(f"\n{styled}\n{'─' * len(text)}")


def _yes(value: object) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever reads the output may stop early
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode gets question marks, not an error
    try:
        main(" ".join(sys.argv[1:]) or QUERY)
    except RecollectError as error:
        sys.exit(f"error: {error}")
