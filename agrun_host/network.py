"""Connections on CPython: how a socket is opened, to which address, and which ones are kept.

httpcore2 (the engine of httpx2) speaks HTTP on them. Its own pool looks at every open connection for each request,
which at 500 of them costs ten times the request; here idle ones stand in a stack for each origin. Owned here too: the
check that an address is public, made on the very address that is connected to. Must not know: requests, redirects.
"""
# The engine's interfaces have parameters that are not looked at here.
# ruff: noqa: ARG002

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
from collections import deque
from collections.abc import Iterable
from typing import Any, Protocol

import httpcore2

from agrun_wasm.text.hosts import is_private_host

__all__ = ["Connection", "Connections", "PrivateAddressError", "names_proxies", "proxy_of"]

_KEEP_S = 30.0
_KEEP_MOST = 1000
_WRITE_BUFFER = 65_536
#: RFC 8305: how long one address is tried alone before the next one joins
_HAPPY_EYEBALLS_S = 0.25

Origin = tuple[bytes, bytes, int | None, bool]


class PrivateAddressError(Exception):
    """A host resolves to an address that is not public."""


class Connection(Protocol):
    """What a request is sent on: one of ours, or a pool that goes through a proxy."""

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response: ...


class Connections:
    """Open connections, most recently used first. One event loop at a time; those of another one are forgotten."""

    def __init__(self) -> None:
        self._idle: dict[Origin, deque[httpcore2.AsyncHTTPConnection]] = {}
        self._active: set[httpcore2.AsyncHTTPConnection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: ssl.SSLContext | None = None
        self._open = _Sockets(public_only=False)
        self._guarded = _Sockets(public_only=True)

    def take(self, url: httpcore2.URL, *, public_only: bool) -> tuple[httpcore2.AsyncHTTPConnection, bool]:
        """A connection to this origin, and whether it was used before."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._idle.clear()
            self._active.clear()
        kept = self._idle.get((url.scheme, url.host, url.port, public_only))
        while kept:
            connection = kept.pop()
            if not connection.has_expired() and connection.is_available():
                self._active.add(connection)
                return connection, True
        return self._new(url, public_only), False

    async def give(self, url: httpcore2.URL, connection: httpcore2.AsyncHTTPConnection, *, public_only: bool) -> None:
        """Back from a request: kept when it can be used again, else closed."""
        self._active.discard(connection)
        if not connection.is_available() or connection.has_expired():
            await connection.aclose()
            return
        kept = self._idle.setdefault((url.scheme, url.host, url.port, public_only), deque())
        kept.append(connection)
        while kept and (len(kept) > _KEEP_MOST or kept[0].has_expired()):
            await kept.popleft().aclose()

    async def aclose(self) -> None:
        """Close all, those in use too."""
        open_now = [*self._active, *(connection for kept in self._idle.values() for connection in kept)]
        self._active.clear()
        self._idle.clear()
        for connection in open_now:
            await connection.aclose()

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


class _Sockets(httpcore2.AsyncNetworkBackend):
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
        if not self._public_only:
            return _Socket(*await asyncio.open_connection(host, port, happy_eyeballs_delay=_HAPPY_EYEBALLS_S))
        failure: OSError | None = None
        for address in await _public_addresses(host, port):
            try:
                return _Socket(*await asyncio.open_connection(address, port))
            except OSError as fault:
                failure = fault
        raise failure or OSError(f"no address of {host} answers")


class _Socket(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._held = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self._held:
            await self._send()
        return await self._reader.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        # The engine writes head and body apart and then reads: together they are one packet and one system call.
        self._held += buffer
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
        await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            # Of an idle connection: the server has closed it, or says something nobody asked for.
            return self._reader.at_eof() or self._writer.is_closing() or bool(self._reader._buffer)  # type: ignore[attr-defined]
        return self._writer.get_extra_info(info)


async def _public_addresses(host: str, port: int) -> list[str]:
    """The addresses of a host, all of them public, or PrivateAddressError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=1)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        bare = address.partition("%")[0]
        literal = f"[{bare}]" if ":" in bare else bare
        if "%" in address or is_private_host(literal) or not ipaddress.ip_address(bare).is_global:
            raise PrivateAddressError(f"{host} has the address {address}, which is not public")
    return addresses


def names_proxies() -> bool:
    """Does the environment name any proxy?"""
    return any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ)


def proxy_of(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for a host, None for a direct connection."""
    import urllib.request

    proxies = urllib.request.getproxies()
    if host == "localhost" or host.startswith("127.") or urllib.request.proxy_bypass(host):
        return None
    return proxies.get(scheme) or proxies.get("all")
