"""Nothing that holds a secret is stored: not by any way into a memory, and in no field."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import ArgumentError, Memory, RecollectWarning, SecretFoundError
from tests.secrets.samples import card_number, key_block, random_text

TOKEN = "gh" + "p_" + random_text(36)
MARK = "«redacted: GitHub token»"
ADVICE = 'remove it, or open the memory with secrets="redact"'

FIELDS: dict[str, tuple[dict[str, Any], Callable[[recollect.Note], Any], Any]] = {
    "content": ({"content": f"Use {TOKEN}."}, lambda note: note.content, f"Use {MARK}."),
    "title": ({"title": TOKEN}, lambda note: note.title, MARK),
    "summary": ({"summary": TOKEN}, lambda note: note.summary, MARK),
    "session": ({"session": TOKEN}, lambda note: note.session, MARK),
    "tags[1]": ({"tags": ["a", TOKEN]}, lambda note: note.tags, ("a", MARK)),
    "links[0].target": ({"links": [("related", TOKEN)]}, lambda note: note.links, (("related", MARK),)),
    "links[0].kind": ({"links": [(TOKEN, "a.md")]}, lambda note: note.links, ((MARK, "a.md"),)),
    "metadata.a[1].b": (
        {"metadata": {"a": [1, {"b": TOKEN, "c": None, "d": True, "e": 0.5}]}},
        lambda note: note.metadata,
        {"a": [1, {"b": MARK, "c": None, "d": True, "e": 0.5}]},
    ),
    "metadata": ({"metadata": {TOKEN: 1}}, lambda note: note.metadata, {MARK: 1}),
}


def embed(texts: Sequence[str]) -> list[list[float]]:
    assert not any(TOKEN in text for text in texts)
    return [[1.0, 2.0]] * len(texts)


@pytest.fixture
def refusing_memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=embed, secrets="refuse") as memory:
        yield memory


@pytest.fixture
def redacting_memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=embed, secrets="redact") as memory:
        yield memory


def stored_text(memory: Memory) -> str:
    """Return all that the file and its log hold."""
    path = Path(memory.stats().store.location)
    return "".join(item.read_bytes().decode("latin-1") for item in path.parent.glob(f"{path.name}*"))


class TestRefusing:
    @pytest.mark.parametrize("name", FIELDS)
    def test_add_every_field(self, refusing_memory: Memory, name: str) -> None:
        fields = {"content": "Tea.", **FIELDS[name][0]}
        with pytest.raises(SecretFoundError) as caught:
            refusing_memory.add(**fields)
        assert str(caught.value) == f"{name}: contains a secret (GitHub token); {ADVICE}"
        assert TOKEN not in repr(caught.value)
        assert list(refusing_memory.notes()) == []
        assert TOKEN not in stored_text(refusing_memory)

    @pytest.mark.parametrize("name", ["id", "path"])
    @pytest.mark.parametrize("mode", ["refuse", "redact"])
    def test_secrets_in_identifiers_are_refused(self, tmp_path: Path, name: str, mode: Any) -> None:
        fields: dict[str, Any] = {name: f"a/{TOKEN}"}
        with recollect.open(tmp_path / "memory.db", embedder=None, secrets=mode) as memory:
            with pytest.raises(
                SecretFoundError, match=rf"^{name}: contains a secret \(GitHub token\); choose another name$"
            ):
                memory.add("Tea.", **fields)
            for link in (("a", TOKEN, "related"), ("a", "b", TOKEN)):
                with pytest.raises(SecretFoundError, match=r"^(target|kind): contains a secret"):
                    memory.link(link[0], link[1], kind=link[2])

    @pytest.mark.parametrize("mode", ["refuse", "redact"])
    def test_secrets_in_keys_are_not_repeated(self, tmp_path: Path, mode: Any) -> None:
        (tmp_path / "tea.md").write_text("Tea.")
        text_shown = (
            r"^(line 1: )?(notes\[0\]\.)?{}: contains a secret \(GitHub token\); choose another name(; no .*)?$"
        )
        with recollect.open(tmp_path / "memory.db", embedder=None, secrets=mode) as memory:
            for key in (TOKEN, ["tea.md", TOKEN]):
                with pytest.raises(SecretFoundError, match=text_shown.format("supersedes")):
                    memory.add("Tea.", supersedes=key)
            calls: list[Callable[[], Any]] = [
                lambda: memory.add("Tea.", namespace=TOKEN),
                lambda: memory.add("Tea.", namespace=TOKEN, supersedes="tea.md"),
                lambda: memory.add_many(["Tea."], namespace=TOKEN),
                lambda: memory.load([json.dumps({"content": "Tea.", "namespace": TOKEN})]),
                lambda: memory.ingest(tmp_path / "tea.md", namespace=TOKEN),
                lambda: memory.ingest_texts({"tea.md": "Tea."}, namespace=TOKEN),
            ]
            for call in calls:
                with pytest.raises(SecretFoundError, match=text_shown.format("namespace")):
                    call()
            assert TOKEN not in stored_text(memory)

    def test_add_many_names_the_draft_with_a_secret(self, refusing_memory: Memory) -> None:
        with pytest.raises(SecretFoundError, match=r"^notes\[2\]\.title: contains a secret"):
            refusing_memory.add_many(["one", "two", {"content": "three", "title": TOKEN}, "four"])
        assert list(refusing_memory.notes()) == []
        with pytest.raises(SecretFoundError, match=r"^notes\[140\]\.content: contains a secret"):
            refusing_memory.add_many(["tea"] * 140 + [TOKEN])
        assert len(list(refusing_memory.notes())) == 128

    def test_update_can_be_refused(self, refusing_memory: Memory) -> None:
        note = refusing_memory.add("Tea.", title="Tea")
        with pytest.raises(SecretFoundError, match="^content: contains a secret"):
            refusing_memory.update(note, content=TOKEN)
        assert refusing_memory.update(note, title="x").content == "Tea."

    def test_line_check(self, refusing_memory: Memory) -> None:
        lines = [json.dumps({"content": "tea"}), json.dumps({"content": "tea", "summary": TOKEN})]
        with pytest.raises(
            SecretFoundError,
            match=r"^line 2: summary: contains a secret \(GitHub token\).*; 1 note before it is stored",
        ):
            refusing_memory.load(lines)
        assert [note.content for note in refusing_memory.notes()] == ["tea"]

    def test_ingest_skips_file_with_secret(self, refusing_memory: Memory, tmp_path: Path) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "tea.md").write_text("Tea.")
        (vault / "token.md").write_text(f"First.\n\n{TOKEN}")
        (vault / "key.txt").write_text(key_block("RSA PRIVATE KEY"))
        (vault / f"{TOKEN}.md").write_text("Named.")
        report = refusing_memory.ingest(vault)
        assert (report.files_read, report.notes_added) == (1, 1)
        text_shown = [(problem.name, problem.message, problem.skipped) for problem in report.problems]
        assert text_shown == [
            ("key.txt", f"text: contains a secret (private key); {ADVICE}", True),
            (f"{TOKEN}.md", "file name: contains a secret (GitHub token); choose another name", True),
            ("token.md", f"note 1: content: contains a secret (GitHub token); {ADVICE}", True),
        ]
        assert TOKEN not in stored_text(refusing_memory)

    def test_secret_found_error_can_be_pickled(self) -> None:
        error = pickle.loads(pickle.dumps(SecretFoundError("content", "contains a secret")))  # noqa: S301 (our own)
        assert isinstance(error, ArgumentError)
        assert str(error) == "content: contains a secret"


class TestRedacting:
    @pytest.mark.parametrize("name", FIELDS)
    def test_add_every_field(self, redacting_memory: Memory, name: str) -> None:
        given, read, expected = FIELDS[name]
        text_shown = r"^one secret was redacted before the notes were stored: 1 × GitHub token$"
        with pytest.warns(RecollectWarning, match=text_shown) as caught:
            note = redacting_memory.add(**{"content": "Tea.", **given})
        assert [Path(item.filename).name for item in caught] == ["test_filter.py"]
        assert read(note) == expected
        assert redacting_memory.get(note.id) == note
        assert TOKEN not in stored_text(redacting_memory)

    def test_redactions_are_one_warning(self, redacting_memory: Memory) -> None:
        number = card_number("4", 16)
        texts = [f"{TOKEN} and {TOKEN}", "tea", *["tea"] * 80, f"card {number}"]
        text_shown = r"^3 secrets were redacted before the notes were stored: 2 × GitHub token, 1 × card number$"
        with pytest.warns(RecollectWarning, match=text_shown) as caught:
            notes = redacting_memory.add_many(texts)
        assert len(caught) == 1
        assert notes[0].content == f"{MARK} and {MARK}"
        assert notes[-1].content == "card «redacted: card number»"

    def test_metadata_key_marks_value_as_secret(self, redacting_memory: Memory) -> None:
        password, number = random_text(9) + "7xQ", int(card_number("4", 16))
        metadata = {"db": {"password": password, "host": password}, "card": number, "apiKeys": ["a"], "big": 10**30}
        with pytest.warns(RecollectWarning, match="1 × card number, 1 × password$"):
            note = redacting_memory.add("Tea.", metadata=metadata)
        assert note.metadata == {
            "db": {"password": "«redacted: password»", "host": password},
            "card": "«redacted: card number»",
            "apiKeys": ["a"],
            "big": 10**30,
        }
        with pytest.warns(RecollectWarning, match="1 × GitHub token$"):
            assert redacting_memory.add("Tea.", metadata={"token": TOKEN}).metadata == {"token": MARK}

    def test_redaction_merges_equal_tags_and_links(self, redacting_memory: Memory) -> None:
        other = "gh" + "p_" + random_text(36)
        with pytest.warns(RecollectWarning, match="4 × GitHub token"):
            note = redacting_memory.add("Tea.", tags=[TOKEN, other], links=[TOKEN, other])
        assert (note.tags, note.links) == ((MARK,), (("related", MARK),))

    def test_vector_of_redacted_text_is_dropped(self, redacting_memory: Memory) -> None:
        with pytest.warns(RecollectWarning):
            redacting_memory.add(f"x {TOKEN}", id="a", vector=[5.0, 0.0])
        redacting_memory.add("y", id="b", vector=[5.0, 0.0], tags=["t"])
        with pytest.warns(RecollectWarning):
            redacting_memory.add("z", id="c", vector=[5.0, 0.0], tags=[TOKEN])
        results = redacting_memory.search("q", mode="semantic", vector=[5.0, 0.0])
        assert [(hit.id, round(hit.candidate.vector_similarity or 0, 2)) for hit in results] == [
            ("b", 1.0),
            ("c", 1.0),
            ("a", 0.45),
        ]

    def test_update_can_be_refused(self, redacting_memory: Memory) -> None:
        note = redacting_memory.add("Tea.")
        with pytest.warns(RecollectWarning, match="1 × GitHub token"):
            assert redacting_memory.update(note, content=TOKEN).content == MARK

    def test_load_lines_of_another_memory(self, redacting_memory: Memory, tmp_path: Path) -> None:
        with recollect.open(tmp_path / "other.db", embedder=lambda texts: [[3.0, 4.0]] * len(texts)) as other:
            other.add_many(["tea", f"x {TOKEN}", "milk"])
            lines = list(other.export())
        lines = [
            line.replace('"model": "<lambda>"', f'"model": "{redacting_memory.stats().embedder}"') for line in lines
        ]
        with pytest.warns(RecollectWarning, match="1 × GitHub token"):
            assert redacting_memory.load(lines) == 3
        assert [note.content for note in redacting_memory.notes()] == ["tea", f"x {MARK}", "milk"]
        assert redacting_memory.stats().unembedded == 0
        assert TOKEN not in stored_text(redacting_memory)

    def test_front_matter_is_redacted(self, redacting_memory: Memory, tmp_path: Path) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "a.md").write_text(
            "---\npassword: [k3J9x2m4Pq71, Zt7vB4nW8sLq]\ndb_password: hT5rX9wQ2mKz\n---\n# A\n\nTea."
        )
        with pytest.warns(RecollectWarning):
            redacting_memory.ingest(vault)
        stored = json.dumps(redacting_memory.get("a.md").to_dict())  # type: ignore[union-attr]
        assert not any(secret in stored for secret in ("k3J9x2m4Pq71", "Zt7vB4nW8sLq", "hT5rX9wQ2mKz"))

    def test_files_are_redacted_before_chunking(self, redacting_memory: Memory, tmp_path: Path) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        block = key_block("RSA PRIVATE KEY")
        (vault / "key.md").write_text(f"---\ntoken: {TOKEN}\n---\n" + "Tea. " * 150 + f"\n\n{block * 3}\n\nMore.")
        (vault / "list.jsonl").write_text(json.dumps({"content": TOKEN, "key": block}))
        with pytest.warns(RecollectWarning) as caught:
            report = redacting_memory.ingest(vault)
        (text_shown,) = {str(item.message) for item in caught}
        assert text_shown.endswith(
            "stored: 3 × GitHub token, 4 × private key"
        )  # of the front matter, text and metadata
        assert report.problems == ()
        current = stored_text(redacting_memory)
        assert not any(line in current for line in (TOKEN, *block.splitlines()[1:-1]))

    def test_retried_write_counts_redactions_once(self, redacting_memory: Memory, tmp_path: Path) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        redacting_memory.add("Another.", path="b.md")
        (vault / "a.md").write_text(TOKEN)
        (vault / "b.md").write_text("Tea.")
        with pytest.warns(
            RecollectWarning, match="^one secret was redacted before the notes were stored: 1 × GitHub token$"
        ):
            report = redacting_memory.ingest(vault)
        assert [problem.name for problem in report.problems] == ["b.md"]

    def test_error_suppresses_redaction_warning(self, redacting_memory: Memory) -> None:
        with pytest.raises(ArgumentError, match="^expires_at"):
            redacting_memory.add(TOKEN, expires_at="2020-01-01")


class TestSecretsNone:
    def test_secrets_none_stores_everything(self, tmp_path: Path) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "token.md").write_text(TOKEN)
        with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
            assert memory.add(TOKEN, path=TOKEN).content == TOKEN
            assert memory.load([json.dumps({"content": TOKEN})]) == 1
            assert memory.ingest(vault).notes_added == 1
            assert memory.link(TOKEN, TOKEN)

    def test_invalid_secrets_mode_creates_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ArgumentError, match="^secrets: must be one of refuse, redact, got 'hide'"):
            recollect.open(tmp_path / "memory.db", secrets="hide")  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []
