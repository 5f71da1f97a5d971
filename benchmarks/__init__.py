"""Benchmarks and studies; ``scripts/bench --help`` lists them. None of this is in the wheel."""
