"""How fast and how exact Recollect is beside others, on the same notes: ``recollect bench``.

A corpus is made or read (:mod:`~recollect.bench.corpus`), each engine takes it in and answers the same queries in
processes of its own (:mod:`~recollect.bench.worker`), and what it found is held against what exact search finds
(:mod:`~recollect.bench.exact`). :func:`recollect.bench.running.run` does all of it.
"""
