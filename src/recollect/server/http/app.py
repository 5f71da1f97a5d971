"""The ASGI application: routes behind middleware, and their OpenAPI description."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect import __version__
from recollect.memory import Memory
from recollect.server.auth import KeyRing
from recollect.server.http import health_routes, note_routes, report_routes, search_routes
from recollect.server.http.middleware import PUBLIC_PATHS, AuthMiddleware, LimitMiddleware
from recollect.server.http.problems import MEDIA_TYPE, add_problem_handlers
from recollect.server.http.request_log import RequestLogMiddleware, RequestObserver
from recollect.server.http.schemas import Problem
from recollect.server.http.service import Service
from recollect.server.http.settings import Settings
from recollect.server.web import web_routes

ROUTERS: tuple[APIRouter, ...] = (
    note_routes.router,
    search_routes.router,
    report_routes.router,
    health_routes.router,
)
"""In the order of docs/http.md."""


class Extension(NamedTuple):
    """Another ASGI application below a path of this one; ``scope["state"]["caller"]`` is who sends a request."""

    path: str
    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[Any]]
    """A context that is open as long as the server runs."""


class _MountedApp:
    """An application as an endpoint that gets every method and the whole path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _ignore(_: BaseException | None) -> None:
    pass


def create_app(
    memory: Memory,
    settings: Settings | None = None,
    *,
    ring: KeyRing | None = None,
    observers: Sequence[RequestObserver] = (),
    extensions: Sequence[Extension] = (),
    api: bool = True,
    on_models_loaded: Callable[[BaseException | None], Awaitable[None]] = _ignore,
) -> FastAPI:
    """Return an application that serves a memory, which the caller closes.

    With a ``ring``, requests need one of its keys. Without ``api``, only ``extensions`` are served. ``observers`` get
    the record of each completed request; ``on_models_loaded`` gets the error if the models cannot be loaded, else
    ``None``.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     app = create_app(memory)
    >>> sorted(app.openapi()["paths"])[0]
    '/health'
    """
    settings = settings or Settings(require_keys=ring is not None)
    service = Service.of(memory, settings, ring, observers)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(service.close)
            for extension in extensions:
                await stack.enter_async_context(extension.lifespan())
            loading = asyncio.create_task(_load_models(service, on_models_loaded))
            yield
            loading.cancel()

    app = FastAPI(
        title="Recollect",
        version=__version__,
        description="Hybrid memory retrieval for agents, with the reasons for every result.",
        lifespan=lifespan,
        docs_url=None,  # they would load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    if api:
        for router in ROUTERS:
            app.router.routes.extend(router.routes)
        app.router.routes.extend(web_routes())
    for extension in extensions:
        endpoint = _MountedApp(extension.app)
        for path in (extension.path, f"{extension.path}/{{rest:path}}"):
            app.router.routes.append(Route(path, endpoint, include_in_schema=False))
    app.openapi = lambda: openapi_schema(app, require_keys=ring is not None)  # type: ignore[method-assign]  # FastAPI's own way
    add_problem_handlers(app)
    # The last one added runs first.
    app.add_middleware(LimitMiddleware, settings=settings)
    app.add_middleware(AuthMiddleware, settings=settings, ring=ring)
    app.add_middleware(RequestLogMiddleware, observers=service.observers)
    return app


async def _load_models(service: Service, done: Callable[[BaseException | None], Awaitable[None]]) -> None:
    try:
        await service.readiness.load_models()
    except Exception as error:  # noqa: BLE001 (the caller decides what to do about it)
        await done(error)
    else:
        await done(None)


def openapi_schema(app: FastAPI, *, require_keys: bool) -> dict[str, Any]:
    """Return the OpenAPI description with problems and keys, which FastAPI does not know of; it is cached."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=__version__, description=app.description, routes=app.routes)
        components = schema.setdefault("components", {})
        own = {name: model for name, model in components.get("schemas", {}).items() if "ValidationError" not in name}
        components["schemas"] = {**own, "Problem": Problem.model_json_schema()}
        if require_keys:
            components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                if require_keys and path not in PUBLIC_PATHS:
                    operation["security"] = [{"key": []}]
                operation["responses"].pop("422", None)
                operation["responses"]["4XX"] = {"description": "The request cannot be served.", "content": content}
                operation["responses"]["5XX"] = {"description": "The server cannot serve it.", "content": content}
        app.openapi_schema = schema
    return app.openapi_schema
