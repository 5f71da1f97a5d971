"""The application: routes behind recording, admission and limits, over one memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect import __version__
from recollect.memory import Memory
from recollect.server.http.admission import Admission
from recollect.server.http.describing import describe
from recollect.server.http.finished import Observer
from recollect.server.http.limits import Limits
from recollect.server.http.problems import handle_problems
from recollect.server.http.recording import Recording
from recollect.server.http.routes import ROUTERS
from recollect.server.http.service import Service
from recollect.server.http.settings import Settings
from recollect.server.keys import KeyRing
from recollect.server.page import page_routes

__all__ = ["Extension", "create_app"]

ABOUT = "Hybrid memory retrieval for agents, with the reasons for every result."


class Extension(NamedTuple):
    """Another application below a path of this one: it finds who asks in the request's state as ``caller``."""

    path: str
    app: ASGIApp
    running: Callable[[], AbstractAsyncContextManager[Any]]
    """What it needs around it for as long as it runs."""


class _Whole:
    """An application as an endpoint of another, which gets every method, and the path as it came."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _nothing(_: BaseException | None) -> None:
    """Do nothing with the news."""


def create_app(
    memory: Memory,
    settings: Settings | None = None,
    *,
    ring: KeyRing | None = None,
    observers: Sequence[Observer] = (),
    extensions: Sequence[Extension] = (),
    api: bool = True,
    ready: Callable[[BaseException | None], Awaitable[None]] = _nothing,
) -> FastAPI:
    """Return an application that serves a memory, which stays the caller's to close.

    With a ``ring``, who asks must show one of its keys. Without ``api``, nothing but the ``extensions`` is served.
    ``observers`` are told of each request that is over, ``ready`` when the models are loaded, or what went wrong with
    that.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     app = create_app(memory)
    >>> sorted(app.openapi()["paths"])[0]
    '/health'
    """
    chosen = settings or Settings(keyed=ring is not None)
    service = Service.of(memory, chosen, ring, observers)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(service.close)
            for extension in extensions:
                await stack.enter_async_context(extension.running())
            warming = asyncio.create_task(_warm(service, ready))
            yield
            warming.cancel()

    app = FastAPI(
        title="Recollect",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for router in ROUTERS if api else ():
        app.router.routes.extend(router.routes)  # plainly, so that a walk over the application's routes meets them all
    app.router.routes.extend(page_routes() if api else ())
    for extension in extensions:
        whole = _Whole(extension.app)
        for path in (extension.path, f"{extension.path}/{{rest:path}}"):
            app.router.routes.append(Route(path, whole, include_in_schema=False))
    app.openapi = describe(app, keyed=ring is not None)  # type: ignore[method-assign]  # FastAPI's own way
    handle_problems(app)
    # The last one added is the first that a request meets.
    app.add_middleware(Limits, settings=chosen)
    app.add_middleware(Admission, settings=chosen, ring=ring)
    app.add_middleware(Recording, observers=service.observers)
    return app


async def _warm(service: Service, ready: Callable[[BaseException | None], Awaitable[None]]) -> None:
    try:
        await service.readiness.warm()
    except Exception as error:  # noqa: BLE001 (who started the server is told, whatever it is)
        await ready(error)
    else:
        await ready(None)
