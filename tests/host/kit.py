"""What the tests of the transport need: a server that answers as a test says and counts its connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.ports import FetchError, FetchRequest
from tests.fakes.providers import FakeProviders

Respond = Callable[[str, dict[str, str]], bytes | None]


def page(status: str = "200 OK", body: bytes = b"", **headers: str) -> bytes:
    lines = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


@asynccontextmanager
async def serving(respond: Respond) -> AsyncIterator[str]:
    """A server that answers a path; None closes the connection without a word."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head[1:] if line}
                answer = respond(head[0].split(" ")[1], headers)
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@dataclass
class Doors:
    """A server's address, and how many connections it took and still holds."""

    url: str = ""
    taken: int = 0
    open: int = 0

    async def settle(self, still_open: int) -> None:
        """Waits a moment until that many connections are open; fails when it does not come to that."""
        for _ in range(200):
            if self.open == still_open:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{self.open} connections are open, not {still_open}")


@asynccontextmanager
async def counting(answer: Callable[[asyncio.StreamWriter, int], None]) -> AsyncIterator[Doors]:
    """A server that lets a test write the answer to each request, and counts; the number is the connection's."""
    doors = Doors()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        doors.taken += 1
        doors.open += 1
        number = doors.taken
        try:
            while (await reader.readuntil(b"\r\n\r\n")) and not writer.is_closing():
                answer(writer, number)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            doors.open -= 1
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    doors.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield doors
    finally:
        server.close()


@asynccontextmanager
async def fetching(**options: Any) -> AsyncIterator[HttpFetch]:
    fetch = HttpFetch(**options)
    try:
        yield fetch
    finally:
        await fetch.aclose()


def get(url: str, purpose: Any = "search", **more: Any) -> FetchRequest:
    return FetchRequest("GET", url, purpose=purpose, timeout_ms=5_000, **more)


async def read(fetch: HttpFetch, request: FetchRequest) -> tuple[int, bytes, str]:
    async with fetch.open(request) as response:
        return response.status, b"".join([chunk async for chunk in response.chunks()]), response.url


async def refused(fetch: HttpFetch, request: FetchRequest) -> FetchError:
    """How a call that must fail did so."""
    try:
        await read(fetch, request)
    except FetchError as fault:
        return fault
    raise AssertionError("the call did not fail")


@contextmanager
def providers_at_work(*replies: Mapping[str, Any]) -> Iterator[FakeProviders]:
    """The fake providers on a loop of their own, for a command that blocks this one. Their lists may be looked at."""
    fake = FakeProviders(replies or ({"text": "Hello."},))
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with fake:
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    try:
        yield fake
    finally:
        done.set()
        thread.join()
