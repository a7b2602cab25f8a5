"""A loopback server that speaks the providers' APIs: raw asyncio, HTTP/1.1, chunked server-sent events, CORS.

In a test: `async with FakeProviders([reply, ...]) as server:`; from outside: `python -m tests.fakes.providers --port
N`, then `POST /_script` with a list of replies and `GET /_stats`. A reply is what `wire` takes, or `{"error":
{"status", "headers"?, "body"?}}`, with options: `split: "every_byte"` (each byte in a chunk of its own), `stallAfter:
n` (after n events nothing more comes, the connection stays open), `cutAfter: n` (the connection breaks after n bytes),
`delayMs` (before each event), `raw: [texts]` with `contentType` (these bytes as they are). The last reply repeats. In a
test a reply may be a function of the request's body.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tests.fakes import wire

_CORS = (
    "access-control-allow-origin: *\r\naccess-control-allow-methods: *\r\naccess-control-max-age: 600\r\n"
    "access-control-allow-headers: authorization, content-type, accept, x-api-key, x-goog-api-key, anthropic-version, "
    "anthropic-dangerous-direct-browser-access\r\naccess-control-expose-headers: retry-after, retry-after-ms\r\n"
)
_STALL_TICK = 0.02


@dataclass
class Seen:
    """One request as it came. Header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Stats:
    """`closed` counts connections that the client closed in the middle of a reply, `bytes_after_close` what was still
    written to such a connection."""

    connections: int = 0
    requests: int = 0
    closed: int = 0
    bytes_after_close: int = 0
    written: int = 0


@dataclass
class FakeProviders:
    replies: Sequence[Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]] = ({"text": "Hello."},)
    host: str = "127.0.0.1"
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    stats: Stats = field(default_factory=Stats)

    async def __aenter__(self) -> Self:
        self._handlers: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._connected, self.host, self.port, limit=1 << 26)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._handlers:
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    @property
    def url(self) -> str:
        """The origin: a base URL for every dialect."""
        return f"http://{self.host}:{self.port}"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        self.stats.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; is the connection to be kept?"""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head[1:] if line}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "OPTIONS":
            writer.write(f"HTTP/1.1 204 No Content\r\n{_CORS}content-length: 0\r\n\r\n".encode())
            return True
        if path.startswith("/_"):
            self._control(path, body, writer)
            return True
        self.seen.append(Seen(method, path, headers, json.loads(body) if body else None))
        reply = self.replies[min(self.stats.requests, len(self.replies) - 1)]
        self.stats.requests += 1
        if callable(reply):
            reply = reply(self.seen[-1].body)
        return await self._reply(reply, self.seen[-1], reader, writer)

    def _control(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/_script":
            self.replies = json.loads(body)
            self.stats = Stats()
            self.seen.clear()
        _send(writer, 200, {}, "application/json", json.dumps(asdict(self.stats)).encode())

    async def _reply(
        self, reply: Mapping[str, Any], seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        api = wire.api_of(seen.path)
        if "error" in reply:
            error = reply["error"]
            body = error.get("body", "")
            kind = "application/json" if body[:1] in ("{", "[") else "text/plain"
            _send(writer, error["status"], error.get("headers", {}), kind, body.encode())
            return True
        if api is None:
            _send(writer, 404, {}, "text/plain", b"404 page not found")
            return True
        if "raw" in reply:
            frames = [text.encode() for text in reply["raw"]]
        elif wire.asks_for_stream(api, seen.path, seen.body):
            frames = wire.frames(api, reply)
        else:
            _send(writer, 200, {}, "application/json", json.dumps(wire.whole(api, reply)).encode())
            return True
        label = reply.get("contentType", "text/event-stream")
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {label}\r\n{_CORS}transfer-encoding: chunked\r\n\r\n".encode())
        return await self._stream(frames, reply, reader, writer)

    async def _stream(
        self,
        frames: list[bytes],
        reply: Mapping[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        stall_after, cut_after = reply.get("stallAfter"), reply.get("cutAfter")
        if cut_after is not None:
            frames = [b"".join(frames)[:cut_after]]
        for number, frame in enumerate(frames):
            if number == stall_after:
                return await self._stall(reader)
            if reply.get("delayMs"):
                await asyncio.sleep(reply["delayMs"] / 1000)
            chunks = [frame[at : at + 1] for at in range(len(frame))] if reply.get("split") == "every_byte" else [frame]
            for chunk in filter(None, chunks):
                if reader.at_eof():
                    self.stats.closed += 1
                    self.stats.bytes_after_close += len(chunk)
                    return False
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                self.stats.written += len(chunk)
            await writer.drain()
        if cut_after is not None:
            return False
        if stall_after is not None and stall_after >= len(frames):
            return await self._stall(reader)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _stall(self, reader: asyncio.StreamReader) -> bool:
        """Nothing more comes; waits for the client to go."""
        while not reader.at_eof():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1), _STALL_TICK)
        self.stats.closed += 1
        return False


def _send(writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], kind: str, body: bytes) -> None:
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{_CORS}{more}content-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


async def _serve(port: int) -> None:
    async with FakeProviders(port=port) as server:
        print(f"ready {server.port}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=0)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(options.parse_args().port))


if __name__ == "__main__":
    main()
