"""The collections of a store: their fields, their indexes, and what is noted about the store itself.

``notes_<n>`` holds the notes with the vectors of one model, whose dimension is fixed when a collection is made: it is a
*generation*. ``records`` holds what else there is: the store's description, namespaces, documents, the journal.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BLANK_DIMENSION",
    "LONGEST_TEXT",
    "MOST_MARKS",
    "NEVER",
    "NOTE_FIELDS",
    "PARTS",
    "RECORDS",
    "SCHEMA_VERSION",
    "UNKNOWN",
    "WHOLE_ROW",
    "notes_index",
    "notes_schema",
    "records_index",
    "records_schema",
]

SCHEMA_VERSION = 1
RECORDS = "records"
LONGEST_TEXT = 65_535
"""How many bytes a text field of a cluster holds."""
MOST_MARKS = 4096
"""How many elements an array of a cluster holds."""
PARTS = 1024
"""How many rows a note can have: the key of a row is that of its note plus its part, which is less than this."""
NEVER = 2**63 - 1
"""When a note expires that does not."""
UNKNOWN = -(2**62)
"""When a note was last accessed of which one does not know."""
BLANK_DIMENSION = 2
"""That of the vectors of a generation which has no model; a collection must have some."""

WHOLE_ROW = (
    "key",
    "namespace",
    "note",
    "part",
    "parts",
    "id",
    "path_hash",
    "path",
    "session",
    "document",
    "links",
    "created",
    "updated",
    "accessed",
    "expires",
    "marks",
    "tokens",
    "whole",
    "words",
    "header",
    "body",
    "digest",
    "piece",
    "vector",
)
"""Every field of a row of notes that is written; ``sparse`` is made by the BM25 function."""

NOTE_FIELDS = ("note", "namespace", "part", "parts", "accessed", "body")
"""The fields that a note is made of."""

_SEARCHED = ("note", "id", "path_hash", "document", "expires")
"""The fields that rows are looked up by: a cluster has an index for each; lite reads all rows whatever there is."""


def notes_schema(dimension: int, *, lite: bool) -> Any:
    """Return the schema of a generation whose vectors have so many numbers."""
    from pymilvus import DataType, Function, FunctionType, MilvusClient  # noqa: PLC0415 (takes a second)

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field("namespace", DataType.INT64, is_partition_key=True)
    for name in (
        "note",
        "part",
        "parts",
        "id",
        "path_hash",
        "session",
        "document",
        "links",
        "created",
        "updated",
        "accessed",
        "expires",
        "tokens",
        "piece",
    ):
        schema.add_field(name, DataType.INT64)
    schema.add_field("whole", DataType.BOOL)
    schema.add_field("marks", DataType.ARRAY, element_type=DataType.INT64, max_capacity=MOST_MARKS)
    for name in ("path", "header", "body", "digest"):
        schema.add_field(name, DataType.VARCHAR, max_length=LONGEST_TEXT)
    schema.add_field(
        "words",
        DataType.VARCHAR,
        max_length=LONGEST_TEXT,
        enable_analyzer=True,
        enable_match=True,
        # What is written are stems with spaces between. Lite has no tokenizer that only looks for those.
        analyzer_params={"tokenizer": "standard" if lite else "whitespace"},
    )
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    schema.add_function(
        Function(
            name="bm25", function_type=FunctionType.BM25, input_field_names=["words"], output_field_names=["sparse"]
        )
    )
    return schema


def notes_index(*, lite: bool) -> Any:
    """Return the indexes of a generation: BM25 with the constants of FTS5, and every vector compared."""
    from pymilvus import MilvusClient  # noqa: PLC0415 (takes a second)

    index = MilvusClient.prepare_index_params()
    constants = {"bm25_k1": 1.2, "bm25_b": 0.75}
    index.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=constants)
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    if not lite:
        for name in _SEARCHED:
            index.add_index(name, index_type="INVERTED")
    return index


def records_schema() -> Any:
    """Return the schema of the records; their vector says nothing, but a collection must have one."""
    from pymilvus import DataType, MilvusClient  # noqa: PLC0415 (takes a second)

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("key", DataType.VARCHAR, max_length=128, is_primary=True)
    schema.add_field("kind", DataType.VARCHAR, max_length=16)
    schema.add_field("owner", DataType.INT64)
    schema.add_field("body", DataType.VARCHAR, max_length=LONGEST_TEXT)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=BLANK_DIMENSION)
    return schema


def records_index() -> Any:
    """Return the index of the records."""
    from pymilvus import MilvusClient  # noqa: PLC0415 (takes a second)

    index = MilvusClient.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    return index
