from __future__ import annotations

import numpy as np

from recollect.stores.sqlite.posting_lists import EMPTY, _encode_terms


def test_find_term_among_common_prefixes() -> None:
    terms = sorted(f"abcdefgh{end}".encode() for end in ("", "a", "aa", "b", "c", "cc", "é", "z"))
    lists = EMPTY._replace(**_encode_terms([b"abc", *terms, b"xyz"]))
    assert [lists.find(term.decode()) for term in terms] == list(range(1, 9))
    assert lists.find("abc") == 0
    assert lists.find("xyz") == 9
    for missing in ("ab", "abcdefghaaa", "abcdefghd", "zzz", ""):
        assert lists.find(missing) is None
    assert lists.decode_terms() == [b"abc", *terms, b"xyz"]
    assert lists.term_heads.dtype == np.uint64
