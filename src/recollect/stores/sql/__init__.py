"""The code that SQLite and PostgreSQL share: it runs neutral SQL, which ``dialect.py`` translates for each engine."""
