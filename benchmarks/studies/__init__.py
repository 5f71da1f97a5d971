"""Measurements on public datasets, from which the constants of presets and of confidence are chosen."""
