"""The other side of a relay: raw sockets on loopback that answer with a test's very bytes, and count."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.ports import FetchRequest

#: the upstream's public name, which `Renamed` leads to loopback
NAME = "site.example.org"
Play = Callable[["Line"], None]


@dataclass
class Line:
    """One connection, seen from the server."""

    socket: socket.socket
    head: str
    body: bytes

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def wait_until_left(self, seconds: float = 10) -> bool:
        """Whether the client hung up within the time."""
        self.socket.settimeout(seconds)
        try:
            while self.socket.recv(65_536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True


@dataclass
class Upstream:
    """`play` answers each request; `seen` are their heads and bodies."""

    port: int = 0
    play: Play = field(default_factory=lambda: _greet)
    seen: list[Line] = field(default_factory=list)

    def forget(self) -> None:
        self.play = _greet
        self.seen.clear()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fetch_path(self, path: str = "/") -> str:
        """The path of the relay that leads to a path of this one."""
        return "/v1/fetch?url=" + quote(f"http://{NAME}:{self.port}{path}", safe="")


def answer(body: bytes = b"hi", status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def _greet(line: Line) -> None:
    line.send(answer())


@contextmanager
def upstream() -> Iterator[Upstream]:
    """A running one; every connection is closed with it."""
    site, lines = Upstream(), set[socket.socket]()

    def one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            site.play(_request(connection, site.seen))

    def run(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                lines.add(connection)
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        site.port = listening.getsockname()[1]
        threading.Thread(target=run, args=(listening,), daemon=True).start()
        yield site
        listening.shutdown(socket.SHUT_RDWR)
    for connection in lines:
        connection.close()


def _request(connection: socket.socket, seen: list[Line]) -> Line:
    text = b""
    while b"\r\n\r\n" not in text:
        piece = connection.recv(65_536)
        if not piece:
            raise OSError("no request")
        text += piece
    raw, _, body = text.partition(b"\r\n\r\n")
    head = raw.decode("latin-1").lower()
    length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65_536)
    seen.append(Line(connection, raw.decode("latin-1"), body))
    return seen[-1]


class Renamed(HttpFetch):
    """The transport, with the public name on loopback: relays refuse loopback itself before any call."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_private=True, trust_env=False, **options)

    def open(self, request: FetchRequest) -> Any:
        return super().open(request._replace(url=request.url.replace(NAME, "127.0.0.1")))
