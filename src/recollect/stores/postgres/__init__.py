"""Notes in a PostgreSQL database."""
