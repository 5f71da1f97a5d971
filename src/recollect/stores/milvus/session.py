"""An open store: its connection, whose turn it is, and what is known of it in memory."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from recollect import clock
from recollect.errors import StoreDamagedError, StoreError, StoreVersionError
from recollect.stores.milvus import expiry, journal
from recollect.stores.milvus.address import Address
from recollect.stores.milvus.client import Client
from recollect.stores.milvus.directory import Directories
from recollect.stores.milvus.embedding import begin_generation, keep_state
from recollect.stores.milvus.generations import STATE, Generation, State, read_state
from recollect.stores.milvus.keys import Keys, made_at
from recollect.stores.milvus.levels import STRONG, current_level
from recollect.stores.milvus.reading import Reader
from recollect.stores.milvus.schema import NEVER, RECORDS, SCHEMA_VERSION, records_index, records_schema
from recollect.stores.milvus.turns import PATIENCE, Turns
from recollect.stores.milvus.writing import Writer
from recollect.stores.rows import to_microseconds

__all__ = ["Session"]

ABANDONED = 60.0
"""After how many seconds an entry of a cluster's journal is taken to be of a process that is no more."""
WRITERS = 1024


class Session:
    """One store, opened by one process."""

    def __init__(self, address: Address, *, read_only: bool = False) -> None:
        """Open the store, begin it where it is new, and finish what a process left unfinished."""
        self.client = Client(address, read_only=read_only)
        self.turns = Turns()
        self.directories = Directories()
        self._unfinished: int | None = None
        """The number of the journal's entry that an error left unfinished."""
        try:
            self._state = self._open()
            reader = Reader(self.client, self._state, 0, self.directories)
            last = max((int(held["last"]) for held in reader.records("namespace").values()), default=0)
            lite = self.client.lite
            self.keys = Keys(writer=0 if lite else random.randrange(WRITERS), last=last)  # noqa: S311 (no secret)
            self._look_for_earliest(reader)
        except BaseException:
            self.client.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Give what reads for one call, between two batches of this process."""
        self.client.check_open()  # before waiting for a turn: after a fork, who has it may be in the other process
        if self._unfinished is not None:
            with self.turns.writing():
                self._recover()
        with self.turns.reading():
            level = current_level(self.client.level)
            now = to_microseconds(clock.now())
            yield Reader(self.client, self.state(level), now, self.directories, level=level)

    @contextmanager
    def writing(self, patience: float = PATIENCE, *, removing: bool = True) -> Iterator[Writer]:
        """Give what writes for one call; at the end all of it is written, unless an error comes.

        What is due is removed before, in a batch of its own.
        """
        self.client.check_open()
        self.client.check_writable()
        with self.turns.writing(patience):
            self._recover()
            if removing:
                writer = self._writer()
                if self.may_be_due(writer.now):
                    expiry.remove(writer, writer.now)
                    self._commit(writer)
                    self._look_for_earliest(writer)
            writer = self._writer()
            yield writer
            self._commit(writer)

    def state(self, level: str = STRONG) -> State:
        """Return which generations there are."""
        if not self.client.lite:
            self._state = self._read_state(level) or self._state
        return self._state

    def may_be_due(self, now: int) -> bool:
        """Return whether a note can be due at an instant; where nobody else writes, that takes no look at the notes."""
        return not self.client.lite or self._earliest <= now

    def close(self) -> None:
        """Let go of the folder or server."""
        with self.turns.writing(), self.turns.alone():
            self.client.close()
        self.directories.forget()

    def _look_for_earliest(self, reader: Reader) -> None:
        """Remember when the first note expires, where nobody else writes."""
        self._earliest = expiry.earliest(reader) if self.client.lite else NEVER

    def _writer(self) -> Writer:
        now = to_microseconds(clock.now())
        return Writer(self.client, self.state(), now, self.directories, keys=self.keys, switch=self._switch)

    def _switch(self, state: State) -> None:
        """Let there be these generations from now on, while nobody reads one that goes."""
        with self.turns.alone():
            keep_state(self.client, state)
            self._state = state

    def _commit(self, writer: Writer) -> None:
        """Write all that was collected, as a whole."""
        if not writer.work:
            return
        number = self.keys.new()
        try:
            self._write(writer, number)
        except BaseException:
            self._unfinished = number
            raise

    def _write(self, writer: Writer, number: int) -> None:
        revisions, work = writer.finish(), writer.work
        entry: list[str] = []
        if not (self.client.lite and work.is_one_step()):
            entry = journal.write_down(self.client, number, work)
        with self.turns.alone():
            journal.apply(self.client, work)
            self._earliest = min(self._earliest, writer.earliest)
            for home, effect in writer.effects.items():
                before, after = revisions[home]
                self.directories.apply(home, effect.gone, effect.changed, effect.words, before=before, revision=after)
        if entry:
            journal.strike_out(self.client, entry)

    def _recover(self) -> None:
        """Finish what an error left unfinished; what others are in the middle of is theirs."""
        if self._unfinished is not None:
            with self.turns.alone():
                journal.recover(self.client, self._unfinished + 1, first=self._unfinished)
                self.directories.forget()
                self._look_for_earliest(self._writer())
            self._unfinished = None

    def _open(self) -> State:
        there = self.client.collections()
        state = None
        if RECORDS in there:
            self.client.load(RECORDS)
            state = self._read_state()
        if state is None:
            return self._begin(there)
        if state.version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"{self.client.location} has schema {state.version}; this Recollect knows {SCHEMA_VERSION}: upgrade it"
            )
        for generation in state.generations:
            if generation.collection not in there:
                raise StoreDamagedError(
                    f"{self.client.location} has lost its collection {generation.collection}; restore a backup"
                )
            self.client.load(generation.collection)
        if self.client.lite or not self.client.read_only:
            # Those of a cluster may be in the middle of it.
            journal.recover(self.client, NEVER if self.client.lite else made_at(time.time() - ABANDONED))
        return state

    def _begin(self, there: list[str]) -> State:
        """Begin a store; one that was begun and never finished is begun anew."""
        if any(not name.startswith("notes_") and name != RECORDS for name in there):
            raise StoreDamagedError(
                f"{self.client.location} holds collections of another program; name another database"
            )
        if self.client.read_only:
            raise StoreError(f"{self.client.location} holds no memory, and reading begins none; add a note first")
        state = State((Generation(1),))
        # One that was never finished has the first collection at most, and nothing in it.
        if any(name not in (state.active.collection, RECORDS) or self.client.holds_rows(name) for name in there):
            raise StoreDamagedError(
                f"{self.client.location} holds notes and no record of what they are; restore a backup, or name another"
            )
        begin_generation(self.client, state.active)
        if RECORDS not in there:
            self.client.create(RECORDS, records_schema(), records_index())
        keep_state(self.client, state)
        return state

    def _read_state(self, level: str = STRONG) -> State | None:
        rows = self.client.get(RECORDS, [STATE], ["key", "body"], level=level)
        return read_state(rows[0]["body"]) if rows else None
