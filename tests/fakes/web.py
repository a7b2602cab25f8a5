"""A small web on loopback: pages of any type with CORS, and a search API in SearXNG's form.

In a page its host is a public name (`pages.example.org`, which the tests' Chromium maps to loopback): the runtime reads
no private address.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

HOST = "pages.example.org"


@dataclass
class Web:
    """`pages` by path: content type and body. `found` is what every search finds; `asked` the queries, `read` the
    paths."""

    pages: Mapping[str, tuple[str, str]]
    found: Sequence[Mapping[str, Any]] = ()
    port: int = 0
    asked: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"http://{HOST}:{self.port}{path}"


@contextmanager
def web(pages: Mapping[str, tuple[str, str]], titles: Mapping[str, str]) -> Iterator[Web]:
    """Serves `pages`; a search finds those that have a title, in order."""
    site = Web(pages)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path == "/search":
                site.asked.append(parse_qs(asked.query)["q"][0])
                results = [{"title": t, "url": site.url(path), "content": f"About {t}."} for path, t in titles.items()]
                self._send(200, "application/json", json.dumps({"results": results}))
                return
            site.read.append(asked.path)
            kind, body = pages.get(asked.path, ("text/plain", "no such page"))
            self._send(200 if asked.path in pages else 404, kind, body)

        def do_OPTIONS(self) -> None:
            self._send(204, "text/plain", "")

        def _send(self, status: int, kind: str, body: str) -> None:
            data = body.encode()
            self.send_response(status)
            for name, value in {
                "content-type": f"{kind}; charset=utf-8",
                "content-length": str(len(data)),
                "access-control-allow-origin": "*",
                "access-control-allow-headers": "*",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
