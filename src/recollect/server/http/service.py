"""What every route needs at hand: the memory, the threads that use it, and what watches over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Query, Request

from recollect.memory import Memory
from recollect.server.cursors import Cursors
from recollect.server.http.crew import Crew
from recollect.server.http.finished import Observer
from recollect.server.http.metrics import Metrics
from recollect.server.http.readiness import Readiness
from recollect.server.http.settings import Settings
from recollect.server.keys import KeyRing
from recollect.server.rights import Caller, Right

__all__ = ["AskedNamespace", "Calling", "ReadIn", "Served", "Service", "WriteTo"]


@dataclass(frozen=True, slots=True)
class Service:
    """A memory, made ready to be served."""

    memory: Memory
    settings: Settings
    ring: KeyRing | None
    readers: Crew
    writers: Crew
    readiness: Readiness
    metrics: Metrics
    observers: Sequence[Observer]
    cursors: Cursors = field(default_factory=Cursors)

    @classmethod
    def of(cls, memory: Memory, settings: Settings, ring: KeyRing | None, observers: Sequence[Observer]) -> Service:
        """Hire the threads and begin to count."""
        seconds, waiting = settings.seconds, settings.waiting
        readers = Crew("readers", threads=settings.searches, waiting=waiting, seconds=seconds)
        writers = Crew("writers", threads=settings.writes, waiting=waiting, seconds=seconds)
        metrics = Metrics()
        metrics.watch(readers=readers, writers=writers)
        return cls(
            memory,
            settings,
            ring,
            readers,
            writers,
            Readiness(memory, ring),
            metrics,
            (metrics.finished, *observers),
        )

    def close(self) -> None:
        """Wait for what is under way."""
        self.readers.close()
        self.writers.close()
        self.readiness.close()


async def _service(request: Request) -> Service:
    return cast("Service", request.app.state.service)


async def _caller(request: Request) -> Caller:
    return cast("Caller", request.state.caller)


Served = Annotated[Service, Depends(_service)]
Calling = Annotated[Caller, Depends(_caller)]
AskedNamespace = Annotated[
    str | None,
    Query(
        alias="namespace",
        max_length=256,
        description="The namespace to work in; by default the only one of the key, or else `default`.",
    ),
]


async def _read_in(caller: Calling, asked: AskedNamespace = None) -> str:
    return caller.namespace(asked, Right.READ)


async def _write_to(caller: Calling, asked: AskedNamespace = None) -> str:
    return caller.namespace(asked, Right.WRITE)


ReadIn = Annotated[str, Depends(_read_in)]
"""The namespace that is asked for, if the caller may read there."""
WriteTo = Annotated[str, Depends(_write_to)]
"""The same, if they may write there."""
