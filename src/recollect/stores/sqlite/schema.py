"""The tables of an SQLite store, and the migrations that create them or update the tables of an older version.

- ``namespaces``, ``documents``, ``notes``, ``links``: the source of truth. ``links.place`` is the position of a link
  among the links of its source note, and ``links.namespace`` is the namespace of that note.
- ``models``, ``vectors``: the embedding models, and one row for each note and model. ``vectors.vector`` concatenates
  the unit vectors of the note's chunks, each with ``dimension`` numbers of type ``precision``. No other vector ever
  gets the same ``vectors.key``, so caches in memory may identify a vector by its key.
- ``titles``, ``titled``, ``mentions``: the distinct titles, the notes that have a title, and the notes whose text
  mentions a title. ``titles.stems`` and ``titles.words`` are the stems and the words of a title, joined by spaces.
  ``mentions.exact`` is 1 if the note contains the title's words, 0 if it has only other words with the same stems.
  ``titles.namers`` is the number of stored mentions of a title. If there were too many, ``titles.common`` is 1, and the
  mentions of the title are not stored.
- ``entities``: the named entities in the metadata of notes.
- ``snapshots``, ``word_changes``: the module :mod:`recollect.stores.sqlite.snapshots` explains these tables.
- ``words_<namespace>``: an FTS5 index. Each namespace has its own index, so that the terms of one tenant never change
  the scores of another. The index stores no texts: SQLite reads them from the view ``words_<namespace>_text``.

``PRAGMA user_version`` is the number of migrations that were applied to a file; ``PRAGMA application_id`` marks the
file as a store. SQLite stores the statements below with their comments in every file, so the comments must not change.
In these comments, words are terms, and the word index is the FTS5 index.
"""

from __future__ import annotations

import re

import apsw

from recollect.errors import StoreDamagedError, StoreVersionError
from recollect.stores.sql.checking import rebuild_entities, rebuild_mentions

APPLICATION_ID = 0x5265636C  # "Recl"

_NOTES = """
CREATE TABLE namespaces (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE documents (
    key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    root TEXT NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    UNIQUE (namespace, root, name)
) STRICT;

CREATE TABLE notes (
    key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    id TEXT NOT NULL,
    path TEXT,
    name TEXT,                     -- what a wikilink calls it: the path's last part, folded, without its suffix
    session TEXT,
    position INTEGER,
    importance REAL NOT NULL,
    created_at INTEGER NOT NULL,   -- microseconds since 1970 in UTC
    updated_at INTEGER NOT NULL,
    last_accessed_at INTEGER,
    document INTEGER REFERENCES documents,
    tags TEXT NOT NULL,            -- one a line
    metadata TEXT NOT NULL,        -- JSON
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX notes_by_id ON notes (namespace, id);
CREATE UNIQUE INDEX notes_by_path ON notes (namespace, path) WHERE path IS NOT NULL;
CREATE INDEX notes_by_name ON notes (namespace, name) WHERE name IS NOT NULL;
CREATE INDEX notes_by_session ON notes (namespace, session, position) WHERE session IS NOT NULL;
CREATE INDEX notes_by_document ON notes (document) WHERE document IS NOT NULL;

CREATE TABLE links (
    source INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE,
    place INTEGER NOT NULL,        -- links keep their order
    kind TEXT NOT NULL,
    target TEXT NOT NULL,          -- an id, a path or a name; the note may come later
    name TEXT NOT NULL,            -- the target as a wikilink would call it
    UNIQUE (source, kind, target)
) STRICT;
CREATE INDEX links_by_target ON links (target);
CREATE INDEX links_by_name ON links (name);

CREATE TABLE models (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    precision TEXT NOT NULL,
    active INTEGER UNIQUE CHECK (active = 1),
    UNIQUE (name, dimension, precision)
) STRICT;

CREATE TABLE vectors (
    key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: what is in memory can trust it
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE,
    model INTEGER NOT NULL REFERENCES models,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    digest BLOB NOT NULL,                   -- of the text that the vector stands for
    vector BLOB NOT NULL                    -- of unit length
) STRICT;
CREATE UNIQUE INDEX vectors_by_note ON vectors (note, model);
CREATE INDEX vectors_by_namespace ON vectors (namespace, model);
"""

_REVISIONS = """
ALTER TABLE namespaces ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;  -- grows when a name or word in it changes
"""

_GRAPH = """
CREATE TABLE titles (
    key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    stems TEXT NOT NULL,           -- as the word index holds its words, with spaces between
    words TEXT NOT NULL,           -- as the text must hold them
    namers INTEGER NOT NULL DEFAULT 0,
    common INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX titles_by_stems ON titles (namespace, stems);

CREATE TABLE titled (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE,
    title INTEGER NOT NULL REFERENCES titles ON DELETE CASCADE,
    PRIMARY KEY (note, title)
) STRICT, WITHOUT ROWID;
CREATE INDEX titled_by_title ON titled (title);
CREATE TRIGGER title_of_no_note AFTER DELETE ON titled BEGIN
    DELETE FROM titles WHERE key = old.title AND NOT EXISTS (SELECT 1 FROM titled WHERE title = old.title);
END;

CREATE TABLE mentions (
    title INTEGER NOT NULL REFERENCES titles ON DELETE CASCADE,
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE,
    exact INTEGER NOT NULL,        -- whether the words stand there, or only others of the same stems
    PRIMARY KEY (title, note)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_note ON mentions (note);
CREATE TRIGGER one_namer_more AFTER INSERT ON mentions BEGIN
    UPDATE titles SET namers = namers + 1 WHERE key = new.title;
END;
CREATE TRIGGER one_namer_less AFTER DELETE ON mentions BEGIN
    UPDATE titles SET namers = namers - 1 WHERE key = old.title;
END;

CREATE TABLE entities (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    name TEXT NOT NULL,
    PRIMARY KEY (note, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX entities_by_name ON entities (namespace, name);

CREATE INDEX links_by_kind ON links (kind);
"""

_EXPIRY = """
ALTER TABLE notes ADD COLUMN expires_at INTEGER;  -- microseconds since 1970 in UTC; most notes stay
CREATE INDEX notes_by_expiry ON notes (expires_at) WHERE expires_at IS NOT NULL;
"""

_NAMESPACED_LINKS = """
ALTER TABLE links ADD COLUMN namespace INTEGER NOT NULL DEFAULT 0;  -- the source's: others' links are not even walked
UPDATE links SET namespace = coalesce((SELECT namespace FROM notes WHERE key = source), 0);
DROP INDEX links_by_target;
DROP INDEX links_by_name;
DROP INDEX links_by_kind;
CREATE INDEX links_by_target ON links (namespace, target);
CREATE INDEX links_by_name ON links (namespace, name);
CREATE INDEX links_by_kind ON links (namespace, kind);
CREATE INDEX notes_by_namespace ON notes (namespace);  -- and by key, the order in which they came
"""

_SNAPSHOTS = """
CREATE TABLE snapshots (           -- files beside this one, which hold what is derived from it
    namespace INTEGER NOT NULL REFERENCES namespaces,
    model INTEGER NOT NULL,        -- whose vectors it has; 0 where it has words
    token TEXT NOT NULL,           -- ends the file's name; empty while the first is made
    revision INTEGER NOT NULL,     -- of the namespace, when it was made
    last INTEGER NOT NULL,         -- the highest key, of a note or of a vector, that it knows
    PRIMARY KEY (namespace, model)
) STRICT, WITHOUT ROWID;
CREATE TABLE word_changes (        -- notes whose words changed or went since; new ones have higher keys
    namespace INTEGER NOT NULL REFERENCES namespaces,
    revision INTEGER NOT NULL,
    note INTEGER NOT NULL,
    PRIMARY KEY (namespace, revision, note)
) STRICT, WITHOUT ROWID;
"""

_MIGRATIONS = (_NOTES, _REVISIONS, _GRAPH, _EXPIRY, _NAMESPACED_LINKS, _SNAPSHOTS)
"""``_MIGRATIONS[n]`` migrates a file from schema version n to n + 1. Never change a migration; append a new one."""
SCHEMA_VERSION = len(_MIGRATIONS)
TABLES = re.findall(r"CREATE TABLE (\w+)", "".join(_MIGRATIONS))  # all tables except the FTS5 indexes


def is_current(connection: apsw.Connection, location: str) -> bool:
    """Return whether a file has the current schema; raise an error if it is not a store or has a newer schema."""
    # One statement reads all three values, because another process may be creating the store.
    version, application_id, has_tables = connection.execute(
        "SELECT user_version, application_id, EXISTS (SELECT 1 FROM sqlite_schema) "
        "FROM pragma_user_version, pragma_application_id"
    ).get
    if application_id != APPLICATION_ID and (version or has_tables):
        raise StoreDamagedError(f"{location} is an SQLite database, but not a Recollect store; choose another file")
    if version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{location} was written by a newer Recollect (its schema is {version}, this one knows {SCHEMA_VERSION}); "
            "upgrade recollect to open it"
        )
    return bool(version == SCHEMA_VERSION)


def migrate(connection: apsw.Connection, location: str) -> None:
    """Migrate a file within the connection's transaction, unless another process has already migrated it."""
    from recollect.stores.sqlite.transaction import SqliteTransaction  # noqa: PLC0415 (a circular import)

    if is_current(connection, location):
        return
    old_version = connection.pragma("user_version")
    for migration in _MIGRATIONS[old_version:]:
        connection.execute(migration)
    if old_version in (1, 2):  # these versions had notes, but no titles, mentions or entities
        transaction = SqliteTransaction(connection)
        for (namespace_id,) in transaction.fetch("SELECT key FROM namespaces"):
            rebuild_mentions(transaction, namespace_id)
            rebuild_entities(transaction, namespace_id)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", SCHEMA_VERSION)


def create_fts5_index(connection: apsw.Connection, namespace_id: int) -> None:
    """Create the empty FTS5 index of a namespace."""
    connection.execute(f"""
        CREATE VIEW words_{namespace_id}_text AS
            SELECT key, indexed(path) AS path, indexed(title) AS title, indexed(summary) AS summary,
                indexed(tags) AS tags, indexed(content) AS content
            FROM notes WHERE namespace = {namespace_id};
        CREATE VIRTUAL TABLE words_{namespace_id} USING fts5 (
            path, title, summary, tags, content,
            content = 'words_{namespace_id}_text', content_rowid = 'key', tokenize = 'porter unicode61'
        );
        -- With secure-delete, FTS5 removes deleted terms at once, not only when it merges segments of the index.
        INSERT INTO words_{namespace_id} (words_{namespace_id}, rank) VALUES ('secure-delete', 1);
    """)  # noqa: S608 (the namespace is a number)


def drop_fts5_index(connection: apsw.Connection, namespace_id: int) -> None:
    """Drop the FTS5 index of a namespace."""
    connection.execute(f"DROP TABLE IF EXISTS words_{namespace_id}; DROP VIEW IF EXISTS words_{namespace_id}_text")


def delete_fts5_schema(connection: apsw.Connection, namespace_id: int) -> None:
    """Delete a corrupt FTS5 index, which SQLite refuses to drop, from the schema table; VACUUM then frees its pages."""
    connection.pragma("writable_schema", value=True)
    connection.execute(  # the index, the tables in which FTS5 stores it, and its view
        "DELETE FROM sqlite_schema WHERE tbl_name = ?1 OR tbl_name IN (SELECT ?1 || value FROM json_each(?2))",
        (f"words_{namespace_id}", '["_data", "_idx", "_docsize", "_config", "_text"]'),
    )
    connection.pragma("writable_schema", "RESET")
