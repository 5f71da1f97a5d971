"""Work beside the search, waited for only so long."""

from __future__ import annotations

import os
import warnings
from contextvars import ContextVar
from threading import Event, Thread

import pytest

from recollect.retrieval import vector
from recollect.retrieval.vector import Task, Workers

ASKED_BY: ContextVar[str] = ContextVar("asked_by", default="nobody")


def test_the_answer_and_the_error_come_back() -> None:
    assert Task(lambda: 6 * 7, Workers()).result(5) == 42
    with pytest.raises(ZeroDivisionError):
        Task(lambda: 1 / 0, Workers()).result(5)


def test_it_knows_the_context_of_its_caller() -> None:
    token = ASKED_BY.set("me")
    assert Task(ASKED_BY.get, Workers()).result(5) == "me"
    ASKED_BY.reset(token)


def test_one_waits_only_so_long_and_leaves_only_so_many_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector, "MAX_ABANDONED", 1)
    go_on, gone = Event(), Event()

    def slow() -> None:
        go_on.wait(30)
        gone.set()

    workers = Workers()
    slow_one = Task(slow, workers)
    with pytest.raises(TimeoutError, match=r"no answer within 0\.01 seconds"):
        slow_one.result(0.01)
    with pytest.raises(TimeoutError, match="1 earlier calls have not returned yet"):
        Task(lambda: 1, workers)
    assert Task(lambda: 3, Workers()).result(5) == 3  # of another part
    go_on.set()
    assert gone.wait(30)
    slow_one.result(30)  # now it has returned, and does not count any more
    assert Task(lambda: 2, workers).result(5) == 2


def test_an_answer_that_comes_as_one_gives_up_is_not_counted() -> None:
    workers = Workers()
    task = Task(lambda: 1, workers)
    assert task.result(5) == 1
    task._leave()
    assert workers.count().abandoned == 0


def test_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refuse)
    with pytest.raises(TimeoutError, match="it could not be started: can't start new thread"):
        Task(lambda: 1, Workers())


def test_a_forked_child_begins_to_count_anew() -> None:
    workers = Workers()
    workers.count().abandoned = vector.MAX_ABANDONED
    workers.count().lock.acquire()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other tests' threads are running
        child = os.fork()
    if child == 0:
        os._exit(0 if Task(lambda: 7, workers).result(10) == 7 else 1)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(TimeoutError):
        Task(lambda: 1, workers)
