"""The small parts that need no server: rates, cursors, settings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError
from recollect.server.cursors import Cursors
from recollect.server.http import rates as rates_module
from recollect.server.http.rates import Rates
from recollect.server.http.settings import Settings, is_loopback


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class TestRates:
    def test_a_bucket_fills_again(self) -> None:
        clock = Clock()
        rates = Rates(rate=2, burst=3, clock=clock)
        assert [rates.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
        clock.now = 0.5
        assert [rates.wait("a"), rates.wait("a")] == [0, 0.5]
        clock.now = 100
        assert [rates.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]  # and does not run over

    def test_no_rate_is_no_limit(self) -> None:
        rates = Rates(rate=0, burst=1)
        assert not any(rates.wait("a") for _ in range(1000))

    def test_buckets_do_not_pile_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rates_module, "MOST", 2)
        rates = Rates(rate=1, burst=1, clock=Clock())
        assert [rates.wait(name) for name in "abcb"] == [0, 0, 0, 1]
        assert rates.wait("a") == 0  # forgotten

    @given(st.lists(st.floats(0, 2), max_size=50), st.floats(0.1, 10), st.floats(1, 10))
    def test_nobody_gets_more_than_their_share(self, pauses: list[float], rate: float, burst: float) -> None:
        clock = Clock()
        rates = Rates(rate=rate, burst=burst, clock=clock)
        allowed = 0
        for pause in pauses:
            clock.now += pause
            allowed += rates.wait("a") == 0
        assert allowed <= burst + clock.now * rate + 1e-6


class TestCursors:
    @given(st.integers(0, 2**63 - 1), st.text())
    def test_a_place_comes_back(self, place: int, namespace: str) -> None:
        cursors = Cursors()
        name = namespace.encode("utf-8", "replace").decode()
        assert cursors.place(cursors.sealed(place, name), name) == place

    @pytest.mark.parametrize("cursor", ["", "x", "é", "A" * 48, "====", "A" * 47])
    def test_what_is_no_cursor(self, cursor: str) -> None:
        with pytest.raises(ArgumentError, match="cursor: is none of this server's"):
            Cursors().place(cursor, "tea")

    def test_a_cursor_is_its_servers_own_and_says_nothing(self) -> None:
        one, other = Cursors(), Cursors()
        assert one.sealed(7, "tea") != one.sealed(7, "tea")
        with pytest.raises(ArgumentError):
            other.place(one.sealed(7, "tea"), "tea")
        sealed = one.sealed(7, "tea")
        with pytest.raises(ArgumentError):
            one.place(("B" if sealed[0] == "A" else "A") + sealed[1:], "tea")
        assert one.place(None, "tea") == 0


class TestSettings:
    def test_rates_depend_on_keys(self) -> None:
        assert (Settings().rate, Settings().burst) == (0, 1)
        assert (Settings(keyed=True).rate, Settings(keyed=True).burst) == (100, 200)
        assert (Settings(rate=5).burst, Settings(rate=5, burst=7).burst) == (10, 7)

    @pytest.mark.parametrize(
        "wrong",
        [{"seconds": 0}, {"rate": -1}, {"searches": 0}, {"body_bytes": 0}, {"shutdown_seconds": -1}, {"burst": -1}],
    )
    def test_what_makes_no_sense(self, wrong: dict[str, float]) -> None:
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            Settings(**wrong)  # type: ignore[arg-type]

    def test_loopback(self) -> None:
        assert not is_loopback("example.org")
        assert not is_loopback("192.168.1.1")

    def test_processors_are_counted_where_the_system_cannot_say_which(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr("os.sched_getaffinity")
        monkeypatch.setattr("os.cpu_count", lambda: None)
        assert Settings().searches == 2
