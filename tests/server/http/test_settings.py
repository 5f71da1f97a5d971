"""Settings of a server."""

from __future__ import annotations

import pytest

from recollect import ArgumentError
from recollect.server.http.settings import Settings, is_loopback


class TestSettings:
    def test_default_rate_depends_on_keys(self) -> None:
        assert (Settings().rate, Settings(require_keys=True).rate, Settings(rate=5).rate) == (0, 100, 5)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"timeout": 0},
            {"rate": -1},
            {"read_threads": 0},
            {"max_body_bytes": 0},
            {"shutdown_timeout": -1},
        ],
    )
    def test_invalid_settings(self, wrong: dict[str, float]) -> None:
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            Settings(**wrong)  # type: ignore[arg-type]

    def test_is_loopback(self) -> None:
        assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost")))
        assert not any(map(is_loopback, ("example.org", "192.168.1.1", "0.0.0.0")))  # noqa: S104 (nothing listens there)

    def test_read_threads_without_sched_getaffinity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr("os.sched_getaffinity")
        monkeypatch.setattr("os.cpu_count", lambda: None)
        assert Settings().read_threads == 2
