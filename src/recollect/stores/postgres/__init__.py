"""The store in a PostgreSQL database; start reading at ``store.py``."""
