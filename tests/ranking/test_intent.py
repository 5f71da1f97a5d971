from __future__ import annotations

import pytest
from hypothesis import given

from recollect import ArgumentTypeError, Candidate
from recollect.ranking import Intent, detect_intent, intent_multiplier, reweight_by_intent
from tests.strategies import any_text, ranked_list

PREFERENCE = Intent(preference=True, concrete_fact=False)
FACT = Intent(preference=False, concrete_fact=True)
BOTH = Intent(preference=True, concrete_fact=True)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        *(
            (query, PREFERENCE)
            for query in ("recommend one", "Suggest", "a recommendation", "suggestion", "tip", "tips")
        ),
        *((query, PREFERENCE) for query in ("advice", "idea", "ideas", "What should I read", "which SHOULD I")),
        *(
            (query, FACT)
            for query in ("how many", "count", "total", "in total", "sum", "add up", "list", "what are all")
        ),
        *(
            (f"{opening} x {verb}", FACT)
            for opening in ("did I", "have I", "was I", "were I")
            for verb in ("pick up", "picked up", "bought", "ordered", "spent", "earned", "sold", "drove", "travelled")
        ),
        *((f"did i {verb}", FACT) for verb in ("traveled", "watched", "visited", "completed", "finished", "submitted")),
        ("was I booked", FACT),
        ("recommend how many to buy", BOTH),
        ("tips-and-tricks", PREFERENCE),
        ("did İ bought", FACT),  # lower-cased to an i and a combining dot
        *((query, None) for query in ("recommendations", "suggested", "listing", "discount", "I bought", "did I go")),
        *((query, None) for query in ("what should  i", "hoeveel boeken", "", "ﬆips")),
    ],
)
def test_detect_intent(query: str, expected: Intent | None) -> None:
    assert detect_intent(query) == (expected or Intent(preference=False, concrete_fact=False))


def note(path: str, content: str = "", title: str = "", summary: str = "") -> Candidate:
    return Candidate("n", path=path, title=title, summary=summary, content=content, score=1.0)


GLOBAL, WIKI = "memory/global/", "wiki/"


@pytest.mark.parametrize(
    ("candidate", "preference", "fact"),
    [
        # the preference table, row by row, and the concrete-fact table beside it
        (note(f"{GLOBAL}user-preference-tea.md", "I prefer tea"), 2.35, 1),
        (note(f"{GLOBAL}tea.md", "I prefer tea"), 2.1, 1),
        (note(f"{WIKI}tea.md", "some tips"), 0.82, 0.75),
        (note(f"{WIKI}tea.md", "a recap"), 0.9, 0.45),
        (note(f"{WIKI}tea.md", "tips, a summary"), 0.82 * 0.9, 0.45 * 0.75),
        (note(f"{WIKI}tea.md", "tea"), 1, 1),
        (note(f"{GLOBAL}tips.md", "tips"), 1, 1),  # generic, but global
        (note(f"{GLOBAL}user-preference-x.md", "an overview"), 2.35 * 0.9, 0.45),
        (note("memory/project/user-preference-x.md", "likes tea"), 1, 1),
        (note("MEMORY/GLOBAL/USER-PREFERENCE-X.MD"), 2.35, 1),
        (note(f"{WIKI}user-fact-x.md"), 1, 2.2),
        (note(f"{WIKI}milestone-x.md"), 1, 2.2),
        (note(f"{WIKI}x.md", "[Date: 2026-01-01]"), 1, 2.2),
        (note(f"{WIKI}x.md", "[observed on: monday]"), 1, 2.2),
        (note(f"{WIKI}x.md", "we\u3000went home"), 1, 2.2),
        (note(f"{WIKI}x.md", "I bought tea. An overview."), 0.9, 0.45),  # a roll-up's event is no fact
        (note(f"{WIKI}user-fact-x.md", "summary"), 0.9, 2.2 * 0.45),
        (note(f"{WIKI}x.md", "I bought a guide"), 0.82, 2.2),  # a fact is not penalised as generic
        (note(f"{WIKI}x.md", title="Roll-up"), 0.9, 0.45),
        (note(f"{WIKI}x.md", summary="totalling"), 0.9, 0.45),
    ],
)
def test_intent_multiplier(candidate: Candidate, preference: float, fact: float) -> None:
    assert intent_multiplier(PREFERENCE, candidate) == pytest.approx(preference)
    assert intent_multiplier(FACT, candidate) == pytest.approx(fact)
    assert intent_multiplier(BOTH, candidate) == pytest.approx(preference * fact)
    assert intent_multiplier(Intent(preference=False, concrete_fact=False), candidate) == 1


@pytest.mark.parametrize(
    "word",
    "prefer prefers preferred like likes liked love loves loved want wants wanted need needs needed avoid avoids "
    "avoided dislike dislikes disliked hate hates hated enjoy enjoys enjoyed".split(),
)
def test_preference_words(word: str) -> None:
    assert intent_multiplier(PREFERENCE, note(f"{GLOBAL}x.md", f"she {word}.")) == 2.1


@pytest.mark.parametrize(
    "word", "rollup roll-up summary recap overview aggregate combined overall totalled totalle totalling".split()
)
def test_roll_up_words(word: str) -> None:
    assert intent_multiplier(BOTH, note(f"{GLOBAL}x.md", word)) == pytest.approx(0.9 * 0.45)


@pytest.mark.parametrize("phrase", ["interested in", "looking for"])
def test_preference_phrases(phrase: str) -> None:
    assert intent_multiplier(PREFERENCE, note(f"{GLOBAL}x.md", phrase)) == 2.1


@pytest.mark.parametrize(
    "word",
    "tip tips advice suggestion suggestions suggested recommend recommends recommendation recommended idea ideas "
    "option options guide tracking tracker checklist".split(),
)
def test_generic_words(word: str) -> None:
    assert intent_multiplier(PREFERENCE, note("x.md", word)) == 0.82


def test_reweight_by_intent_sorts_and_records_reasons() -> None:
    notes = [note(f"{WIKI}options.md", "options, a summary"), note(f"{GLOBAL}user-preference-tea.md"), note("plain.md")]
    for position, candidate in enumerate(notes):
        candidate.id, candidate.score = "opt"[position], 1 / (position + 1)
    ranked = reweight_by_intent("recommend a tea", notes)
    assert [candidate.id for candidate in ranked] == ["p", "o", "t"]
    assert [candidate.score for candidate in ranked] == pytest.approx([0.5 * 2.35, 0.82 * 0.9, 1 / 3])
    steps = ranked[1].steps
    assert [(step.stage, step.factor, step.rank_before, step.rank_after) for step in steps] == [
        ("intent", 0.82, 1, 2),
        ("intent", 0.9, 1, 2),
    ]
    assert steps[0].reason == "asks for advice; generic advice, not the user's own"
    assert steps[0].to_trace()["scoreAfter"] == steps[1].score_before == 0.82
    assert [step.reason for step in ranked[2].steps] == ["no rule of this stage applies"]


def test_reweight_by_intent_keeps_order_of_equal_scores() -> None:
    notes = [{"id": letter, "path": f"{letter}.md", "score": 1.0} for letter in "zxy"]
    assert [candidate.id for candidate in reweight_by_intent("any tips", notes)] == ["z", "x", "y"]


@given(ranked_list)
def test_reweight_without_intent_changes_nothing(candidates: list[Candidate]) -> None:
    assert reweight_by_intent("hola amigo", candidates) == candidates


@given(any_text)
def test_intent_accepts_any_text(text: str) -> None:
    intent_multiplier(detect_intent(text), note(text, text, text, text))


def test_intent_wrong_types_raise() -> None:
    with pytest.raises(ArgumentTypeError, match="^query: must be a string"):
        detect_intent(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^intent: must be an Intent"):
        intent_multiplier(None, {})  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^candidate: must be a Candidate or a mapping .*, got int"):
        intent_multiplier(BOTH, 5)  # type: ignore[arg-type]
