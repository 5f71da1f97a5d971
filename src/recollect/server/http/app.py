"""Create the ASGI application: routes, middleware and the OpenAPI description."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect import __version__
from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.server.auth import KeyRing
from recollect.server.http import memory_routes, operator_routes
from recollect.server.http.middleware import PUBLIC_PATHS, AuthMiddleware
from recollect.server.http.problems import MEDIA_TYPE, handle_error
from recollect.server.http.request_log import RequestLogMiddleware, RequestObserver
from recollect.server.http.schemas import Problem
from recollect.server.http.service import Service
from recollect.server.http.settings import Settings
from recollect.server.web import web_routes

ROUTERS = (memory_routes.router, memory_routes.search_router, operator_routes.router, operator_routes.health_router)
"""The routers in the order of docs/http.md."""


@dataclass(frozen=True, slots=True)
class Extension:
    """An ASGI application at ``path`` and below; the :class:`Caller` of a request is ``scope["state"]["caller"]``."""

    path: str
    app: ASGIApp
    lifespan: Callable[[], AbstractAsyncContextManager[Any]]
    """Returns the context that the application needs; it is open as long as the server runs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application with its whole path."""
        await self.app(scope, receive, send)


def create_app(
    memory: Memory,
    settings: Settings | None = None,
    *,
    ring: KeyRing | None = None,
    observers: Sequence[RequestObserver] = (),
    extensions: Sequence[Extension] = (),
    api: bool = True,
    on_models_loaded: Callable[[BaseException | None], None] = lambda _: None,
) -> FastAPI:
    """Return an application that serves ``memory``. The caller of this function closes the memory.

    With a ``ring``, requests need one of its keys. If ``api`` is false, only ``extensions`` are served. ``observers``
    get the record of each completed request. ``on_models_loaded`` is called with ``None`` when the models are loaded,
    or with the error if they cannot be loaded.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     app = create_app(memory)
    >>> sorted(app.openapi()["paths"])[0]
    '/health'
    """
    settings = settings or Settings(require_keys=ring is not None)
    service = Service(memory, settings, ring, observers)

    def report_models_loaded(task: asyncio.Task[None]) -> None:
        on_models_loaded(task.exception())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(service.close)
            for extension in extensions:
                await stack.enter_async_context(extension.lifespan())
            loading = asyncio.create_task(service.load_models())
            loading.add_done_callback(report_models_loaded)
            yield
            loading.remove_done_callback(report_models_loaded)  # a stopping server has nothing to report
            loading.cancel()

    app = FastAPI(
        title="Recollect",
        version=__version__,
        description="Hybrid memory retrieval for agents, with the reasons for every result.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages would load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=dict.fromkeys((HTTPException, RequestValidationError, RecollectError), handle_error),
    )
    app.state.service = service
    if api:
        for router in ROUTERS:
            app.router.routes.extend(router.routes)
        app.router.routes.extend(web_routes())
    for extension in extensions:
        for path in (extension.path, f"{extension.path}/{{rest:path}}"):
            app.router.routes.append(Route(path, extension, include_in_schema=False))
    app.openapi = lambda: openapi_schema(app, require_keys=ring is not None)  # type: ignore[method-assign]  # as FastAPI documents
    app.add_middleware(AuthMiddleware, settings=settings, ring=ring)  # the last one added runs first
    app.add_middleware(RequestLogMiddleware, observers=service.observers)
    return app


def openapi_schema(app: FastAPI, *, require_keys: bool) -> dict[str, Any]:
    """Return FastAPI's OpenAPI description with two changes; the result is cached.

    Error responses have the schema Problem. If ``require_keys``, operations need a bearer key.
    """
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=__version__, description=app.description, routes=app.routes)
        components = schema.setdefault("components", {})
        models = components.get("schemas", {})
        own_models = {name: model for name, model in models.items() if "ValidationError" not in name}
        components["schemas"] = {**own_models, "Problem": Problem.model_json_schema()}
        if require_keys:
            components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                if require_keys and path not in PUBLIC_PATHS:
                    operation["security"] = [{"key": []}]
                operation["responses"].pop("422", None)
                operation["responses"]["4XX"] = {"description": "The request cannot be served.", "content": content}
                operation["responses"]["5XX"] = {"description": "The server failed or is busy.", "content": content}
        app.openapi_schema = schema
    return app.openapi_schema
