"""Does work that takes many steps, again and again, and each time is killed before another of them.

One process brings all modules, then forks a child for each step; each works on a copy of the same store of its own.

    python -m tests.stores.milvus.crashes STORE FOLDER batches|model
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pymilvus  # noqa: F401 (what a store brings when it is opened is brought once)
from milvus_lite.adapter.grpc import server  # noqa: F401 (as above)
from milvus_lite.storage.wal import WAL

from recollect.model import Document
from recollect.stores.base import Model
from recollect.stores.milvus.store import MilvusStore


def die_before(step: int) -> None:
    """Let the process be killed before Milvus Lite writes that entry into its logs, counted from now on."""
    steps = count(1)

    def deadly(method: Any) -> Any:
        def write(log: WAL, batch: Any) -> None:
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            method(log, batch)

        return write

    WAL.write_insert = deadly(WAL.write_insert)
    WAL.write_delete = deadly(WAL.write_delete)


def write_batches(store: MilvusStore) -> None:
    """Write two batches: a document loses its notes and gets another, then two namespaces get one each."""
    documents = [Document("/vault", "a.md", "2", [{"content": "new", "path": "new.md"}])]
    store.write_documents(documents, namespace="default")
    store.write(
        [
            {"content": "here", "path": "both.md", "namespace": "default"},
            {"content": "there", "path": "both.md", "namespace": "work"},
        ]
    )


def change_model(store: MilvusStore) -> None:
    """Embed all notes anew and search with the new model."""
    model = Model("other", 3)
    for waiting in store.pending(model, 9):
        store.embed(model, [(waiting, np.ones(3, dtype=np.float32))])
    store.activate(model)


WORK = {"batches": write_batches, "model": change_model}


def main() -> None:
    for step in count(1):
        folder = Path(sys.argv[2], f"{step:02}.db")
        shutil.copytree(sys.argv[1], folder)
        child = os.fork()
        if not child:
            store = MilvusStore(f"milvus://{folder}")
            die_before(step)
            WORK[sys.argv[3]](store)
            os._exit(0)  # it was not killed: there are no more steps
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            sys.exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
