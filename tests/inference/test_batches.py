from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.inference.batches import batches


def test_no_texts_make_no_batch() -> None:
    assert list(batches([], size=3)) == []


def test_a_text_longer_than_a_batch_stands_alone() -> None:
    assert list(batches(["aaaa", "bbbbbbbbbb", "c"], size=9, characters=5)) == [[1], [0, 2]]


@given(st.lists(st.text(max_size=12)), st.integers(1, 5), st.none() | st.integers(0, 20))
def test_each_text_is_in_one_batch_that_is_not_too_large(texts: list[str], size: int, characters: int | None) -> None:
    found = list(batches(texts, size=size, characters=characters))
    places = [place for batch in found for place in batch]
    assert sorted(places) == list(range(len(texts)))
    lengths = [len(texts[place]) for place in places]
    assert lengths == sorted(lengths, reverse=True)
    for batch in found:
        assert 1 <= len(batch) <= size
        if characters is not None and len(batch) > 1:
            assert sum(len(texts[place]) for place in batch) <= characters
