"""Connections: none is left open that nobody holds, however a call ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from typing import Any

import pytest

from agrun_host import network
from agrun_host.transport import HttpFetch
from tests.host.kit import Doors, counting, fetching, get, page, read, refused


def whole(writer: asyncio.StreamWriter, number: int) -> None:
    writer.write(page(body=b"ok"))


def endless(writer: asyncio.StreamWriter, number: int) -> None:
    """A body whose end never comes."""
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n")


def silent(writer: asyncio.StreamWriter, number: int) -> None:
    pass


def held(fetch: HttpFetch) -> int:
    """How many connections the port still counts as its own."""
    connections = fetch._connections
    return len(connections._active) + sum(map(len, connections._idle.values()))


async def test_a_connection_that_was_kept_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_KEEP_S", 0.05)
    async with counting(whole) as server, fetching() as fetch:
        await read(fetch, get(server.url))
        await asyncio.sleep(0.1)
        await read(fetch, get(server.url))
        assert server.taken == 2
        await server.settle(1)
        assert held(fetch) == 1


async def test_origins_that_nobody_asks_any_more_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_KEEP_S", 0.05)
    async with counting(whole) as first, counting(whole) as second, counting(whole) as third, fetching() as fetch:
        await read(fetch, get(first.url))
        await read(fetch, get(second.url))
        await asyncio.sleep(0.1)
        await read(fetch, get(third.url))
        await first.settle(0)
        await second.settle(0)
        assert held(fetch) == third.open == 1
        assert len(fetch._connections._idle) == 1


async def test_a_connection_that_the_server_closed_is_not_kept() -> None:
    def once(writer: asyncio.StreamWriter, number: int) -> None:
        whole(writer, number)
        writer.close()

    async with counting(once) as server, fetching() as fetch:
        for _ in range(3):
            assert (await read(fetch, get(server.url)))[1] == b"ok"
            await asyncio.sleep(0.02)
        assert server.taken == 3
        assert held(fetch) <= 1


async def _cancelled_after(delay: float, fetch: HttpFetch, server: Doors, *, reading: bool) -> None:
    async def call() -> None:
        async with fetch.open(get(server.url)) as response:
            if reading:
                async for _ in response.chunks():
                    pass
            # Otherwise the block is left, and the port waits a moment for the end of the reply.

    task = asyncio.ensure_future(call())
    await asyncio.sleep(delay)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("answer", "reading"),
    [(silent, False), (endless, True), (endless, False)],
    ids=["no head yet", "in the body", "while the port waits for the end"],
)
async def test_a_cancelled_call_holds_nothing(answer: object, reading: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agrun_host.transport._LAST_CHUNK_S", 5)
    async with counting(answer) as server, fetching() as fetch:  # type: ignore[arg-type]
        await _cancelled_after(0.05, fetch, server, reading=reading)
        assert server.taken == 1
        assert held(fetch) == 0
        await server.settle(0)


async def test_a_call_cancelled_at_any_moment_holds_nothing() -> None:
    """Not after so many seconds, but at each step of the event loop that a whole call takes."""
    async with counting(whole) as server, fetching() as fetch:
        for steps in range(40):
            task = asyncio.ensure_future(read(fetch, get(server.url)))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert not fetch._connections._active, f"cancelled after {steps} steps"
        await fetch.aclose()
        await server.settle(0)


async def test_a_tls_greeting_that_is_never_answered_holds_nothing() -> None:
    """The server takes the connection and says nothing."""

    async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(4096):
                pass
            gone.set()
        finally:
            writer.close()

    gone = asyncio.Event()
    server = await asyncio.start_server(quiet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with fetching() as fetch:
        task = asyncio.ensure_future(read(fetch, get(f"https://127.0.0.1:{port}/")))
        await asyncio.sleep(0.1)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await asyncio.wait_for(gone.wait(), 2)
        assert held(fetch) == 0
    server.close()


def test_a_port_that_was_left_open_can_be_closed_in_another_loop() -> None:
    fetch = HttpFetch()

    async def call() -> None:
        async with counting(whole) as server:
            await read(fetch, get(server.url))
            for kept in fetch._connections._idle.values():
                await kept[0].aclose()  # the socket only: the port does not know
            await server.settle(0)

    asyncio.run(call())
    assert held(fetch) == 1
    asyncio.run(fetch.aclose())
    assert held(fetch) == 0


class Names:
    """A resolver and a network of a test: which addresses a name has, and which of them answer, after how long."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, server: Doors, **answers: float | OSError) -> None:
        self.tried: list[str] = []
        self._answers = {address.replace("_", "."): answer for address, answer in answers.items()}
        self._port = int(server.url.rpartition(":")[2])
        self._open = asyncio.open_connection
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", self._resolve)
        monkeypatch.setattr(asyncio, "open_connection", self._connect)

    async def _resolve(self, host: str, port: int, **more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self._answers]

    async def _connect(self, address: str, port: int) -> Any:
        self.tried.append(address)
        answer = self._answers[address]
        if isinstance(answer, OSError):
            raise answer
        await asyncio.sleep(answer)
        return await self._open("127.0.0.1", self._port)


async def test_of_several_addresses_the_first_that_answers_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    async with counting(whole) as server, fetching() as fetch:
        gone = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        names = Names(monkeypatch, server, a_1=gone, a_2=60, a_3=0, a_4=0)
        assert (await read(fetch, get("http://many.example/")))[0] == 200
        assert names.tried == ["a.1", "a.2", "a.3"]
        await server.settle(1)


async def test_connections_that_come_too_late_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_HAPPY_EYEBALLS_S", 0)
    async with counting(whole) as server, fetching() as fetch:
        Names(monkeypatch, server, a_1=0.02, a_2=0.02, a_3=0.02)
        await read(fetch, get("http://many.example/"))
        await server.settle(1)
        await fetch.aclose()
        await server.settle(0)


async def test_a_cancelled_race_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with counting(whole) as server, fetching() as fetch:
        Names(monkeypatch, server, a_1=0, a_2=0)
        for steps in range(30):
            task = asyncio.ensure_future(read(fetch, get("http://many.example/")))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert not fetch._connections._active, f"cancelled after {steps} steps"
        await fetch.aclose()
        await server.settle(0)


async def test_where_no_address_answers_the_telling_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    async with counting(whole) as server, fetching() as fetch:
        unreachable = OSError(errno.ENETUNREACH, "unreachable")
        Names(monkeypatch, server, a_1=unreachable, a_2=ConnectionRefusedError(errno.ECONNREFUSED, "refused"))
        assert (await refused(fetch, get("http://many.example/"))).message == "connection refused"
