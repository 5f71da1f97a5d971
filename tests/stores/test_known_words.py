"""What is known of words may say that one is there though it is not, never the other way round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores import known_words
from recollect.stores.known_words import KnownWords

word = st.sampled_from(["green", "tea", "pot", "day", "17"])
run = st.lists(word, min_size=1, max_size=3).map(" ".join)


@pytest.mark.parametrize("buckets", [2, 64, 2**22])
def test_whatever_is_there_is_known(buckets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_words, "BUCKETS", buckets)

    @given(st.sets(word), st.sets(run), st.lists(run))
    def law(words: set[str], titles: set[str], asked: list[str]) -> None:
        known = KnownWords()
        known.begin("now", words, titles)
        held = words.union(*(title.split() for title in titles))
        begun = {" ".join(title.split()[:depth]) for title in titles for depth in (1, 2, 3)}
        numbered = list(enumerate(asked))
        assert known.may_hold(numbered) >= {number for number, title in numbered if held.issuperset(title.split())}
        assert known.may_begin(asked) >= begun.intersection(asked)
        assert known.add_and_tell(words) >= begun & words
        assert all(known.may_be_title(title) for title in titles)

    law()


def test_it_holds_for_one_state_alone() -> None:
    known = KnownWords()
    assert not known.knows(("a", 1))
    known.begin(("a", 1))
    assert known.knows(("a", 1))
    assert not known.knows(("a", 2))
    known.forget()
    assert not known.knows(("a", 1))
    assert not known.knows(None)
