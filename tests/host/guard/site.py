"""What the guard is tried against: raw sockets on loopback that count, and a network whose names are a test's.

Names and public addresses of the test are led to the loopback server at the very last step, after every check; all else
is dialled as it is. So a refusal can be seen for what it is: nobody was dialled.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.ports import FetchError, FetchRequest

PUBLIC = "93.184.216.34"
PUBLIC_V6 = "2606:2800:220:1:248:1893:25c8:1946"
_OPEN = asyncio.open_connection
Play = Callable[["Line"], Awaitable[None]]


@dataclass
class Line:
    """One request on one connection, seen from the server."""

    path: str
    headers: dict[str, str]
    number: int
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def send_for_ever(self, piece: bytes, pause: float = 0) -> None:
        """Until the client hangs up. Not at once, however fast it reads."""
        while True:
            await self.send(piece)
            await asyncio.sleep(pause)


@dataclass
class Site:
    """`play` answers; `taken` connections so far, `open` ones now, `heads` the requests."""

    play: Play
    port: int = 0
    taken: int = 0
    open: int = 0
    sent_names: list[str | None] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    async def settled(self, seconds: float = 5) -> None:
        """Waits until no connection is open; fails when it does not come to that."""
        for _ in range(int(seconds * 200)):
            if not self.open:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{self.open} connections are open")


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    lines = {"content-length": str(len(body)), "content-type": "text/plain", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def saying(data: bytes) -> Play:
    async def play(line: Line) -> None:
        await line.send(data)

    return play


@asynccontextmanager
async def running(play: Play, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    site = Site(play)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.taken += 1
        site.open += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        number = site.taken
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head[1:] if line}
                site.lines.append(Line(head[0].split(" ")[1], headers, number, writer))
                playing = asyncio.ensure_future(site.play(site.lines[-1]))
                await _until_left(playing, reader)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            site.open -= 1
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_left(playing: asyncio.Task[None], reader: asyncio.StreamReader) -> None:
    """The play to its end, or until the client is gone."""
    try:
        while not playing.done():
            if reader.at_eof():
                raise ConnectionResetError
            await asyncio.wait({playing}, timeout=0.01)
        playing.result()
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await playing


class Net:
    """Names of the test and where they lead; a list of lists answers one lookup after another.

    `dialled` are the addresses that a connection was asked for. Those of the table lead to `site`; others are refused
    as if nobody were there, so that no test reaches out.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, site: Site | None = None) -> None:
        self.site = site
        self.names: dict[str, list[str] | list[list[str]]] = {}
        self.asked: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", self._resolve)
        monkeypatch.setattr(asyncio, "open_connection", self._connect)

    async def _resolve(self, host: Any, port: Any, **_: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else str(host)
        self.asked.append(name)
        if name not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in self._next(name)
        ]

    def _next(self, name: str) -> Sequence[str]:
        answers = self.names[name]
        if answers and isinstance(answers[0], list):
            return answers.pop(0) if len(answers) > 1 else answers[0]  # type: ignore[return-value]
        return answers  # type: ignore[return-value]

    async def _connect(self, address: str, port: int, **more: Any) -> Any:
        self.dialled.append((address, port))
        if self.site is None or address not in (PUBLIC, PUBLIC_V6):
            raise ConnectionRefusedError
        return await _OPEN("127.0.0.1", self.site.port, **more)


@dataclass
class Reader:
    """A guarded fetch port, and the names that it knows."""

    fetch: HttpFetch
    net: Net

    async def read(self, url: str, *, ms: float = 5_000, method: str = "GET", **headers: str) -> tuple[int, bytes, str]:
        """Status, whole body, final URL."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.fetch.open(FetchRequest(method, url, sent, timeout_ms=ms, purpose="read")) as response:
            return response.status, b"".join([chunk async for chunk in response.chunks()]), response.url

    async def fault(self, url: str, **more: Any) -> FetchError:
        """How a read failed; fails when it did not."""
        try:
            found = await self.read(url, **more)
        except FetchError as fault:
            return fault
        raise AssertionError(f"{url!r} was read: {found}")


@asynccontextmanager
async def reading(monkeypatch: pytest.MonkeyPatch, site: Site | None = None) -> AsyncIterator[Reader]:
    """One on the guard as it is; `www.example.org` is public, and `site` if there is one."""
    fetch = HttpFetch(trust_env=False)
    reader = Reader(fetch, Net(monkeypatch, site))
    reader.net.names["www.example.org"] = [PUBLIC]
    try:
        yield reader
    finally:
        await fetch.aclose()
