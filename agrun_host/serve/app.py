"""The app: the guard around runs, relays and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from agrun_host.page import PageHeaders, page_files
from agrun_host.runs import NoSuchRun, Runs
from agrun_host.serve.guard import Guard
from agrun_host.serve.openapi import openapi
from agrun_host.serve.problems import Refused, answer_for, method_not_allowed, not_found
from agrun_host.serve.run_routes import run_routes
from agrun_host.serve.settings import ServeSettings
from agrun_wasm.contracts.errors import AgrunError

__all__ = ["create_app"]


def create_app(
    settings: ServeSettings,
    open_runs: Callable[[], AbstractAsyncContextManager[Runs]],
    extra_routes: Sequence[BaseRoute] = (),
    *,
    at_end: Callable[[], Awaitable[None]] | None = None,
) -> Starlette:
    """An ASGI app. `open_runs` is entered when it starts and left when it ends; `extra_routes` stand behind the same
    guard, and `at_end` closes what they hold (a relay's connections)."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            async with open_runs() as runs:
                app.state.runs = runs
                yield
        finally:
            if at_end is not None:
                await at_end()

    async def healthy(_request: Request) -> Response:
        return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})

    async def described(_request: Request) -> Response:
        return JSONResponse(openapi(token=settings.token is not None))

    routes: list[BaseRoute] = [
        Route("/healthz", healthy),
        Route("/openapi.json", described),
        *run_routes(settings),
        *extra_routes,
    ]
    if settings.page is not None:
        routes.append(Mount("/", page_files(settings.page), name="page"))
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(PageHeaders), Middleware(Guard, settings=settings)],
        exception_handlers={
            Refused: answer_for,
            AgrunError: answer_for,
            NoSuchRun: answer_for,
            HTTPException: _http_problem,
        },
    )


async def _http_problem(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == 405:
        return await method_not_allowed(request, error)
    return await not_found(request, error)
