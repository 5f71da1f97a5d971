"""Benchmark of Recollect beside other engines: the same notes, the same queries, results compared with exact search."""
