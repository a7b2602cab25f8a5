"""What the tests of relays stand on: a server with both relays, and a tap between it and the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from agrun_host.serve.fetch_relay import fetch_relay_routes
from agrun_host.serve.provider_relay import provider_relay_routes, relayed_providers
from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.ports import FetchRequest
from tests.fakes.providers import FakeProviders
from tests.host.relay.upstream import NAME, Renamed
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

KEY = "sk-relayed-0123456789abcdef"
ENVIRONMENT = {"OPENAI_API_KEY": f"{KEY}-o", "ANTHROPIC_API_KEY": f"{KEY}-a", "GEMINI_API_KEY": f"{KEY}-g"}


@dataclass
class Tap:
    """What stands between the page and the server: every byte both ways."""

    url: str = ""
    sent: bytearray = field(default_factory=bytearray)
    given: bytearray = field(default_factory=bytearray)

    def forget(self) -> None:
        self.sent.clear()
        self.given.clear()


@asynccontextmanager
async def tapped(port: int) -> AsyncIterator[Tap]:
    tap = Tap()
    writers: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to = await asyncio.open_connection("127.0.0.1", port)
        writers.extend((writer, to))
        await asyncio.gather(_pass(reader, to, tap.sent), _pass(there, writer, tap.given))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    tap.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield tap
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: bytearray) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65_536):
            seen += piece
            writer.write(piece)
            await writer.drain()
    writer.close()


class Named(Renamed):
    """The site under its public name, in what is told of it too: a page reads nothing that says it is on loopback."""

    @asynccontextmanager
    async def open(self, request: FetchRequest) -> AsyncIterator[Any]:
        async with super().open(request) as response:
            response.url = response.url.replace("127.0.0.1", NAME)
            yield response


@contextmanager
def relaying(fake: FakeProviders, *, token: str | None, **settings: Any) -> Iterator[Server]:
    """A server with both relays, whose connections are closed with it."""
    calls, reads = HttpFetch(trust_env=False), Named()

    async def at_end() -> None:
        await calls.aclose()
        await reads.aclose()

    places = dict.fromkeys(("openai", "anthropic", "gemini"), fake.url)
    routes = [
        *provider_relay_routes(relayed_providers(ENVIRONMENT, places), calls),
        *fetch_relay_routes(reads, token=token is not None),
    ]
    with serving(Model().runtime(), routes, at_end, token=token, **settings) as server:
        yield server
