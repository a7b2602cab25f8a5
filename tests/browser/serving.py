"""Servers of the page's tests: web/dist under the policy the page promises to run under, and a peer slow on purpose.

Both answer on free loopback ports, each connection in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "web" / "dist"

#: what chapter 3 says the page runs under; connect-src gets the tests' own peers
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self' http://127.0.0.1:* http://*.example.org:*; "
    "base-uri 'none'; form-action 'none'"
)
TYPES = {
    ".mjs": "text/javascript",
    ".js": "text/javascript",
    ".wasm": "application/wasm",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
}

Answer = Callable[[BaseHTTPRequestHandler], bool]


@dataclass
class Site:
    """A served web/dist. `answers` by path come before the files: a test can break one of them."""

    origin: str
    answers: dict[str, Answer] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)


class Upload:
    """One body that a page sends and that pages are given."""

    def __init__(self) -> None:
        self._body = b""

    def take(self, request: BaseHTTPRequestHandler) -> bool:
        self._body = request.rfile.read(int(request.headers["content-length"]))
        request.send_response(204)
        request.end_headers()
        return True

    def give(self, request: BaseHTTPRequestHandler) -> bool:
        request.send_response(200)
        request.send_header("content-length", str(len(self._body)))
        request.end_headers()
        with suppress(ConnectionError):  # a page that was closed
            request.wfile.write(self._body)
        return True


@contextmanager
def served(folder: Path = DIST, policy: str = POLICY) -> Iterator[Site]:
    """The folder on a free port; `policy` is the Content-Security-Policy of all its answers."""
    site = Site("")

    class Files(SimpleHTTPRequestHandler):
        extensions_map = {**SimpleHTTPRequestHandler.extensions_map, **TYPES}
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            site.requested.append(path)
            answer = site.answers.get(path)
            if answer is None or not answer(self):
                super().do_GET()

        def do_POST(self) -> None:
            answer = site.answers.get(self.path.partition("?")[0])
            if answer is None or not answer(self):
                self.send_error(404)

        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def copyfile(self, source: Any, outputfile: Any) -> None:
            with suppress(ConnectionError):  # a worker that was ended mid-download
                super().copyfile(source, outputfile)

        def log_message(self, *_: Any) -> None:
            pass

    with _running(partial(Files, directory=str(folder))) as site.origin:
        yield site


@dataclass
class SlowPeer:
    """Counts what happens on its connections. Sends `piece` every `pause` seconds until the other side is gone."""

    origin: str = ""
    piece: bytes = b"data: {}\n\n"
    pause: float = 0.02
    head: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    status: int = 200
    allow_origin: bool = True
    silent: bool = False
    opened: int = 0
    closed: int = 0
    pieces: int = 0
    closed_at: float = 0.0

    def wait_closed(self, count: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.closed < count and time.monotonic() < end:
            time.sleep(0.01)
        return self.closed >= count


@contextmanager
def slow_peer() -> Iterator[SlowPeer]:
    peer = SlowPeer()

    class Slow(BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self._cors()
            self.end_headers()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def do_GET(self) -> None:
            peer.opened += 1
            try:
                if not peer.silent:
                    self.send_response(peer.status)
                    for name, value in peer.head.items():
                        self.send_header(name, value)
                    self._cors()
                    self.end_headers()
                self._flow()
            finally:
                peer.closed += 1
                peer.closed_at = time.monotonic()

        def _flow(self) -> None:
            self.connection.settimeout(peer.pause)
            try:
                while True:
                    if not peer.silent:
                        self.wfile.write(peer.piece)
                        self.wfile.flush()
                        peer.pieces += 1
                    try:
                        if self.connection.recv(1) == b"":
                            return
                    except TimeoutError:
                        continue
            except OSError:
                return

        def _cors(self) -> None:
            if peer.allow_origin:
                self.send_header("access-control-allow-origin", "*")
                self.send_header("access-control-allow-headers", "*")

        def log_message(self, *_: Any) -> None:
            pass

    with _running(Slow) as peer.origin:
        yield peer


@contextmanager
def _running(handler: Any) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
