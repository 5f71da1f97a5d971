"""The offer to download the embedding model of a new memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import recollect
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.weights import download, find_weights, models_folder
from tests.cli.conftest import Run
from tests.inference.hub import Failures, HubServer, local_hub, use_only_embedder, write_embedder

QUESTION = "Download the embedding model tiny (1 MB)? Without it, the static model is used, which finds less. [Y/n]: "
ADD = ("add", "green tea", "--embedder", "auto")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with local_hub(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def entry(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogueEntry:
    """Put a tiny model on the hub, as the only model of the catalogue."""
    entry = write_embedder(tmp_path / "upstream")
    hub.add_folder(tmp_path / "upstream")
    use_only_embedder(monkeypatch, entry)
    return entry


@pytest.fixture
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)


def stored_vectors() -> Mapping[str, int]:
    with recollect.open("recollect.db", embedder=None) as memory:
        return memory.stats().store.vectors


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("answer", ["\n", "y\n"])
def test_accepted_download_is_used_at_once(run: Run, entry: CatalogueEntry, answer: str) -> None:
    result = run(*ADD, input=answer)
    assert result.exit_code == 0, result.output
    assert QUESTION in result.stderr
    assert QUESTION not in result.stdout
    assert find_weights(entry)
    assert stored_vectors() == {"tiny/float32": 1}
    assert QUESTION not in run(*ADD).stderr


@pytest.mark.usefixtures("_terminal")
def test_refused_download_is_not_offered_again(run: Run, entry: CatalogueEntry) -> None:
    result = run(*ADD, "--db", "first.db", input="n\n")
    assert result.exit_code == 0
    assert "it is not downloaded; recollect models download tiny downloads it later\n" in result.stderr
    assert QUESTION not in run(*ADD, "--db", "second.db").stderr
    assert find_weights(entry) is None
    assert run("models", "download").exit_code == 0
    run("models", "remove", "tiny")
    assert QUESTION in run(*ADD, "--db", "third.db", input="n\n").stderr


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(
    ("failures", "reason"),
    [
        (Failures(status=500), "tiny cannot be downloaded: the hub answered 500; try again later"),
        (Failures(content=bytes(10**6)), "is not the expected one, so nothing was installed"),
        (Failures(break_after=0), "the hub cannot be reached, or the connection was lost"),
    ],
)
def test_failed_download_is_one_line(
    run: Run, hub: HubServer, entry: CatalogueEntry, failures: Failures, reason: str
) -> None:
    hub.failures = failures
    result = run(*ADD, input="y\n")
    assert result.exit_code == 0
    (warning,) = [line for line in result.stderr.splitlines() if "warning: " in line]
    assert reason in warning
    assert warning.endswith("; the static model is used")
    assert find_weights(entry) is None
    assert list(stored_vectors().values()) == [1]


@pytest.mark.usefixtures("_terminal")
def test_interrupt_at_the_question(run: Run, entry: CatalogueEntry) -> None:
    result = run(*ADD, input="")  # the end of the input counts as Ctrl-C
    assert result.exit_code == 130
    assert find_weights(entry) is None
    with recollect.open("recollect.db", embedder=None) as memory:
        assert memory.count() == 0


@pytest.mark.usefixtures("entry", "_terminal")
@pytest.mark.parametrize("options", [["--quiet"], ["--json"], ["--embedder", "static"]])
def test_no_question_with_options(run: Run, options: list[str]) -> None:
    assert QUESTION not in run(*ADD, *options).stderr


@pytest.mark.usefixtures("entry", "_terminal")
def test_no_question_offline(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert QUESTION not in run(*ADD).stderr


@pytest.mark.usefixtures("entry")
def test_no_question_without_a_terminal(run: Run, hub: HubServer) -> None:
    result = run(*ADD)
    assert (result.exit_code, result.stderr, hub.requests) == (0, "", [])


@pytest.mark.usefixtures("_terminal")
def test_no_question_for_memories_with_vectors(run: Run, entry: CatalogueEntry) -> None:
    run(*ADD, "--quiet")
    assert QUESTION not in run(*ADD).stderr
    download(entry)
    assert QUESTION not in run(*ADD, "--db", "other.db").stderr


@pytest.mark.usefixtures("entry", "_terminal")
def test_refusal_that_cannot_be_stored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert run(*ADD, input="n\n").exit_code == 0


@pytest.mark.usefixtures("entry", "_terminal")
def test_no_question_without_a_cache_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home folder")

    monkeypatch.setattr("recollect.inference.weights.cache_folder", no_home)
    assert QUESTION not in run(*ADD).stderr
    assert run("models", "download").exit_code == 1


@pytest.mark.usefixtures("entry")
def test_remove_a_symbolic_link(run: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "model.onnx").touch()
    models_folder().mkdir(parents=True)
    (models_folder() / "tiny").symlink_to(tmp_path / "elsewhere")
    result = run("models", "remove", "tiny")
    assert result.stdout == "removed the symbolic link of tiny; the files to which it led are unchanged\n"
    assert not (models_folder() / "tiny").is_symlink()
    assert (tmp_path / "elsewhere" / "model.onnx").exists()
    (models_folder() / "tiny").symlink_to(tmp_path / "nowhere")
    assert run("models", "remove", "tiny").exit_code == 0
