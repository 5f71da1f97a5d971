"""The tables of a store in PostgreSQL, their walls, and the view that leaves out what has expired.

A policy keeps each transaction within the namespaces that it named at its beginning, whatever its queries say. Two
tables have none: PostgreSQL would not use their indexes, because ``@@`` and ``%`` are not leakproof. What is found in
``words`` and ``names`` is a note's key, which leads nowhere but to ``notes``, and the words carry their namespace.

Text is compared byte by byte (``COLLATE "C"``), as SQLite and Python do. What is looked up by its whole text has a mark
beside it, of sixteen bytes: a row of an index has no room for a long id or path. Marks are columns, because a policy
lets no index be asked by a function of one.
"""

from __future__ import annotations

__all__ = ["MIGRATIONS", "TABLES", "WALLED"]

_NOTES_AND_ALL_THAT_HANGS_ON_THEM = """
CREATE FUNCTION mark(whole text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN substr(sha256(convert_to(whole, 'UTF8')), 1, 16);

CREATE TABLE namespaces (
    key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    mark bytea NOT NULL GENERATED ALWAYS AS (mark(name)) STORED UNIQUE,
    revision bigint NOT NULL DEFAULT 0,  -- grows when a name or word in it changes
    notes bigint NOT NULL DEFAULT 0,     -- how many the word index holds, and how many words they have:
    tokens bigint NOT NULL DEFAULT 0     -- what BM25 needs to know of the whole
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
    name text COLLATE "C",               -- what a wikilink calls it: the path's last part, folded, without its suffix
    session text COLLATE "C",
    position bigint,
    importance double precision NOT NULL,
    created_at bigint NOT NULL,          -- microseconds since 1970 in UTC
    updated_at bigint NOT NULL,
    last_accessed_at bigint,
    expires_at bigint,
    document bigint REFERENCES documents,
    tags text COLLATE "C" NOT NULL,      -- one a line
    metadata text COLLATE "C" NOT NULL,  -- JSON as it was given; jsonb would change its numbers
    facts jsonb NOT NULL DEFAULT '{}',   -- what of it filters can ask for
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
CREATE INDEX notes_by_namespace ON notes (namespace, key);  -- the order in which they came
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
    name_mark bytea NOT NULL,            -- of the target as a wikilink would call it
    PRIMARY KEY (source, place)
);
CREATE INDEX links_by_target ON links (namespace, target_mark);
CREATE INDEX links_by_name ON links (namespace, name_mark);
CREATE INDEX links_by_kind ON links (namespace, kind_mark);
"""

_WORDS = """
CREATE TABLE words (
    note bigint PRIMARY KEY REFERENCES notes ON DELETE CASCADE,
    words tsvector NOT NULL,             -- each word behind the number of its namespace
    whole boolean NOT NULL               -- whether all its words are there, each at all its places
);
CREATE INDEX words_by_word ON words USING gin (words) WITH (fastupdate = off);
CREATE INDEX words_not_whole ON words (note) WHERE NOT whole;

CREATE TABLE postings (                  -- who holds a term, how often, and how long they are: blocks of a long list
    namespace int NOT NULL REFERENCES namespaces,
    term text COLLATE "C" NOT NULL,
    block bigint NOT NULL,               -- no note in it has a smaller key
    count int NOT NULL,
    list bytea NOT NULL,
    PRIMARY KEY (namespace, term, block)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE postings ALTER list SET STORAGE PLAIN;

CREATE TABLE names (                     -- what a note may be called by, for whoever misspells it
    note bigint NOT NULL REFERENCES notes ON DELETE CASCADE,
    namespace int NOT NULL REFERENCES namespaces,
    name text COLLATE "C" NOT NULL,
    plain boolean NOT NULL               -- whether it is ASCII, which trigrams of every locale can see
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
    digest bytea NOT NULL,               -- of the text that the vector stands for
    vector bytea NOT NULL,               -- of unit length, in the precision of the model
    near halfvec,                        -- the same, as the index takes it; none of models that are too wide for it
    PRIMARY KEY (note, model, piece)
);
ALTER TABLE vectors ALTER vector SET STORAGE EXTERNAL;  -- numbers do not compress
CREATE INDEX vectors_by_namespace ON vectors (namespace, model);
"""

_CONNECTIONS = """
CREATE TABLE titles (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace int NOT NULL REFERENCES namespaces,
    stems text COLLATE "C" NOT NULL,     -- as the word index holds its words, with spaces between
    words text COLLATE "C" NOT NULL,     -- as the text must hold them
    namers bigint NOT NULL DEFAULT 0,
    common boolean NOT NULL DEFAULT false
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
    exact boolean NOT NULL,              -- whether the words stand there, or only others of the same stems
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
    name_mark bytea NOT NULL,            -- nobody asks how it is called, only who shares it
    PRIMARY KEY (note, name_mark)
);
CREATE INDEX entities_by_name ON entities (namespace, name_mark);
"""

WALLED = ("documents", "notes", "links", "postings", "vectors", "titles", "entities")
"""Tables whose rows are seen only from their own namespace."""

TABLES = (*WALLED, "namespaces", "words", "names", "models", "titled", "mentions")

# The settings are asked once a statement, not once a row: hence the sub-selects.
_WALLS = "".join(
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
    for table in WALLED
)

MIGRATIONS = (_NOTES_AND_ALL_THAT_HANGS_ON_THEM + _WORDS + _VECTORS + _CONNECTIONS + _WALLS,)
"""The migration at place n brings a store from version n to n + 1. They are history: never changed, only added to."""
