"""Words are found among others that begin alike."""

from __future__ import annotations

import numpy as np

from recollect.stores.sqlite.postings.snapshot import EMPTY, lay_out


def test_words_that_begin_alike_are_told_apart() -> None:
    words = sorted(f"abcdefgh{end}".encode() for end in ("", "a", "aa", "b", "c", "cc", "é", "z"))
    snapshot = EMPTY._replace(**lay_out([b"abc", *words, b"xyz"])._asdict())
    assert [snapshot.find(word.decode()) for word in words] == list(range(1, 9))
    assert snapshot.find("abc") == 0
    assert snapshot.find("xyz") == 9
    for missing in ("ab", "abcdefghaaa", "abcdefghd", "zzz", ""):
        assert snapshot.find(missing) is None
    assert snapshot.spelt() == [b"abc", *words, b"xyz"]
    assert snapshot.heads.dtype == np.uint64
