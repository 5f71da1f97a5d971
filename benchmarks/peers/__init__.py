"""Benchmark of Recollect against other engines: same notes, same queries, results compared with exact search."""
