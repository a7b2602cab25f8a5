"""Serving the built page: static files with the headers that the page is made for."""

from __future__ import annotations

import mimetypes
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

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
_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".zip": "application/zip"}


class PageFiles(StaticFiles):
    """The files of web/dist."""

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


def find_page() -> Path | None:
    """The built page: `_page` in a wheel, `web/dist` in a checkout."""
    here = Path(__file__).resolve().parent
    for place in (here / "_page", here.parent / "web" / "dist"):
        if (place / "index.html").is_file():
            return place
    return None


def page_app(directory: Path) -> Starlette:
    """A Starlette app that serves the page in `directory`."""
    for suffix, type_ in _TYPES.items():
        mimetypes.add_type(type_, suffix)
    return Starlette(routes=[Mount("/", PageFiles(directory=directory, html=True), name="page")])
