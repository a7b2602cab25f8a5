"""Connections on CPython: how a socket is opened, to which address, and which ones are kept.

httpcore2 speaks HTTP on them. Its own pool looks at every open connection for each request, which at 500 of them costs
ten times the request; here idle ones stand in a stack for each origin. Owned here too: that guarded connections go to
the very addresses that were checked, and how large a head may be. Must not know: requests, redirects, proxies.
"""
# The engine's interfaces have parameters that are not looked at here.
# ruff: noqa: ARG002

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import itertools
import socket
import ssl
from collections import deque
from collections.abc import Iterable
from typing import Any

import httpcore2

from agrun_host.reading_guard import check_addresses

__all__ = ["Connections", "HeadTooLarge", "Sockets", "head_has_come", "hung_up"]

_KEEP_S = 30.0
_KEEP_MOST = 1000
_WRITE_BUFFER = 65_536
#: bytes of an answer before its body: one head has 100 KB at most, but any number of 1xx heads may stand before it
_MOST_HEAD = 196_608
#: RFC 8305: how long one address is tried alone before the next one joins
_HAPPY_EYEBALLS_S = 0.25

Origin = tuple[bytes, bytes, int | None, bool]


class HeadTooLarge(httpcore2.RemoteProtocolError):
    """So much came of an answer, and still not its head."""


def head_has_come(answer: httpcore2.Response) -> None:
    """What comes from now on is the body, whose size is the reader's affair."""
    connection = answer.extensions.get("network_stream")
    if isinstance(connection, _Socket):
        connection.head_left = None


def hung_up(connection: httpcore2.AsyncHTTPConnection, fault: BaseException) -> bool:
    """Was the connection closed before a byte of an answer came? A kept one may have been before the request was."""
    stream = getattr(connection._connection, "_network_stream", None)
    nothing_came = isinstance(stream, _Socket) and stream.head_left == _MOST_HEAD
    return nothing_came and isinstance(fault, (OSError, httpcore2.RemoteProtocolError))


class Connections:
    """Open connections, most recently used first. One event loop at a time; those of another one are forgotten."""

    def __init__(self) -> None:
        #: by origin; the origin that was given back to last stands last
        self._idle: dict[Origin, deque[httpcore2.AsyncHTTPConnection]] = {}
        self._active: set[httpcore2.AsyncHTTPConnection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: ssl.SSLContext | None = None
        self._open = Sockets(public_only=False)
        self._guarded = Sockets(public_only=True)

    async def take(self, url: httpcore2.URL, *, public_only: bool) -> tuple[httpcore2.AsyncHTTPConnection, bool]:
        """A connection to this origin, and whether it was used before."""
        self._forget_other_loops()
        origin = (url.scheme, url.host, url.port, public_only)
        while (kept := self._idle.get(origin)) is not None:
            connection = kept.pop()
            if not kept:
                del self._idle[origin]
            if not connection.has_expired() and connection.is_available():
                self._active.add(connection)
                return connection, True
            await connection.aclose()
        return self._new(url, public_only), False

    async def give(self, url: httpcore2.URL, connection: httpcore2.AsyncHTTPConnection, *, public_only: bool) -> None:
        """Back from a request: kept when it can be used again, else closed."""
        self._active.discard(connection)
        if not connection.is_available() or connection.has_expired() or _says_more(connection):
            await connection.aclose()
            return
        origin = (url.scheme, url.host, url.port, public_only)
        kept = self._idle.pop(origin, None) or deque()
        kept.append(connection)
        self._idle[origin] = kept
        while len(kept) > _KEEP_MOST or kept[0].has_expired():
            await kept.popleft().aclose()
        await self._close_unused_origins()

    async def aclose(self) -> None:
        """Close all, those in use too."""
        self._forget_other_loops()
        open_now = [*self._active, *(connection for kept in self._idle.values() for connection in kept)]
        self._active.clear()
        self._idle.clear()
        for connection in open_now:
            await connection.aclose()

    async def _close_unused_origins(self) -> None:
        """Closes what has expired at origins that nobody asks any more; the one asked longest ago stands first."""
        while self._idle:
            origin, kept = next(iter(self._idle.items()))
            if not kept[-1].has_expired():
                return
            del self._idle[origin]
            for connection in kept:
                await connection.aclose()

    def _forget_other_loops(self) -> None:
        # What belongs to a loop that has ended cannot be closed on this one.
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._idle.clear()
            self._active.clear()

    def _new(self, url: httpcore2.URL, public_only: bool) -> httpcore2.AsyncHTTPConnection:
        if url.scheme == b"https" and self._tls is None:
            # Reading the machine's certificates takes longer than a request: once, and only where they are needed.
            self._tls = httpcore2.default_ssl_context()
        connection = httpcore2.AsyncHTTPConnection(
            origin=url.origin,
            ssl_context=self._tls,
            keepalive_expiry=_KEEP_S,
            network_backend=self._guarded if public_only else self._open,
        )
        self._active.add(connection)
        return connection


def _says_more(connection: httpcore2.AsyncHTTPConnection) -> bool:
    """Did something come behind the end of the answer? The engine would take it for the answer to the next request.
    Also where the engine's inside is another than the one this was written for: then no connection is used again."""
    state = getattr(getattr(connection, "_connection", None), "_h11_state", None)
    return state is None or bool(state.trailing_data[0])


class Sockets(httpcore2.AsyncNetworkBackend):
    """asyncio's own streams. Time limits are the caller's, who cancels; so `timeout` is not looked at."""

    def __init__(self, *, public_only: bool) -> None:
        self._public_only = public_only

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await _addresses(host, port)
        if self._public_only:
            check_addresses(host, addresses)
        return _Socket(*await _connect(addresses, port))


class _Socket(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._held = b""
        self.head_left: int | None = _MOST_HEAD

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self._held:
            await self._send()
        data = await self._reader.read(max_bytes)
        if self.head_left is not None:
            self.head_left -= len(data)
            if self.head_left < 0:
                raise HeadTooLarge("the head does not end")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        # The engine writes head and body apart and then reads: together they are one packet and one system call.
        self._held += buffer
        self.head_left = _MOST_HEAD
        if len(self._held) > _WRITE_BUFFER:
            await self._send()

    async def _send(self) -> None:
        held, self._held = self._held, b""
        self._writer.write(held)
        try:
            if self._writer.transport.get_write_buffer_size() > _WRITE_BUFFER:
                await self._writer.drain()
        except OSError as fault:
            # The engine then still reads what the server said before it hung up.
            raise httpcore2.WriteError(str(fault)) from fault

    async def aclose(self) -> None:
        # At once: closing politely would first send what is left, and wait for the other side under TLS.
        self._writer.transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException:
            # The engine does not know this connection yet: nobody else closes it.
            await self.aclose()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            # Of an idle connection: the server has closed it, or says something nobody asked for.
            return self._reader.at_eof() or self._writer.is_closing() or bool(self._reader._buffer)  # type: ignore[attr-defined]
        return self._writer.get_extra_info(info)


async def _addresses(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order to try them: the two families take turns (RFC 8305)."""
    with contextlib.suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    families: dict[int, list[str]] = {}
    for family, *_, place in found:
        families.setdefault(family, []).append(str(place[0]))
    turns = itertools.zip_longest(*(dict.fromkeys(addresses) for addresses in families.values()))
    return [address for turn in turns for address in turn if address is not None]


async def _connect(addresses: list[str], port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first address that answers; each is tried alone for a moment before the next one joins.

    asyncio's own race loses the connection that was made when it is cancelled at the wrong moment.
    """
    if len(addresses) == 1:
        return await asyncio.open_connection(addresses[0], port)
    failures: list[OSError] = []
    left = deque(addresses)
    tries: set[asyncio.Task[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = set()
    try:
        while left or tries:
            if left:
                tries.add(asyncio.create_task(asyncio.open_connection(left.popleft(), port)))
            wait = _HAPPY_EYEBALLS_S if left else None
            done, _ = await asyncio.wait(tries, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            for tried in done:
                tries.discard(tried)
                fault = tried.exception()
                if fault is None:
                    return tried.result()
                if not isinstance(fault, OSError):
                    raise fault
                failures.append(fault)
    finally:
        for late in tries:
            late.cancel()
            late.add_done_callback(_let_go)
    # A machine without IPv6 says so of each such address; what the other ones said is the reason.
    raise min(failures, key=lambda fault: fault.errno in (errno.ENETUNREACH, errno.EADDRNOTAVAIL))


def _let_go(late: asyncio.Task[tuple[asyncio.StreamReader, asyncio.StreamWriter]]) -> None:
    if not late.cancelled() and late.exception() is None:
        late.result()[1].transport.abort()
