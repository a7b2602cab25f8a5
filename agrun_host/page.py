"""The built page: where it lies, its files under their types, and the headers that it is made for.

Must not know: what else is served, and where.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["PageHeaders", "find_page", "page_files"]

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
