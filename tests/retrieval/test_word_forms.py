"""Stem-only discounts, substituted word forms and spelling corrections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import recollect
from recollect import Candidate, Memory
from recollect.query import Query, expand_aliases, parse
from recollect.retrieval import Retrieval, recomputed_score
from recollect.retrieval.request import MAX_SUBSTITUTED, Substitution, TermFrequencies, substitute
from recollect.retrieval.rescoring import MAX_CHARACTERS, discount_stem_only, is_one_word
from tests.retrieval.stubs import CountingIndex


def note(name: str, content: str, score: float, **fields: str) -> Candidate:
    return Candidate(name, content=content, score=score, lexical_score=score, **fields)  # type: ignore[arg-type]


def scores(query: str, *notes: Candidate, weight: float = 0.5) -> dict[str, float]:
    ranked, _ = discount_stem_only(notes, parse(query), weight)
    assert [candidate.score for candidate in ranked] == sorted((candidate.score for candidate in ranked), reverse=True)
    assert [candidate.score for candidate in ranked] == [candidate.lexical_score for candidate in ranked]
    return {candidate.id: candidate.score for candidate in ranked}


def test_exact_form_of_a_single_term_ranks_first() -> None:
    notes = note("a", "In May, in Rome", 4.0), note("b", "Ask INES.", 1.0), note("c", "Ines", 2.0)
    assert scores("ines", *notes) == {"c": 2.0, "b": 1.0, "a": 0.5}
    ranked, discounts = discount_stem_only(notes, parse("who is Ines?"), 0.5)
    assert [(candidate.id, candidate.lexical_rank) for candidate in ranked] == [("c", 1), ("b", 2), ("a", 3)]
    assert {name: discount.to_dict() for name, discount in discounts.items()} == {
        "a": {"before": 4.0, "words": ["ines"]}
    }
    assert notes[0].score == 4.0


def test_inflected_form_is_discounted_only_beside_an_exact_form() -> None:
    notes = note("a", "a mug", 4.0), note("b", "two mugs", 1.0)
    assert scores("mugs", *notes) == {"b": 1.0, "a": 0.5}
    assert scores("mugs", notes[0]) == {"a": 4.0}
    assert scores("blue mugs", note("a", "a blue mug", 4.0), notes[1]) == {"a": 4.0, "b": 1.0}


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("cafe", "the Café", 4.0),
        ("café", "the cafes", 4.0),
        ("painting", "painted", 4.0),
        ("running", "runs", 4.0),
        ("used", "using", 4.0),
        ("used", "us", 2.0),
        ("adoption", "adopted", 4.0),
        ("universe", "university", 4.0),  # common prefix: discounted only beside an exact match
        ("generic", "the generals", 4.0),
        ("anal", "analysis", 4.0),
        ("busy", "the business", 2.0),
        ("ines", "in", 2.0),
        ("this", "Nguyễn Thị Mai", 2.0),
        ("ines", "unrelated", 4.0),  # matched in a field that is not read, such as a tag
    ],
)
def test_stem_only_weight(query: str, text: str, expected: float) -> None:
    tree = parse(query, drop_stopwords=False)
    (candidate,), _ = discount_stem_only([note("a", text, 4.0)], tree, 0.5)
    assert candidate.score == expected


def test_candidate_of_unchanged_rank_is_not_copied() -> None:
    first = Candidate("b", content="Ines", score=3.0, lexical_rank=1)
    ranked, _ = discount_stem_only([first, Candidate("a", content="in", score=2.0, lexical_rank=2)], parse("Ines"), 0.5)
    assert ranked[0] is first
    assert (ranked[1].score, ranked[1].lexical_rank) == (1.0, 2)


def test_discount_is_the_mean_of_the_terms() -> None:
    assert scores("Ines dentist", note("a", "the dentist in town", 4.0)) == {"a": 3.0}
    assert scores("Ines dentist", note("a", "the dentist in town", 4.0), weight=0.0) == {"a": 2.0}
    assert scores("Ines dentist", note("a", "dentist", 4.0, title="Ines")) == {"a": 4.0}


def test_no_discount_for_phrases_prefixes_and_exclusions() -> None:
    for query in ('"ines"', "ines*", "x NOT ines", "in.es", "?!"):
        assert scores(query, note("a", "in", 4.0)) == {"a": 4.0}


def test_alias_counts_as_exact() -> None:
    tree = expand_aliases(parse("ines NOT k8s"), {"ines": ["Agnes", "Inés"], "k8s": ["kube", "in"]})
    notes = [note("a", "Agnes", 4.0), note("b", "in", 3.0)]
    assert {candidate.id: candidate.score for candidate in discount_stem_only(notes, tree, 0.5)[0]} == {
        "a": 4.0,
        "b": 1.5,
    }


def test_no_discount_for_long_content() -> None:
    long = note("a", "in " + "x" * MAX_CHARACTERS + " Ines", 4.0)
    assert scores("Ines", long) == {"a": 4.0}


def test_weight_1_changes_nothing() -> None:
    assert scores("Ines", note("a", "in", 4.0), weight=1.0) == {"a": 4.0}


def test_several_terms_check_only_ambiguous_stems() -> None:
    assert scores("busy dentist", note("a", "the dentist's business", 4.0)) == {"a": 4.0}
    assert scores("busy", note("a", "the dentist's business", 4.0)) == {"a": 2.0}


def test_max_score_limits_stem_only_matches() -> None:
    ranked, _ = discount_stem_only(
        [note("a", "two mugs", 4.0), note("b", "a mug", 3.0)], parse("mug"), 0.5, max_score=0.2
    )
    assert {candidate.id: candidate.score for candidate in ranked} == {"a": 0.2, "b": 3.0}


def test_is_one_word() -> None:
    assert [is_one_word(parse(query)) for query in ("Ines", "who is Ines?", "green tea", '"Ines"', "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


class TestSearch:
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
            memory.add_many({"id": f"n{n}", "content": f"In the city, in street {n}, in May"} for n in range(150))
            memory.add("Ask Ines about the long and winding list of the many things to do.", id="ines", path="z.md")
            yield memory

    def test_name_with_a_stopword_stem_ranks_first(self, memory: Memory) -> None:
        result = memory.search("who is Ines?")
        assert result[0].id == "ines"
        results = result.trace.to_dict()["results"]
        assert "stemOnly" not in results[0]
        assert results[1]["stemOnly"]["words"] == ["ines"]
        assert results[1]["stemOnly"]["before"] > results[1]["lexicalScore"]
        assert [recomputed_score(item) for item in results] == [hit.score for hit in result]
        assert "only another form of ines, " in result.explain(width=200)
        assert "another form of ines" in str(result.explanation_data()["waterfalls"][1]["rows"])

    def test_source_presets_have_no_discount(self, memory: Memory) -> None:
        result = memory.search("Ines", preset="jeffs-brain", top_k=60)
        assert result.trace.stem_only == {}
        assert "ines" not in [hit.id for hit in result]


def test_name_with_a_symbol_matches_exactly() -> None:
    notes = note("a", "C++ and plain C", 4.0), note("b", "Ported to C#.", 1.0)
    c_sharp = parse("C#", drop_stopwords=False)
    assert [candidate.id for candidate in discount_stem_only(notes, c_sharp, 0.1)[0]] == ["b", "a"]
    assert discount_stem_only(notes[:1], c_sharp, 0.1)[0][0].score == pytest.approx(0.4)
    only_c = parse("C", drop_stopwords=False)
    assert discount_stem_only((note("a", "C++", 4.0), note("b", "In C.", 1.0)), only_c, 0.1)[0][0].id == "b"


def test_name_with_a_symbol_among_other_terms() -> None:
    notes = note("a", "net service", 4.0), note("b", ".NET service", 3.0)
    assert scores(".NET service", *notes) == {"a": 3.0, "b": 3.0}


NOTES = (
    "Rent is 1,240 euros.",
    "Betrag 1.850 EUR.",
    "Booking PF-3KQ7ZX for May.",
    "Locker W-118.",
    "Gas bottle 14.2 kg left.",
    "Chip 276098106234517 of the cat.",
    "Plumber 0171 5523981.",
    "Error 0x80070057 on update.",
    "Staging runs PostgreSQL 15.4.",
    "Miss Yılmaz called.",
    "Herr Sørensen paid.",
    "Frau Weiß moved to Lange Straße.",
    "A trip to Łódź.",
    "Seal R551032 is broken.",
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with recollect.open(tmp_path_factory.mktemp("forms") / "memory.db", embedder=None) as memory:
        memory.add_many([{"content": text, "tags": ["all"]} for text in NOTES])
        yield memory


@pytest.mark.parametrize(
    ("query", "content", "form"),
    [
        ("1240", "1,240", "1 240"),
        ("what costs 1850?", "1.850", "1 850"),
        ("PF3KQ7ZX", "PF-3KQ7ZX", "pf 3kq7zx"),
        ("W118", "W-118", "w 118"),
        ("14.2kg", "14.2 kg", "14 2 kg"),
        ("276 098 106 234 517", "276098106234517", "276098106234517"),
        ("R 551032", "R551032", "r551032"),
        ("01715523981", "0171 5523981", "0171 5523981"),
        ("80070057", "0x80070057", "0x80070057"),
        ("v15.4", "15.4", "15 4"),
        ("Yilmaz", "Yılmaz", "yılmaz"),
        ("Sorensen", "Sørensen", "sørensen"),
        ("Weiss", "Weiß", "weiß"),
        ("Strasse", "Straße", "straße"),
        ("Lodz", "Łódź", "łodz"),
    ],
)
def test_search_substitutes_indexed_forms(memory: Memory, query: str, content: str, form: str) -> None:
    result = memory.search(query)
    assert content in result[0].content
    assert [substitution.forms for substitution in result.trace.substitutions] == [(form,)]
    assert f"searched for “{form}” as well" in result.warnings[-1]
    assert result.trace.to_dict()["substitutions"][0]["forms"] == [form]
    assert result[0].candidate.steps  # the exact term counts, or the query has other words
    assert memory.search(query, preset="jeffs-brain").trace.substitutions == ()


@pytest.mark.parametrize("query", ["W-118", "PF-3KQ7ZX", "PF-3KQ7ZY", "W119", "1241", "rent", "Lange Straße"])
def test_search_substitutes_nothing(memory: Memory, query: str) -> None:
    assert memory.search(query).trace.substitutions == ()


def test_substitutions_of_hidden_notes_are_not_named(memory: Memory) -> None:
    assert memory.search("1240", filters={"tags": ["all"]}).trace.substitutions
    hidden = memory.search("1240", filters={"tags": ["none"]})
    assert (hidden.trace.substitutions, hidden.warnings) == ((), [])


def test_dates_follow_substituted_forms(memory: Memory) -> None:
    result = memory.search("rent 1240 2 days ago", question_date="2026-04-18")
    assert result.trace.compiled_query == 'rent OR 1240 OR "1 240" OR 2 OR days OR ago OR "2026 04 16"'


def test_substitute_keeps_operators_and_exclusions() -> None:
    query = parse("rent AND 1240 NOT 1850")
    expanded, substitutions = substitute(
        query, TermFrequencies(9, {"rent": 1, "1240": 0}), lambda queries: [1] * len(queries)
    )
    assert [(token.text, token.operator) for token in expanded.tokens][1:] == [
        ("1240", "AND"),
        ("1 240", None),
        ("0x1240", None),
        ("1850", "NOT"),
    ]
    assert substitutions == (Substitution("1240", ("1 240", "0x1240")),)


def test_substitute_joins_overlapping_runs_once() -> None:
    def counts(queries: Sequence[Query]) -> list[int]:
        indexed = {"123456", "345678", "1234", "12 34"}
        return [int(any(token.text in indexed for token in query.tokens)) for query in queries]

    words = parse("12 34 56 78", keep_short=True)
    expanded, substitutions = substitute(words, TermFrequencies(9, dict.fromkeys(["12", "34", "56", "78"], 1)), counts)
    assert [token.text for token in expanded.tokens] == ["123456", "12 34 56", "78"]
    assert [substitution.written for substitution in substitutions] == ["12 34 56"]


def test_substitute_is_limited() -> None:
    query_counts: list[int] = []

    def counts(queries: Sequence[Query]) -> list[int]:
        query_counts.append(len(queries))
        return [0] * len(queries)

    text = " ".join(f"{letter}oil" for letter in "bcfhjkmnprst")
    substitute(parse(text), TermFrequencies(9, dict.fromkeys(text.split(), 0)), counts)
    assert query_counts == [MAX_SUBSTITUTED]


def test_failing_counts_skip_substitution() -> None:
    class Failing(CountingIndex):
        calls = 0

        def note_counts(self, queries: Sequence[Query], **_: object) -> tuple[int, list[int]]:
            self.calls += 1
            if self.calls > 1:
                raise OSError("no disk")
            return 5, [0] * len(queries)

    index = Failing(lexical_ids={"1240": ["a"]}, notes={"a": Candidate("a", content="1240")})
    result = Retrieval(index).search("1240")
    assert [hit.id for hit in result] == ["a"]
    assert "other forms of the query's words were not searched" in result.warnings[0]


class TestSpelling:
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with recollect.open(tmp_path / "boat.db", embedder=None) as memory:
            memory.add_many(
                [
                    {"content": "South harbour full, moored four deep.", "title": "PD4417"},
                    {"content": "Rudder bearing has 4 mm play."},
                    {"content": "Staging runs on pg-stage-02."},
                ]
            )
            yield memory

    @pytest.mark.parametrize(
        ("query", "guess"),
        [("hull", None), ("udder", None), ("ruder", "rudder"), ("urdder", "rudder"), ("beering", "bearing")],
    )
    def test_did_you_mean(self, memory: Memory, query: str, guess: str | None) -> None:
        result = memory.search(query)
        attempts = {attempt.strategy: attempt.query for attempt in result.trace.attempts}
        assert attempts.get("did_you_mean") == guess
        assert [f"did you mean “{guess}”" in warning for warning in result.warnings] == ([True] if guess else [])

    def test_unmatched_terms_lower_coverage(self, memory: Memory) -> None:
        alone, among_others = memory.search("ruder"), memory.search("which colour is the ruder paint?")
        assert alone[0].id == among_others[0].id
        assert alone[0].score > 2 * among_others[0].score
        assert among_others.trace.evidence[among_others[0].id].coverage < 0.25

    def test_words_with_digits_are_not_corrected(self, memory: Memory) -> None:
        result = memory.search("PD4418")
        assert not result
        assert [attempt.strategy for attempt in result.trace.attempts][-1] == "refreshed_strongest"
        assert memory.search("PD4418", preset="jeffs-brain").trace.attempts[-1].strategy == "trigram_fuzzy"

    def test_part_of_an_identifier_is_searched(self, memory: Memory) -> None:
        result = memory.search("pg-stage-03")
        assert result.warnings == ["nothing matched “pg-stage-03”; showing what matches “stage”"]
        assert result.trace.evidence[result[0].id].coverage < 0.3


@pytest.mark.parametrize(
    ("query", "expected"),
    [("the", True), ("is it", True), ("of", True), ("and the", True), ("rent", False), ('"the"', False), ("?", False)],
)
def test_stopword_query_is_flagged(memory: Memory, query: str, *, expected: bool) -> None:
    result = memory.search(query)
    assert result.trace.only_stopwords is expected
    assert ("the query has only stopwords" in result.warnings) is expected
    assert result.trace.to_dict().get("onlyStopwords", False) is expected


def test_short_terms_are_matched(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "flats.db", embedder=None) as memory:
        memory.add_many(
            [{"content": f"Flat {number}: {'late rent' if number % 2 else 'piano'}."} for number in range(1, 9)]
        )
        memory.add_many(
            [{"content": "Class 1b: Ms Roth."}, {"content": "Class 2b: Mr Adler."}, {"content": "QA by Ines."}]
        )
        for query, beginning in (
            ("flat 1", "Flat 1:"),
            ("flat 8", "Flat 8:"),
            ("class 2b", "Class 2b"),
            ("who does QA?", "QA"),
        ):
            result = memory.search(query)
            assert result[0].content.startswith(beginning)
            assert result.trace.evidence[result[0].id].coverage == 1.0
        missing = memory.search("flat 13")
        assert all(evidence.coverage < 0.5 for evidence in missing.trace.evidence.values())
