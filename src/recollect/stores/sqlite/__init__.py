"""A store of notes, links, vectors and the FTS5 indexes in one SQLite file; ``store.py`` has ``SQLiteStore``."""
