"""The tables of a store in PostgreSQL, and how they are created and migrated.

Everything is in a schema ``recollect``, whose table ``schema_version`` counts the migrations. A process that opens a
store migrates it in one transaction; one process does so at a time.

*Row-level security.* A policy restricts every query of a transaction to the namespaces that were set at its start. The
tables ``words`` and ``names`` have no policy, because ``@@`` and ``%`` are not leakproof, so that PostgreSQL would not
use their indexes. Queries only take note keys from them, and join ``notes``, which has a policy. Each lexeme starts
with the number of its namespace.

*Text* is compared byte by byte (``COLLATE "C"``), as SQLite and Python do. A text that is looked up as a whole has a
16-byte hash beside it (``…_mark``), because an index row cannot have a long id or path. Hashes are columns, because a
policy prevents the use of an index on a function.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from psycopg import Connection, errors
from psycopg.rows import TupleRow

from recollect.errors import RecollectWarning, StoreDamagedError, StoreError, StoreVersionError

_NOTES = """
CREATE FUNCTION mark(whole text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN substr(sha256(convert_to(whole, 'UTF8')), 1, 16);

CREATE TABLE namespaces (
    key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    mark bytea NOT NULL GENERATED ALWAYS AS (mark(name)) STORED UNIQUE,
    revision bigint NOT NULL DEFAULT 0,  -- grows when a name or term in it changes
    notes bigint NOT NULL DEFAULT 0,     -- the number of indexed notes and tokens:
    tokens bigint NOT NULL DEFAULT 0     -- the collection statistics of BM25
);

CREATE TABLE documents (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace int NOT NULL REFERENCES namespaces,
    root text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
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
    name text COLLATE "C",               -- its name in a wikilink: the last part of the path, folded, without suffix
    session text COLLATE "C",
    position bigint,
    importance double precision NOT NULL,
    created_at bigint NOT NULL,          -- microseconds since 1970 in UTC
    updated_at bigint NOT NULL,
    last_accessed_at bigint,
    expires_at bigint,
    document bigint REFERENCES documents,
    tags text COLLATE "C" NOT NULL,      -- one a line
    metadata text COLLATE "C" NOT NULL,  -- JSON, verbatim; jsonb would change its numbers
    facts jsonb NOT NULL DEFAULT '{}',   -- metadata values for filters
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
    place int NOT NULL,                  -- links keep their order
    kind text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,    -- an id, a path or a name; the note may come later
    kind_mark bytea NOT NULL GENERATED ALWAYS AS (mark(kind)) STORED,
    target_mark bytea NOT NULL GENERATED ALWAYS AS (mark(target)) STORED,
    name_mark bytea NOT NULL,            -- of the target's name in a wikilink
    PRIMARY KEY (source, place)
);
CREATE INDEX links_by_target ON links (namespace, target_mark);
CREATE INDEX links_by_name ON links (namespace, name_mark);
CREATE INDEX links_by_kind ON links (namespace, kind_mark);
"""

_LEXICAL = """
CREATE TABLE words (
    note bigint PRIMARY KEY REFERENCES notes ON DELETE CASCADE,
    words tsvector NOT NULL,             -- each term is prefixed with the number of its namespace
    whole boolean NOT NULL               -- whether it has all terms with all positions
);
CREATE INDEX words_by_word ON words USING gin (words) WITH (fastupdate = off);
CREATE INDEX words_not_whole ON words (note) WHERE NOT whole;

CREATE TABLE postings (                  -- posting lists in blocks: note, weight of the term, length of the note
    namespace int NOT NULL REFERENCES namespaces,
    term text COLLATE "C" NOT NULL,
    block bigint NOT NULL,               -- no note in it has a smaller key
    count int NOT NULL,
    list bytea NOT NULL,
    PRIMARY KEY (namespace, term, block)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE postings ALTER list SET STORAGE PLAIN;

CREATE TABLE names (                     -- names of notes, for misspelt queries
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    namespace int NOT NULL REFERENCES namespaces,
    name text COLLATE "C" NOT NULL,
    plain boolean NOT NULL               -- whether it is ASCII, for which trigrams work in every locale
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
    precision text COLLATE "C" NOT NULL,
    active boolean NOT NULL DEFAULT false,
    UNIQUE (name, dimension, precision)
);
CREATE UNIQUE INDEX models_active ON models (active) WHERE active;

CREATE TABLE vectors (
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    model int NOT NULL REFERENCES models,
    piece int NOT NULL,
    namespace int NOT NULL REFERENCES namespaces,
    digest bytea NOT NULL,               -- of the embedded text
    vector bytea NOT NULL,               -- of unit length, in the precision of the model
    near halfvec,                        -- the same in half precision for the index; NULL if too wide
    PRIMARY KEY (note, model, piece)
);
ALTER TABLE vectors ALTER vector SET STORAGE EXTERNAL;  -- numbers do not compress
CREATE INDEX vectors_by_namespace ON vectors (namespace, model);
"""

_GRAPH = """
CREATE TABLE titles (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace int NOT NULL REFERENCES namespaces,
    stems text COLLATE "C" NOT NULL,     -- separated by spaces
    words text COLLATE "C" NOT NULL,     -- the words of the title, not stemmed
    namers bigint NOT NULL DEFAULT 0,    -- how many notes mention the title
    common boolean NOT NULL DEFAULT false  -- whether it is too frequent to connect notes
);
CREATE INDEX titles_by_stems ON titles (namespace, stems);

CREATE TABLE titled (
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    title bigint NOT NULL REFERENCES titles ON DELETE CASCADE,
    PRIMARY KEY (note, title)
);
CREATE INDEX titled_by_title ON titled (title);

CREATE TABLE mentions (
    title bigint NOT NULL REFERENCES titles ON DELETE CASCADE,
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    exact boolean NOT NULL,              -- whether the text has the words, not only their stems
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

CREATE TABLE entities (
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    namespace int NOT NULL REFERENCES namespaces,
    name_mark bytea NOT NULL,            -- only compared, never shown
    PRIMARY KEY (note, name_mark)
);
CREATE INDEX entities_by_name ON entities (namespace, name_mark);
"""

ISOLATED_TABLES = ("documents", "notes", "links", "postings", "vectors", "titles", "entities")
"""Tables with a policy of row-level security."""

TABLES = (*ISOLATED_TABLES, "namespaces", "words", "names", "models", "titled", "mentions")

# Sub-selects, so that settings are read once for each statement, not for each row.
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
"""Migration n migrates a store from version n to n + 1. Never change one, only append."""

SCHEMA_VERSION = len(_MIGRATIONS)

_MIN_SERVER = 150000
_MIN_PGVECTOR = (0, 7)
_LOCK = (0x5265636C, 0)  # "Recl"
_PACKAGES = {"vector": "pgvector", "pg_trgm": "PostgreSQL's contrib modules"}


def prepare(connection: Connection[TupleRow], location: str, *, read_only: bool = False) -> str:
    """Create or migrate the store if necessary and allowed, and return its search path."""
    if connection.info.server_version < _MIN_SERVER:
        raise StoreError(
            f"{location} runs PostgreSQL {connection.info.server_version // 10000}; version 15 or newer is needed"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"{location} has the encoding {encoding}; create the database with ENCODING 'UTF8'")
    version = _version(connection, location)
    require_version((version,), location)
    if version < SCHEMA_VERSION:
        if read_only and version == 0:
            raise StoreError(f"there is no memory at {location}; add a note to create one, or choose another database")
        if read_only:
            raise StoreError(f"{location} has an older schema; open it once without read_only=True")
        _migrate(connection, location)
    _warn_of_bypassed_policies(connection, location)
    return _search_path(connection, location)


def require_version(row: Sequence[Any] | None, location: str) -> None:
    """Raise an error unless this Recollect supports the store's schema version, the first value of ``row``."""
    version = row[0] if row else None
    if version is None:
        raise StoreDamagedError(f"{location} has no schema version; restore a backup")
    if version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{location} was written by a newer Recollect (its schema is {version}, this one knows {SCHEMA_VERSION}); "
            "upgrade recollect to open it"
        )


def _version(connection: Connection[TupleRow], location: str) -> int:
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


def _migrate(connection: Connection[TupleRow], location: str) -> None:
    """Migrate the store in one transaction, unless another process has done so meanwhile."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", _LOCK)
        before = _version(connection, location)
        for name, package in _PACKAGES.items():
            statement = f"CREATE EXTENSION IF NOT EXISTS {name}"
            try:
                _create(
                    connection, location, f"extension {name!r}", statement, f"CREATE EXTENSION {name} in this database"
                )
            except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
                raise StoreError(f"{location} has no extension {name!r}; install {package} on the server") from error
        if before == 0:
            statement, advice = (
                "CREATE SCHEMA IF NOT EXISTS recollect",
                "CREATE SCHEMA recollect AUTHORIZATION with the name of the role",
            )
            _create(connection, location, "schema 'recollect'", statement, advice)
            connection.execute("CREATE TABLE recollect.schema_version (version int NOT NULL)")
            connection.execute("INSERT INTO recollect.schema_version VALUES (0)")
        connection.execute("SELECT set_config('search_path', %s, true)", [_search_path(connection, location)])
        for migration in _MIGRATIONS[before:]:
            connection.execute(migration)
        connection.execute("UPDATE recollect.schema_version SET version = %s", [SCHEMA_VERSION])


def _create(connection: Connection[TupleRow], location: str, what: str, statement: str, advice: str) -> None:
    try:
        with connection.transaction():
            connection.execute(statement)
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{location} does not allow this role to create the {what}; ask an administrator to run {advice}"
        ) from error


def _search_path(connection: Connection[TupleRow], location: str) -> str:
    """Return our schema and those of the extensions, which may be in any schema."""
    rows = connection.execute(
        "SELECT extname, extversion, quote_ident(nspname) FROM pg_extension "
        "JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = ANY (%s)",
        [list(_PACKAGES)],
    ).fetchall()
    extensions = {name: (version, schema) for name, version, schema in rows}
    for name in _PACKAGES:
        if name not in extensions:
            raise StoreDamagedError(f"{location} lacks the extension {name!r}; run CREATE EXTENSION {name} there")
    version = extensions["vector"][0]
    if tuple(map(int, version.split(".")[:2])) < _MIN_PGVECTOR:
        raise StoreError(
            f"{location} has pgvector {version}; 0.7 is needed: install it, and run ALTER EXTENSION vector UPDATE"
        )
    return ", ".join(dict.fromkeys(["recollect", *(schema for _, schema in extensions.values())]))


def _warn_of_bypassed_policies(connection: Connection[TupleRow], location: str) -> None:
    ((role, bypasses_policies),) = connection.execute(
        "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    if bypasses_policies:
        warnings.warn(
            f"{location} is opened by {role!r}, who bypasses row-level security: only the queries isolate "
            "namespaces; use a role that is no superuser and has no BYPASSRLS",
            RecollectWarning,
            stacklevel=2,
        )
