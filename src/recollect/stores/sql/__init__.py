"""What the SQL engines, SQLite and PostgreSQL, do alike: one implementation over a small dialect object."""
