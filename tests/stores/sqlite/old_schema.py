"""Makes files of the first schema version, for tests of migrations."""

from __future__ import annotations

from pathlib import Path

import apsw

from recollect.stores.sqlite import schema


def copy_to_schema_1(new: Path, old: Path) -> None:
    """Copy the notes of a current store with one namespace to a file of schema 1."""
    raw = apsw.Connection(str(old))
    raw.execute(schema._MIGRATIONS[0])
    raw.pragma("application_id", schema.APPLICATION_ID)
    raw.pragma("user_version", 1)
    raw.create_scalar_function("indexed", lambda *texts: texts[0], 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)
    schema.create_fts5_index(raw, 1)
    raw.execute("ATTACH ? AS new", (str(new),))
    raw.execute("INSERT INTO namespaces SELECT key, name FROM new.namespaces")
    columns = ", ".join(name for (name,) in raw.execute("SELECT name FROM pragma_table_info('notes')"))
    raw.execute(f"INSERT INTO notes ({columns}) SELECT {columns} FROM new.notes")  # noqa: S608 (names of our own)
    raw.execute("INSERT INTO words_1 (words_1) VALUES ('rebuild')")
    raw.close()
