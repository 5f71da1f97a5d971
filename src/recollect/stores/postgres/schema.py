"""The tables of a store in PostgreSQL, and the functions that create and migrate them.

All tables are in the schema ``recollect``. Its table ``schema_version`` has the number of applied migrations. A process
that opens a store applies the missing migrations in one transaction, under an advisory lock.

*Names.* Tables and columns keep the names of the first version: a ``mark`` is a lookup hash, ``living`` is the view of
the notes that have not expired, a link's ``place`` is its position in the note, a vector's ``piece`` is the number of
its chunk, a title's ``namers`` is the number of its mentions, and ``wall`` is the row-level security policy.

*Row-level security.* The policy restricts every query to the namespaces that the transaction set at its start. The
tables ``words`` and ``names`` have no policy: under a policy, PostgreSQL would not use their indexes, because the
operators ``@@`` and ``%`` are not leakproof. Queries take only note keys from these two tables, and join ``notes``,
which has the policy. Each lexeme in ``words`` starts with the key of its namespace.

*Text* is compared byte by byte (``COLLATE "C"``), as in SQLite and Python. A text that queries look up by equality has
a 16-byte hash in a second column (``…_mark``), because an id or a path may be too long for an index row. The hash is
stored in a column, because under the policy PostgreSQL would not use an index on an expression.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from psycopg import Connection, errors

from recollect.errors import RecollectWarning, StoreDamagedError, StoreError, StoreVersionError

_NOTES = """
CREATE FUNCTION mark(whole text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN substr(sha256(convert_to(whole, 'UTF8')), 1, 16);

CREATE TABLE namespaces (
    key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    mark bytea NOT NULL GENERATED ALWAYS AS (mark(name)) STORED UNIQUE,
    revision bigint NOT NULL DEFAULT 0,  -- grows when a term or a name of a note changes
    notes bigint NOT NULL DEFAULT 0,     -- the number of indexed notes, for BM25
    tokens bigint NOT NULL DEFAULT 0     -- the number of tokens of these notes, for BM25
);

CREATE TABLE documents (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace int NOT NULL REFERENCES namespaces,
    root text COLLATE "C" NOT NULL,      -- the ingested folder
    name text COLLATE "C" NOT NULL,      -- the path of the file below the root
    fingerprint text COLLATE "C" NOT NULL,  -- changes whenever the file changes
    root_mark bytea NOT NULL GENERATED ALWAYS AS (mark(root)) STORED,
    name_mark bytea NOT NULL GENERATED ALWAYS AS (mark(name)) STORED,
    UNIQUE (namespace, root_mark, name_mark)
);

CREATE SEQUENCE notes_key;

CREATE TABLE notes (
    key bigint PRIMARY KEY DEFAULT nextval('notes_key'),
    namespace int NOT NULL REFERENCES namespaces,
    id text COLLATE "C" NOT NULL,
    path text COLLATE "C",
    name text COLLATE "C",               -- the target of a wikilink: end of the path, case-folded, without .md
    session text COLLATE "C",
    position bigint,                     -- of the note in its session
    importance double precision NOT NULL,
    created_at bigint NOT NULL,          -- microseconds since 1970 in UTC
    updated_at bigint NOT NULL,
    last_accessed_at bigint,
    expires_at bigint,
    document bigint REFERENCES documents,
    tags text COLLATE "C" NOT NULL,      -- one tag in each line
    metadata text COLLATE "C" NOT NULL,  -- JSON, verbatim; jsonb would change its numbers
    facts jsonb NOT NULL DEFAULT '{}',   -- metadata values as texts, which filters compare
    title text COLLATE "C" NOT NULL,
    summary text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    id_mark bytea NOT NULL GENERATED ALWAYS AS (mark(id)) STORED,
    path_mark bytea GENERATED ALWAYS AS (mark(path)) STORED,
    name_mark bytea GENERATED ALWAYS AS (mark(name)) STORED,
    session_mark bytea GENERATED ALWAYS AS (mark(session)) STORED
);
ALTER SEQUENCE notes_key OWNED BY notes.key;
CREATE UNIQUE INDEX notes_by_id ON notes (namespace, id_mark);
CREATE UNIQUE INDEX notes_by_path ON notes (namespace, path_mark) WHERE path_mark IS NOT NULL;
CREATE INDEX notes_by_name ON notes (namespace, name_mark) WHERE name_mark IS NOT NULL;
CREATE INDEX notes_by_session ON notes (namespace, session_mark, position) WHERE session_mark IS NOT NULL;
CREATE INDEX notes_by_document ON notes (document) WHERE document IS NOT NULL;
CREATE INDEX notes_by_namespace ON notes (namespace, key);  -- in order of insertion
CREATE INDEX notes_by_expiry ON notes (expires_at) WHERE expires_at IS NOT NULL;

CREATE VIEW living WITH (security_invoker) AS
    SELECT * FROM notes
    WHERE expires_at IS NULL OR expires_at > (SELECT current_setting('recollect.now')::bigint);

CREATE TABLE links (
    source bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    namespace int NOT NULL REFERENCES namespaces,
    place int NOT NULL,                  -- orders the links of a note; numbers may be missing
    kind text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,    -- an id, a path or a name; the note need not exist yet
    kind_mark bytea NOT NULL GENERATED ALWAYS AS (mark(kind)) STORED,
    target_mark bytea NOT NULL GENERATED ALWAYS AS (mark(target)) STORED,
    name_mark bytea NOT NULL,            -- the hash of the target, read as the name of a wikilink
    PRIMARY KEY (source, place)
);
CREATE INDEX links_by_target ON links (namespace, target_mark);
CREATE INDEX links_by_name ON links (namespace, name_mark);
CREATE INDEX links_by_kind ON links (namespace, kind_mark);
"""

_LEXICAL = """
CREATE TABLE words (                     -- the terms of notes, for phrases and excluded terms
    note bigint PRIMARY KEY REFERENCES notes ON DELETE CASCADE,
    words tsvector NOT NULL,             -- a lexeme is the key of the namespace, a separator and a term
    whole boolean NOT NULL               -- whether the tsvector has all terms of the note with all positions
);
CREATE INDEX words_by_word ON words USING gin (words) WITH (fastupdate = off);
CREATE INDEX words_not_whole ON words (note) WHERE NOT whole;

CREATE TABLE postings (                  -- posting lists in blocks; postings.py describes the format
    namespace int NOT NULL REFERENCES namespaces,
    term text COLLATE "C" NOT NULL,
    block bigint NOT NULL,               -- a lower bound of the note keys in the block
    count int NOT NULL,                  -- the number of postings in the block
    list bytea NOT NULL,                 -- the postings: note, weight of the term, length of the note
    PRIMARY KEY (namespace, term, block)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE postings ALTER list SET STORAGE PLAIN;

CREATE TABLE names (                     -- paths and titles of notes, for queries with a misspelt name
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    namespace int NOT NULL REFERENCES namespaces,
    name text COLLATE "C" NOT NULL,
    plain boolean NOT NULL               -- whether pg_trgm can preselect the name; see names.py
);
CREATE INDEX names_by_note ON names (note);
CREATE INDEX names_by_trigram ON names USING gin (name gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX names_not_plain ON names (namespace) WHERE NOT plain;
"""

_VECTORS = """
CREATE TABLE models (
    key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    dimension int NOT NULL,
    precision text COLLATE "C" NOT NULL, -- float32 or float16
    active boolean NOT NULL DEFAULT false,  -- whether vector search uses this model
    UNIQUE (name, dimension, precision)
);
CREATE UNIQUE INDEX models_active ON models (active) WHERE active;

CREATE TABLE vectors (
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    model int NOT NULL REFERENCES models,
    piece int NOT NULL,                  -- the number of the chunk, from 0
    namespace int NOT NULL REFERENCES namespaces,
    digest bytea NOT NULL,               -- the digest of the embedded text
    vector bytea NOT NULL,               -- a vector of unit length, in the precision of the model
    near halfvec,                        -- the same vector in half precision, for the index
    PRIMARY KEY (note, model, piece)
);
ALTER TABLE vectors ALTER vector SET STORAGE EXTERNAL;  -- numbers do not compress
CREATE INDEX vectors_by_namespace ON vectors (namespace, model);
"""

_GRAPH = """
CREATE TABLE titles (                    -- distinct titles, which the texts of other notes may mention
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace int NOT NULL REFERENCES namespaces,
    stems text COLLATE "C" NOT NULL,     -- the stems of the title, separated by spaces
    words text COLLATE "C" NOT NULL,     -- the words of the title, not stemmed
    namers bigint NOT NULL DEFAULT 0,    -- how many notes mention the title
    common boolean NOT NULL DEFAULT false  -- whether so many notes mention the title that it makes no edges
);
CREATE INDEX titles_by_stems ON titles (namespace, stems);

CREATE TABLE titled (                    -- which notes have a title
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    title bigint NOT NULL REFERENCES titles ON DELETE CASCADE,
    PRIMARY KEY (note, title)
);
CREATE INDEX titled_by_title ON titled (title);

CREATE TABLE mentions (                  -- which notes mention a title in their text
    title bigint NOT NULL REFERENCES titles ON DELETE CASCADE,
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    exact boolean NOT NULL,              -- whether the text has the words of the title, not only its stems
    PRIMARY KEY (title, note)
);
CREATE INDEX mentions_by_note ON mentions (note);

CREATE FUNCTION drop_titles_of_no_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM recollect.titles AS t USING (SELECT DISTINCT title FROM gone) AS g
    WHERE t.key = g.title AND NOT EXISTS (SELECT 1 FROM recollect.titled WHERE title = t.key);
    RETURN NULL;
END $$;
CREATE TRIGGER title_of_no_note AFTER DELETE ON titled REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION drop_titles_of_no_note();

CREATE FUNCTION count_namers_more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE recollect.titles AS t SET namers = t.namers + a.number
    FROM (SELECT title, count(*) AS number FROM added GROUP BY title) AS a WHERE t.key = a.title;
    RETURN NULL;
END $$;
CREATE TRIGGER namers_more AFTER INSERT ON mentions REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_namers_more();

CREATE FUNCTION count_namers_less() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE recollect.titles AS t SET namers = t.namers - g.number
    FROM (SELECT title, count(*) AS number FROM gone GROUP BY title) AS g WHERE t.key = g.title;
    RETURN NULL;
END $$;
CREATE TRIGGER namers_less AFTER DELETE ON mentions REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION count_namers_less();

CREATE TABLE entities (                  -- the entities that the metadata of notes list
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    namespace int NOT NULL REFERENCES namespaces,
    name_mark bytea NOT NULL,            -- the hash of the name; the name itself is only in the metadata
    PRIMARY KEY (note, name_mark)
);
CREATE INDEX entities_by_name ON entities (namespace, name_mark);
"""

ISOLATED_TABLES = ("documents", "notes", "links", "postings", "vectors", "titles", "entities")
"""The tables with a row-level security policy."""

TABLES = (*ISOLATED_TABLES, "namespaces", "words", "names", "models", "titled", "mentions")  # all but schema_version

# The policy reads the setting in sub-selects, so that PostgreSQL reads it once for each statement, not for each row.
# The setting ``*`` makes all rows visible; if it is empty or missing, no row is visible.
_POLICIES = "".join(
    f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY wall ON {table} USING (
    namespace = ANY ((
        SELECT string_to_array(nullif(nullif(current_setting('recollect.namespaces', true), ''), '*'), ',')
    )::int[])
    OR (SELECT current_setting('recollect.namespaces', true)) = '*'
);
"""
    for table in ISOLATED_TABLES
)

_MIGRATIONS = (_NOTES + _LEXICAL + _VECTORS + _GRAPH + _POLICIES,)
"""Migration n migrates a store from version n to n + 1. Never change a migration, only append new ones."""

SCHEMA_VERSION = len(_MIGRATIONS)

_MIN_SERVER_VERSION = 150000  # PostgreSQL 15, the first with security_invoker views
_MIN_PGVECTOR_VERSION = (0, 7)  # the first with halfvec
_MIGRATION_LOCK = (0x5265636C, 0)  # the two keys of an advisory lock: "Recl" in ASCII, and the number of the lock
# The required extensions, each with the package that installs it.
_EXTENSION_PACKAGES = {"vector": "pgvector", "pg_trgm": "PostgreSQL's contrib modules"}


def prepare(connection: Connection, location: str, *, read_only: bool = False) -> str:
    """Check the server, create or migrate the tables if necessary, and return the ``search_path`` of transactions."""
    if connection.info.server_version < _MIN_SERVER_VERSION:
        raise StoreError(
            f"{location} runs PostgreSQL {connection.info.server_version // 10000}; version 15 or newer is needed"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"{location} has the encoding {encoding}; create the database with ENCODING 'UTF8'")
    version = _stored_version(connection, location)
    require_version((version,), location)
    if version < SCHEMA_VERSION:
        if read_only and version == 0:
            raise StoreError(f"there is no memory at {location}; add a note to create one, or choose another database")
        if read_only:
            raise StoreError(
                f"{location} has an older schema; open it for writing once, for example by 'recollect reindex'"
            )
        _migrate(connection, location)
    _warn_of_bypassed_policies(connection, location)
    return _search_path(connection, location)


def require_version(row: Sequence[Any] | None, location: str) -> None:
    """Raise an error if the version in ``row``, the result of a query for the schema version, is missing or too new."""
    version = row[0] if row else None
    if version is None:
        raise StoreDamagedError(f"{location} has no schema version; restore a backup")
    if version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{location} was written by a newer Recollect (its schema is {version}, this one knows {SCHEMA_VERSION}); "
            "upgrade recollect to open it"
        )


def _stored_version(connection: Connection, location: str) -> int:
    """Return the schema version of the store; 0 if the database has no store yet."""
    ((has_version_table, has_tables),) = connection.execute(
        "SELECT to_regclass('recollect.schema_version') IS NOT NULL, "
        "EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = 'recollect')",
    )
    if has_version_table:
        version: int = connection.execute("SELECT max(version) FROM recollect.schema_version").fetchall()[0][0]
        return version
    if has_tables:
        raise StoreDamagedError(
            f"{location} has a schema 'recollect' that is not a store; choose another database, or rename the schema"
        )
    return 0


def _migrate(connection: Connection, location: str) -> None:
    """Apply the missing migrations in one transaction; none are missing if another process has just applied them."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", _MIGRATION_LOCK)
        version = _stored_version(connection, location)
        for name, package in _EXTENSION_PACKAGES.items():
            statement = f"CREATE EXTENSION IF NOT EXISTS {name}"
            advice = f"CREATE EXTENSION {name} in this database"
            try:
                _create(connection, location, f"extension {name!r}", statement, advice)
            except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
                raise StoreError(f"{location} has no extension {name!r}; install {package} on the server") from error
        if version == 0:
            statement = "CREATE SCHEMA IF NOT EXISTS recollect"
            advice = "CREATE SCHEMA recollect AUTHORIZATION <role>"
            _create(connection, location, "schema 'recollect'", statement, advice)
            connection.execute("CREATE TABLE recollect.schema_version (version int NOT NULL)")
            connection.execute("INSERT INTO recollect.schema_version VALUES (0)")
        connection.execute("SELECT set_config('search_path', %s, true)", [_search_path(connection, location)])
        for migration in _MIGRATIONS[version:]:
            connection.execute(migration)
        connection.execute("UPDATE recollect.schema_version SET version = %s", [SCHEMA_VERSION])


def _create(connection: Connection, location: str, name: str, statement: str, advice: str) -> None:
    """Run a CREATE statement. If the role may not, raise an error that tells an administrator to run ``advice``."""
    try:
        with connection.transaction():
            connection.execute(statement)
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{location} does not allow this role to create the {name}; ask an administrator to run {advice}"
        ) from error


def _search_path(connection: Connection, location: str) -> str:
    """Return the ``search_path``: the schema ``recollect``, and the schemas in which the extensions are installed."""
    rows = connection.execute(
        "SELECT extname, extversion, quote_ident(nspname) FROM pg_extension "
        "JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = ANY (%s)",
        [list(_EXTENSION_PACKAGES)],
    ).fetchall()
    extensions = {name: (version, schema) for name, version, schema in rows}
    for name in _EXTENSION_PACKAGES:
        if name not in extensions:
            raise StoreDamagedError(f"{location} lacks the extension {name!r}; run CREATE EXTENSION {name} there")
    version = extensions["vector"][0]
    if tuple(map(int, version.split(".")[:2])) < _MIN_PGVECTOR_VERSION:
        raise StoreError(
            f"{location} has pgvector {version}; 0.7 is needed: install it, and run ALTER EXTENSION vector UPDATE"
        )
    return ", ".join(dict.fromkeys(["recollect", *(schema for _, schema in extensions.values())]))


def _warn_of_bypassed_policies(connection: Connection, location: str) -> None:
    """Warn if the role of the connection is not subject to row-level security."""
    ((role, bypasses_policies),) = connection.execute(
        "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    if bypasses_policies:
        warnings.warn(
            f"{location} is opened by {role!r}, who bypasses row-level security, so that namespaces are isolated only "
            "by the conditions in Recollect's own queries; use a role that is no superuser and has no BYPASSRLS",
            RecollectWarning,
            stacklevel=2,
        )
