"""Notes in one SQLite file."""
