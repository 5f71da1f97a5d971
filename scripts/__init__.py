"""The scripts' own Python, importable by the tests."""
