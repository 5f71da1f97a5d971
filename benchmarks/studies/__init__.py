"""Measurements on public data that settle constants."""
