"""The fetch port on CPython: streaming HTTP/1.1 on httpcore2, one pool for each instance.

Owned here: requests, time limits and content decoding. A call that came from the model's wishes (`purpose` read)
reaches what `reading_guard` allows and nothing else, on each redirect again. Must not know: what is fetched and why.
Connections are `network`'s, where redirects lead is `redirects`', the words for what goes wrong are `failures`'.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Collection, Mapping
from functools import lru_cache, partial
from types import TracebackType
from typing import Literal, cast
from urllib.parse import quote, urlsplit

import httpcore2

from agrun_host.failures import failure_of
from agrun_host.inflate import InflateError, inflater_of
from agrun_host.network import Connections, head_has_come, hung_up
from agrun_host.proxies import Proxies
from agrun_host.reading_guard import NotPublicError, check_port, check_url
from agrun_host.redirects import MAX_REDIRECTS, REDIRECTS, headers_along, location, target
from agrun_wasm.contracts.ports import FetchError, FetchRequest
from agrun_wasm.text.hosts import normal_host

__all__ = ["MAX_REDIRECTS", "HttpFetch"]

_DEFAULT_PORTS = {"http": 80, "https": 443}
#: how long the end of a reply is waited for when the caller needs no more of it, so that its connection can be kept
_LAST_CHUNK_S = 0.02
_LAST_CHUNKS_BYTES = 65_536
#: chunks that are taken before others get their turn: a body of one-byte chunks would keep this thread for seconds
_CHUNKS_A_TURN = 64
#: what stands in a path or query as it is
_IN_TARGETS = "%/:=&?~+!$,;'@()*[]|{}^`\\"


class HttpFetch:
    """`read` calls go to public addresses, on the ports 80 and 443 and those of `allow_ports`; `allow_private` lifts
    both limits (for tests). Other calls heed HTTP_PROXY with `trust_env`."""

    platform: Literal["browser", "host"] = "host"

    def __init__(
        self, *, allow_private: bool = False, allow_ports: Collection[int] = (), trust_env: bool = True
    ) -> None:
        self._allow_private = allow_private
        self._ports = frozenset(allow_ports)
        self._connections = Connections()
        self._proxies = Proxies(heed_environment=trust_env)

    def open(self, request: FetchRequest) -> _Call:
        return _Call(self, request)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._connections.aclose()
        await self._proxies.aclose()

    def _guards(self, request: FetchRequest) -> bool:
        return request.purpose == "read" and not self._allow_private


class _Call:
    """One request, as an async context manager that gives the response."""

    def __init__(self, port: HttpFetch, request: FetchRequest) -> None:
        self._port = port
        self._request = request
        self._response: _Response | None = None

    async def __aenter__(self) -> _Response:
        request = self._request
        seconds = None if request.timeout_ms is None else request.timeout_ms / 1000
        try:
            async with asyncio.timeout(seconds):
                self._response = await self._follow(seconds)
        except TimeoutError as fault:
            raise failure_of(fault, request.url) from fault
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            await self._response.close(wait=kind is None)

    async def _follow(self, seconds: float | None) -> _Response:
        """The response after redirects, which are followed for GET and HEAD only."""
        request = self._request
        url, headers, is_redirected = request.url, request.headers, False
        guarded = self._port._guards(request)
        for _ in range(MAX_REDIRECTS + 1):
            try:
                response = await self._send(url, headers, seconds, guarded)
            except NotPublicError as fault:
                if is_redirected:
                    raise FetchError("redirect_private", f"a redirect leads astray: {fault}", url=url) from None
                raise FetchError("private_address", str(fault), url=url) from None
            except FetchError:
                raise
            except Exception as fault:
                raise failure_of(fault, url) from fault
            if response.status not in REDIRECTS or request.method not in ("GET", "HEAD"):
                return response
            try:
                place = location(response.lines, url)
            except FetchError:
                await response.close(wait=False)
                raise
            if place is None:
                return response
            await response.close(wait=True)
            led = target(url, place)
            headers = headers_along(headers, url, led)
            url, is_redirected = led, True
        raise FetchError("too_many_redirects", f"more than {MAX_REDIRECTS} redirects", url=url)

    async def _send(self, url: str, headers: Mapping[str, str], seconds: float | None, guarded: bool) -> _Response:
        if guarded:
            check_url(url)
        place = _parsed(url)
        if guarded:
            check_port(place.port, self._port._ports)
        sent = httpcore2.Request(
            self._request.method,
            place,
            headers=_header_lines(place, headers, self._request),
            content=self._request.body,
        )
        proxy = None if guarded else self._port._proxies.serving(place)
        if proxy is not None:
            try:
                return _Response(url, await proxy.handle_async_request(sent), seconds)
            except Exception as fault:
                failure = failure_of(fault, f"http://{proxy.place}")
                raise FetchError(failure.kind, f"by the proxy {proxy.place}: {failure.message}", url=url) from fault
        connections = self._port._connections
        while True:
            connection, reused = await connections.take(place, public_only=guarded)
            give_back = partial(connections.give, place, connection, public_only=guarded)
            try:
                return _Response(url, await connection.handle_async_request(sent), seconds, give_back)
            except BaseException as fault:
                await give_back()
                # A kept connection that the server closed in that very moment: once more, on another one.
                if not (reused and hung_up(connection, fault)):
                    raise


class _Response:
    """A response whose head has come. `status_text` is the server's reason phrase."""

    def __init__(
        self,
        url: str,
        received: httpcore2.Response,
        seconds: float | None,
        give_back: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.url = url
        self.status = received.status
        reason = received.extensions.get("reason_phrase", b"")
        self.status_text = reason.decode("latin-1")
        self.lines = received.headers
        self.headers = _header_map(received.headers)
        head_has_come(received)
        self._received = received
        self._raw = cast("AsyncGenerator[bytes]", aiter(cast("AsyncIterable[bytes]", received.stream)))
        self._seconds = seconds
        self._give_back = give_back
        self._complete = False
        self._taken = 0

    def chunks(self) -> AsyncIterator[bytes]:
        return _Chunks(self)

    def deadline(self) -> float | None:
        """When a wait that begins now is over, in the loop's time."""
        return None if self._seconds is None else asyncio.get_running_loop().time() + self._seconds

    async def next_chunk(self, until: float | None) -> bytes | None:
        """The next bytes as they were sent, None at the end."""
        try:
            async with asyncio.timeout_at(until):
                self._taken += 1
                if self._taken % _CHUNKS_A_TURN == 0:
                    await asyncio.sleep(0)
                return await anext(self._raw)
        except StopAsyncIteration:
            self._complete = True
            return None
        except Exception as fault:
            raise failure_of(fault, self.url) from fault

    async def close(self, *, wait: bool) -> None:
        """Gives the connection back. `wait`: the end of the reply may be about to come, and is waited for a moment."""
        try:
            if wait and not self._complete:
                with contextlib.suppress(TimeoutError, FetchError):
                    async with asyncio.timeout(_LAST_CHUNK_S):
                        await self._last_chunks()
        finally:
            with contextlib.suppress(Exception):
                await self._raw.aclose()
            with contextlib.suppress(Exception):
                await self._received.aclose()
            if self._give_back is not None:
                await self._give_back()

    async def _last_chunks(self) -> None:
        left = _LAST_CHUNKS_BYTES
        while left > 0 and (chunk := await self.next_chunk(None)) is not None:
            left -= len(chunk)


class _Chunks:
    """The body after content decoding. No generator: leaving it early must not close what `close` still looks at."""

    def __init__(self, response: _Response) -> None:
        self._response = response
        try:
            self._inflater = inflater_of(response.headers.get("content-encoding", ""))
        except InflateError as fault:
            raise FetchError("decode_error", str(fault), url=response.url) from None

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        inflater = self._inflater
        until = self._response.deadline()  # for whatever comes of it: there are bodies that inflate to nothing
        if inflater is None:
            chunk = await self._response.next_chunk(until)
            if chunk is None:
                raise StopAsyncIteration
            return chunk
        try:
            while True:
                piece = inflater.piece()
                if piece:
                    return piece
                chunk = await self._response.next_chunk(until)
                if chunk is None:
                    inflater.check_whole()
                    raise StopAsyncIteration
                inflater.feed(chunk)
        except InflateError as fault:
            raise FetchError("decode_error", str(fault), url=self._response.url) from None


@lru_cache(maxsize=256)
def _parsed(url: str) -> httpcore2.URL:
    parts = urlsplit(url)
    host = normal_host(f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or "")
    if parts.scheme not in _DEFAULT_PORTS or host is None:
        raise FetchError("network_or_cors", "not an http(s) URL")
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_IN_TARGETS)
    return httpcore2.URL(
        scheme=parts.scheme.encode(), host=host.strip("[]").encode(), port=parts.port, target=target.encode()
    )


def _header_lines(place: httpcore2.URL, headers: Mapping[str, str], request: FetchRequest) -> list[tuple[bytes, bytes]]:
    scheme, host, port = place.scheme.decode(), place.host.decode(), place.port
    shown = f"[{host}]" if ":" in host else host
    lines = {
        "host": shown if port in (None, _DEFAULT_PORTS[scheme]) else f"{shown}:{port}",
        "user-agent": "agrun",
        # A compressed event stream waits in somebody's buffer.
        "accept-encoding": "identity" if request.purpose == "model" else "gzip, deflate",
    }
    lines.update((name.lower(), value) for name, value in headers.items())
    if request.body is not None:
        lines["content-length"] = str(len(request.body))
    return [(name.encode(), value.encode()) for name, value in lines.items()]


def _header_map(lines: list[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in lines:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
