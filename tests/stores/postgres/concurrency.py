"""A process that writes to one store: ``python -m tests.stores.postgres.concurrency ADDRESS NAME BATCHES``.

It adds its own notes, changes shared ones and deletes some, in namespaces that all processes write to.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime

from recollect.stores.base import Store
from recollect.stores.postgres.store import PostgresStore

NAMESPACES = ("default", "alice", "bob")
THREADS = 2
BATCH = 4


def write(store: Store, name: str, batches: int) -> None:
    """Write batches to two namespaces in any order, with mentions of the notes of other processes."""
    for batch in range(batches):
        first, second = NAMESPACES[batch % 3], NAMESPACES[(batch + len(name)) % 3]
        notes, _ = store.write(
            [
                {
                    "path": f"{name}/{batch}/{number}",
                    "namespace": (first, second)[number % 2],
                    "title": f"Cup {name} {batch}",
                    "content": f"Green tea with cup other {batch}, and cup {name} {batch - 1}.",
                    "metadata": {"entities": [f"tea {batch}"]},
                    "vector": [1.0, batch, number],
                }
                for number in range(BATCH)
            ]
        )
        store.write([{"path": "shared", "namespace": second, "content": f"tea of {name} {batch}", "vector": [1.0] * 3}])
        store.touch({notes[0].id: datetime.now(UTC)}, namespace=notes[0].namespace)
        store.write_documents([], namespace=first)
        if batch % 3 == 0:
            store.delete([f"{name}/{batch}/0"], namespace=first)


def main(address: str, name: str, batches: int) -> None:
    """Write from threads of this process."""
    with closing(PostgresStore(address)) as store, ThreadPoolExecutor(THREADS) as executor:
        for done in [executor.submit(write, store, f"{name}{thread}", batches) for thread in range(THREADS)]:
            done.result()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
