"""How fast and how exact Recollect is beside others, on the same notes: ``recollect bench``.

A corpus is made or read (:mod:`~benchmarks.peers.corpus`), each engine takes it in and answers the same queries in
processes of its own (:mod:`~benchmarks.peers.worker`), and what it found is held against what exact search finds
(:mod:`~benchmarks.peers.exact`). :func:`benchmarks.peers.running.run` does all of it.
"""
