"""Serving the built page: static files with the headers that the page is made for."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, MutableMapping
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import FileResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["PageHeaders", "find_page", "page_app", "page_files", "serve_page"]

HOST = "127.0.0.1"
#: `connect-src` lets the page reach any provider over TLS, and servers on this machine; the rest is the page's own
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "connect-src 'self' https: http://127.0.0.1:* http://localhost:*",
        "worker-src 'self'",
        "img-src 'self' data: https:",
        "style-src 'self' 'unsafe-inline'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",  # asked again each time, answered 304 while the file is the same
}
#: what the page depends on being right, and machines are set up to get wrong
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".zip": "application/zip",
    ".whl": "application/zip",
    ".zst": "application/zstd",  # unpacked by the page, so it is no content-encoding
    ".gz": "application/gzip",  # unpacked by the page, so it is no content-encoding
}


class PageFiles(StaticFiles):
    """The files of web/dist, under the types of TYPES whatever the machine says."""

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        response = await super().get_response(path, scope)
        if isinstance(response, FileResponse):
            known = TYPES.get(PurePosixPath(str(response.path)).suffix.lower())
            if known is not None:
                response.headers["content-type"] = known
        return response


class PageHeaders:
    """HEADERS on every response, errors too; one that a response has itself is the stricter one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    given.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


def find_page() -> Path | None:
    """The built page: `_page` in a wheel, `web/dist` in a checkout."""
    here = Path(__file__).resolve().parent
    for place in (here / "_page", here.parent / "web" / "dist"):
        if (place / "index.html").is_file():
            return place
    return None


def page_files(directory: Path) -> PageFiles:
    """The page in `directory`, as an app to mount."""
    return PageFiles(directory=directory, html=True)


def page_app(directory: Path) -> Starlette:
    """A Starlette app that serves the page in `directory`."""
    return Starlette(routes=[Mount("/", page_files(directory), name="page")], middleware=[Middleware(PageHeaders)])


def serve_page(directory: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serves the page on this machine until Ctrl+C; `ready` is told its address. Raises OSError for the port."""
    import uvicorn

    config = uvicorn.Config(page_app(directory), host=HOST, log_level="warning")
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()  # whoever is told the address may come before the server has started
        ready(f"http://{HOST}:{listening.getsockname()[1]}/")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
