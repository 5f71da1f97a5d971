"""A note that holds a word as it was written counts more in the lexical leg than one that shares its stem."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import Candidate, Memory
from recollect.query import expand_aliases, parse
from recollect.retrieval import recomputed_score
from recollect.retrieval.exact_forms import CHARACTERS, discount_stem_only, is_one_word


def note(name: str, content: str, score: float, **fields: str) -> Candidate:
    return Candidate(name, content=content, score=score, lexical_score=score, **fields)  # type: ignore[arg-type]


def scores(query: str, *notes: Candidate, weight: float = 0.5) -> dict[str, float]:
    found, _ = discount_stem_only(notes, parse(query), weight)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert [each.score for each in found] == [each.lexical_score for each in found]
    return {each.id: each.score for each in found}


def test_the_only_word_of_a_query_as_written_comes_first() -> None:
    notes = note("a", "In May, in Rome", 4.0), note("b", "Ask INES.", 1.0), note("c", "Ines", 2.0)
    assert scores("ines", *notes) == {"c": 2.0, "b": 1.0, "a": 0.5}
    found, discounted = discount_stem_only(notes, parse("who is Ines?"), 0.5)
    assert [(each.id, each.lexical_rank) for each in found] == [("c", 1), ("b", 2), ("a", 3)]
    assert {name: each.to_dict() for name, each in discounted.items()} == {"a": {"before": 4.0, "words": ["ines"]}}
    assert notes[0].score == 4.0


def test_an_inflected_form_ranks_below_an_exact_form_and_counts_in_full_without_one() -> None:
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
        ("universe", "university", 4.0),  # they begin alike: only where the word itself is found does it come behind
        ("generic", "the generals", 4.0),
        ("anal", "analysis", 4.0),
        ("busy", "the business", 2.0),
        ("ines", "in", 2.0),
        ("this", "Nguyễn Thị Mai", 2.0),
        ("ines", "unrelated", 4.0),  # found by a field that is not read, such as a tag
    ],
)
def test_a_stem_only_match_has_the_weight(query: str, text: str, expected: float) -> None:
    tree = parse(query, drop_stopwords=False)
    (found,), _ = discount_stem_only([note("a", text, 4.0)], tree, 0.5)
    assert found.score == expected


def test_a_note_that_keeps_its_rank_is_not_copied() -> None:
    first = Candidate("b", content="Ines", score=3.0, lexical_rank=1)
    found, _ = discount_stem_only([first, Candidate("a", content="in", score=2.0, lexical_rank=2)], parse("Ines"), 0.5)
    assert found[0] is first
    assert (found[1].score, found[1].lexical_rank) == (1.0, 2)


def test_of_several_words_the_mean_counts() -> None:
    assert scores("Ines dentist", note("a", "the dentist in town", 4.0)) == {"a": 3.0}
    assert scores("Ines dentist", note("a", "the dentist in town", 4.0), weight=0.0) == {"a": 2.0}
    assert scores("Ines dentist", note("a", "dentist", 4.0, title="Ines")) == {"a": 4.0}


def test_phrases_prefixes_exclusions_and_words_with_punctuation_are_left_alone() -> None:
    for query in ('"ines"', "ines*", "x NOT ines", "in.es", "?!"):
        assert scores(query, note("a", "in", 4.0)) == {"a": 4.0}


def test_an_alias_is_as_good_as_the_word() -> None:
    tree = expand_aliases(parse("ines NOT k8s"), {"ines": ["Agnes", "Inés"], "k8s": ["kube", "in"]})
    notes = [note("a", "Agnes", 4.0), note("b", "in", 3.0)]
    assert {each.id: each.score for each in discount_stem_only(notes, tree, 0.5)[0]} == {"a": 4.0, "b": 1.5}


def test_a_content_longer_than_what_is_read_is_not_discounted() -> None:
    long = note("a", "in " + "x" * CHARACTERS + " Ines", 4.0)
    assert scores("Ines", long) == {"a": 4.0}


def test_a_weight_of_one_changes_nothing() -> None:
    assert scores("Ines", note("a", "in", 4.0), weight=1.0) == {"a": 4.0}


def test_of_several_words_only_ambiguous_stems_are_checked() -> None:
    assert scores("busy dentist", note("a", "the dentist's business", 4.0)) == {"a": 4.0}
    assert scores("busy", note("a", "the dentist's business", 4.0)) == {"a": 2.0}


def test_a_score_that_is_given_is_the_highest_without_the_word_as_written() -> None:
    found, _ = discount_stem_only([note("a", "two mugs", 4.0), note("b", "a mug", 3.0)], parse("mug"), 0.5, highest=0.2)
    assert {each.id: each.score for each in found} == {"a": 0.2, "b": 3.0}


def test_which_queries_have_one_word() -> None:
    assert [is_one_word(parse(query)) for query in ("Ines", "who is Ines?", "green tea", '"Ines"', "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


class TestSearching:
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with recollect.open(tmp_path / "memory.db", embedder=None) as opened:
            opened.add_many({"id": f"n{n}", "content": f"In the city, in street {n}, in May"} for n in range(150))
            opened.add("Ask Ines about the long and winding list of the many things to do.", id="ines", path="z.md")
            yield opened

    def test_a_name_whose_stem_is_a_stopword_is_found_first(self, memory: Memory) -> None:
        result = memory.search("who is Ines?")
        assert result[0].id == "ines"
        told = result.trace.to_dict()["results"]
        assert "stemOnly" not in told[0]
        assert told[1]["stemOnly"]["words"] == ["ines"]
        assert told[1]["stemOnly"]["before"] > told[1]["lexicalScore"]
        assert [recomputed_score(each) for each in told] == [hit.score for hit in result]
        assert "only another form of ines, " in result.explain(width=200)
        assert "another form of ines" in str(result.account()["waterfalls"][1]["rows"])

    def test_the_source_presets_count_stems(self, memory: Memory) -> None:
        result = memory.search("Ines", preset="jeffs-brain", top_k=60)
        assert result.trace.stem_only == {}
        assert "ines" not in [hit.id for hit in result]


def test_a_name_with_a_symbol_is_exact_only_as_written() -> None:
    notes = note("a", "C++ and plain C", 4.0), note("b", "Ported to C#.", 1.0)
    sharp = parse("C#", drop_stopwords=False)
    assert [each.id for each in discount_stem_only(notes, sharp, 0.1)[0]] == ["b", "a"]
    assert discount_stem_only(notes[:1], sharp, 0.1)[0][0].score == pytest.approx(0.4)
    plain = parse("C", drop_stopwords=False)
    assert discount_stem_only((note("a", "C++", 4.0), note("b", "In C.", 1.0)), plain, 0.1)[0][0].id == "b"


def test_a_name_with_a_symbol_is_checked_beside_other_words() -> None:
    notes = note("a", "net service", 4.0), note("b", ".NET service", 3.0)
    assert scores(".NET service", *notes) == {"a": 3.0, "b": 3.0}
