from __future__ import annotations

import copy
import pickle

from recollect.model.metadata import NO_METADATA, StoredMetadata, stored_metadata


def test_stored_metadata_is_decoded_when_it_is_first_read() -> None:
    broken = StoredMetadata("{no JSON")
    assert broken  # nothing was read so far
    metadata = StoredMetadata('{"a": [1, {"b": null}], "c": "d"}')
    assert metadata._values is None
    assert metadata["a"] == [1, {"b": None}]
    assert metadata._values is not None
    assert (list(metadata), len(metadata)) == (["a", "c"], 2)


def test_stored_metadata_equals_a_dictionary() -> None:
    metadata = StoredMetadata('{"a": 1}')
    assert metadata == {"a": 1}
    assert metadata != {"a": 2}
    assert repr(metadata) == "{'a': 1}"


def test_a_note_without_metadata() -> None:
    assert stored_metadata("{}") is NO_METADATA
    assert not NO_METADATA
    assert (dict(NO_METADATA), NO_METADATA.get("a")) == ({}, None)


def test_stored_metadata_can_be_copied_and_pickled() -> None:
    for read_before in (False, True):
        metadata = StoredMetadata('{"a": [1]}')
        assert not read_before or metadata["a"]
        assert copy.deepcopy(metadata) == {"a": [1]}
        assert pickle.loads(pickle.dumps(metadata)) == {"a": [1]}  # noqa: S301 (written here)


def test_metadata_nested_deeper_than_the_stack_is_read() -> None:
    metadata = StoredMetadata('{"a": ' + "[" * 900 + "]" * 900 + "}")
    assert list(metadata) == ["a"]
