"""The store that keeps notes, links, vectors and the FTS5 indexes in one SQLite file; ``store.py`` has its class."""
