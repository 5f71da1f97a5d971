"""Tests, by the same paths as the package."""
