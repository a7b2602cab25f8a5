"""A cable to a database that can be cut: a relay on loopback, that breaks and refuses connections until it is mended.

It runs in a thread of its own: what uses the database may block the loop of a test.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit


class Cable:
    """`url` leads through it."""

    def __init__(self, url: str) -> None:
        whole = urlsplit(url)
        self._host, self._to = whole.hostname, whole.port
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._relays: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.mend()
        self.url = whole._replace(netloc=f"{whole.username}@{self._host}:{self._port}").geturl()

    def mend(self) -> None:
        self._do(self._listen())

    def cut(self) -> None:
        self._do(self._stop())

    def end(self) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._relay_task, self._host, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*self._relays, return_exceptions=True)

    def _relay_task(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relay = asyncio.create_task(self._relay(reader, writer))
        self._relays.add(relay)
        relay.add_done_callback(self._relays.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._host, self._to)
        self._writers |= {writer, far_writer}
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            for end in (writer, far_writer):
                end.transport.abort()
            self._writers -= {writer, far_writer}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


@contextmanager
def cable(url: str) -> Iterator[Cable]:
    laid = Cable(url)
    try:
        yield laid
    finally:
        laid.end()
