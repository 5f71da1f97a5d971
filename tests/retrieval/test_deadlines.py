"""Work beside the search, waited for only so long."""

from __future__ import annotations

from contextvars import ContextVar
from threading import Event

import pytest

from recollect.retrieval import deadlines
from recollect.retrieval.deadlines import Task

ASKED_BY: ContextVar[str] = ContextVar("asked_by", default="nobody")


def test_the_answer_and_the_error_come_back() -> None:
    assert Task(lambda: 6 * 7).result(5) == 42
    with pytest.raises(ZeroDivisionError):
        Task(lambda: 1 / 0).result(5)


def test_it_knows_the_context_of_its_caller() -> None:
    token = ASKED_BY.set("me")
    assert Task(ASKED_BY.get).result(5) == "me"
    ASKED_BY.reset(token)


def test_one_waits_only_so_long_and_leaves_only_so_many_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "MOST_ABANDONED", 1)
    go_on, gone = Event(), Event()

    def slow() -> None:
        go_on.wait(30)
        gone.set()

    slow_one = Task(slow)
    with pytest.raises(TimeoutError, match=r"no answer within 0\.01 seconds"):
        slow_one.result(0.01)
    with pytest.raises(TimeoutError, match="1 earlier calls have not returned yet"):
        Task(lambda: 1)
    go_on.set()
    assert gone.wait(30)
    slow_one.result(30)  # now it has returned, and does not count any more
    assert Task(lambda: 2).result(5) == 2


def test_an_answer_that_comes_as_one_gives_up_is_not_counted() -> None:
    task = Task(lambda: 1)
    assert task.result(5) == 1
    before = deadlines._abandoned
    task._leave()
    assert deadlines._abandoned == before
