from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import opening as library
from recollect.errors import ArgumentError
from recollect.stores import copying, open_store
from recollect.stores.base import Store
from recollect.stores.copying import CopyCounts, copy_store
from recollect.stores.sqlite.store import SQLiteStore
from tests.cli.conftest import Run

SAME = "verified 3 notes: all are the same, and so are {} of {} lexical searches and 0 of 0 vector searches\n"


def test_copy_and_verify(run: Run, sample_path: Path) -> None:
    result = run("copy", str(sample_path), "two.db")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines(keepends=True)
    assert first.startswith("copied to two.db in 0.")
    assert first.endswith(" notes/s: notes 3 added, 0 unchanged; documents 0\n")
    assert second == SAME.format(3, 3)
    with recollect.open("two.db", embedder=None) as copy, recollect.open(sample_path, embedder=None) as source:
        assert list(copy.notes()) == list(source.notes())


def test_copy_again_has_nothing_to_do(run: Run, sample_path: Path) -> None:
    assert run("copy", str(sample_path), "two.db", "-q").output == ""
    result = run("copy", str(sample_path), "two.db")
    assert result.output == f"nothing to copy: two.db has all 3 notes of {sample_path}\n" + SAME.format(3, 3)
    assert run("copy", str(sample_path), "two.db", "--no-verify").stdout.count("\n") == 1


def test_copy_json(run: Run, sample_path: Path) -> None:
    data = json.loads(run("copy", str(sample_path), "two.db", "--json").stdout)
    assert (data["source"], data["target"]) == (str(sample_path), "two.db")
    assert data["copied"]["added"] == 3
    assert data["verified"]["same"] is True
    assert data["verified"]["searches"]["lexical"]["searches"] == 3
    assert json.loads(run("copy", str(sample_path), "two.db", "--json", "--no-verify").stdout)["verified"] is None


def test_copy_into_a_target_with_other_notes(run: Run, sample_path: Path) -> None:
    run("add", "mine", "--id", "mine", "--db", "two.db")
    result = run("copy", str(sample_path), "two.db")
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: target: two.db has the note 'mine', which {sample_path} lacks; choose an empty target, or merge them\n"
    )
    result = run("copy", str(sample_path), "two.db", "--merge")
    assert result.stdout.splitlines()[0].endswith("notes 3 added, 0 unchanged; documents 0")
    assert result.stdout.splitlines()[1] == "verified 3 notes: all are the same"


def test_copy_namespaces(run: Run, sample_path: Path) -> None:
    for name in ("work", "home"):
        run("add", "x", "--namespace", name, "--db", str(sample_path))
    result = run("copy", str(sample_path), "two.db", "--namespace", "work", "--namespace", "home")
    assert "notes 2 added" in result.stdout
    with recollect.open("two.db", embedder=None) as copy:
        assert set(copy.stats().store.notes) == {"work", "home"}
    assert run("copy", str(sample_path), "two.db", "--namespace", "nowhere").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere.db", "two.db"], "there is no memory at nowhere.db; see recollect copy --help"),
        (["{}", "{}"], "is the source itself; choose another"),
        (["{}", "redis://two"], "target: no store opens 'redis://two'"),
        (["redis://one", "{}"], "source: no store opens 'redis://one'"),
    ],
)
def test_copy_wrong_use(run: Run, sample_path: Path, arguments: list[str], problem: str) -> None:
    result = run("copy", *(argument.format(sample_path) for argument in arguments))
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not Path("nowhere.db").exists()


def test_copy_shows_no_passwords(run: Run, sample_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "postgresql://ines:secret@host:5432/db?password=secret"
    monkeypatch.setattr(
        library, "open_store", lambda name, **more: open_store("two.db" if name == address else name, **more)
    )
    for pair in ((str(sample_path), address), (address, "three.db"), (address, "three.db")):
        result = run("copy", *pair)
        assert result.exit_code == 0
        assert "secret" not in result.output
    result = run("copy", address, "three.db", "--json")
    assert json.loads(result.stdout)["source"] == "postgresql://ines@host:5432/db"


def test_copy_unreadable_source(run: Run) -> None:
    Path("one.db").write_text("no store" * 1000)
    result = run("copy", "one.db", "two.db")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: one.db is not an SQLite database; choose another file")
    assert not Path("two.db").exists()


def change_target_after_copying(monkeypatch: pytest.MonkeyPatch, change: Callable[[Store], object]) -> None:
    def copy_and_change(source: Store, target: Store, **options: Any) -> CopyCounts:
        copied = copy_store(source, target, **options)
        change(target)
        return copied

    monkeypatch.setattr(library, "copy_store", copy_and_change)


def test_copy_lists_differences(run: Run, sample_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = [
        {"id": "n1", "content": "Prefers black tea."},
        *({"id": f"extra{number}", "content": "x"} for number in range(11)),
    ]
    change_target_after_copying(monkeypatch, lambda target: target.write(drafts))
    result = run("copy", str(sample_path), "two.db")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[1:3] == [
        "differs: note n1 in default: content, updated_at",
        "differs: note extra0 in default: extra",
    ]
    assert lines[-1] == "differs: 2 more"
    advice = f"run the same command again if {sample_path} was written to meanwhile"
    assert result.stderr == f"error: two.db differs from {sample_path} in 12 points; {advice}\n"
    assert run("copy", str(sample_path), "three.db", "--json").exit_code == 1


def test_copy_reports_another_order(run: Run, sample_path: Path) -> None:
    assert run("copy", str(sample_path), "two.db").exit_code == 0
    assert run("delete", "n1", "--db", "two.db").exit_code == 0
    result = run("copy", str(sample_path), "two.db")
    assert result.exit_code == 1
    assert "differs: note n1 in default: order\n" in result.stdout
    advice = "all notes are there, but in another order; copy to an empty target to keep the order"
    assert result.stderr == f"error: two.db differs from {sample_path} in 1 point; {advice}\n"


def test_copy_reports_another_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with recollect.open("one.db", embedder=None) as memory:
        memory.add("tea", vector=[1, 0])
    other_model = recollect.stores.base.Model("other", 3)

    def change_model(target: Store) -> None:
        target.embed(
            other_model, [(note, np.array([1, 0, 0], dtype=np.float32)) for note in target.pending(other_model, 9)]
        )
        target.activate(other_model)

    change_target_after_copying(monkeypatch, change_model)
    assert "differs: store other: the source has the model given\n" in run("copy", "one.db", "two.db").stdout


def test_copy_reports_different_searches(run: Run, sample_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search_text = SQLiteStore.search_text
    monkeypatch.setattr(
        SQLiteStore,
        "search_text",
        lambda self, *args, **more: search_text(self, *args, **more) if self.read_only else [],
    )
    result = run("copy", str(sample_path), "two.db")
    assert result.exit_code == 1
    same = "only 0 of 3 lexical searches and 0 of 0 vector searches are the same"
    assert result.stderr == f"error: searches in two.db and {sample_path} differ: {same}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (recollect.StoreError("the server is gone"), 1),
        (ArgumentError("tags", "note 'full' has too many"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_copy_failure_reports_the_state(
    run: Run, sample_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    original_write, calls = SQLiteStore.write, 0

    def write(self: SQLiteStore, *args: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise error
        return original_write(self, *args, **more)

    monkeypatch.setattr(SQLiteStore, "write", write)
    monkeypatch.setattr(copying, "BATCH_NOTES", 1)
    result = run("copy", str(sample_path), "two.db")
    assert result.exit_code == code
    message = str(error) or "interrupted"
    assert result.stderr == f"error: {message}; 2 of 3 notes are in two.db, and the same command continues from there\n"
    result = run("copy", str(sample_path), "two.db")
    assert "notes 1 added, 2 unchanged" in result.stdout


def test_copy_interrupted_before_the_first_note(run: Run, sample_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "copy_store", interrupt)
    result = run("copy", str(sample_path), "two.db")
    assert result.exit_code == 130
    assert result.stderr == "error: interrupted; nothing was copied yet, and the same command continues from there\n"


def test_copy_interrupted_in_the_middle(tmp_path: Path) -> None:
    with recollect.open("one.db", embedder=None) as memory:
        memory.add_many(f"note {number}" for number in range(3000))
    program = "from recollect.cli import main; from recollect.stores import copying; copying.BATCH_NOTES = 2; main()"
    command = [sys.executable, "-c", program, "copy", "one.db", "two.db"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as child:
        while not (tmp_path / "two.db").exists() and child.poll() is None:
            sleep(0.01)
        sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert child.stderr
        message = child.stderr.read()
    assert child.returncode == 130
    assert "Traceback" not in message
    assert message.splitlines()[-1].startswith("error: interrupted; ")
    assert message.endswith(", and the same command continues from there\n")
    report = recollect.copy("one.db", tmp_path / "two.db")
    assert report.copied.unchanged < 3000
    assert report.verified
    assert report.verified.same
