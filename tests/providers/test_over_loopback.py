"""All dialects over real connections: the fetch port of CPython against the fake providers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.config import ProviderConfig, RetryConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import Message, ModelReply, ModelRequest, TextDelta, ToolSpec
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.registry import create_provider
from agrun_wasm.providers.retry import collect_reply
from tests.fakes.clock import RecordingClock
from tests.fakes.providers import FakeProviders

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini", "openai-compatible")
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)

REQUEST = ModelRequest(
    purpose="planner",
    system="s",
    messages=(Message(role="user", text="hi"),),
    tools=(ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}}),),
)
REPLY = {
    "text": "Grüße 🌊",
    "toolCalls": [{"id": "k1", "name": "add", "args": {"a": 1}}, {"id": "k2", "name": "add", "args": {"a": 2}}],
    "usage": {"inputTokens": 3, "outputTokens": 4},
}


@pytest.fixture
async def fetch() -> AsyncIterator[HttpFetch]:
    port = HttpFetch()
    yield port
    await port.aclose()


def provider_of(dialect: str, server: FakeProviders, fetch: HttpFetch, **more: Any) -> Any:
    config = ProviderConfig(name=dialect, model="m", base_url=server.url, api_key=SecretStr("sk-key"), **more)
    return create_provider(config, {}, fetch, RecordingClock())


def check(reply: ModelReply) -> None:
    assert (reply.text, reply.finish) == ("Grüße 🌊", "tool_calls")
    assert [(call.id, call.name) for call in reply.tool_calls] == [("k1", "add"), ("k2", "add")]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 4)


@each_dialect
@pytest.mark.parametrize("options", [{}, {"split": "every_byte"}])
async def test_a_reply_and_another_on_the_same_connection(
    dialect: str, options: dict[str, Any], fetch: HttpFetch
) -> None:
    async with FakeProviders([{**REPLY, **options}]) as server:
        provider = provider_of(dialect, server, fetch)
        for _ in range(2):
            check(await collect(provider.stream(REQUEST), lambda event: None))
        assert (server.stats.connections, server.stats.closed) == (1, 0)


@each_dialect
async def test_a_reply_in_one_body(dialect: str, fetch: HttpFetch) -> None:
    async with FakeProviders([REPLY]) as server:
        provider = provider_of(dialect, server, fetch, settings={"stream": False})
        check(await collect(provider.stream(REQUEST), lambda event: None))


@each_dialect
@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_a_stopped_call_is_closed_on_the_wire(dialect: str, how: str, fetch: HttpFetch) -> None:
    async with FakeProviders([{"text": "one two three four five", "stallAfter": 6}]) as server:
        begun = asyncio.Event()
        stream = provider_of(dialect, server, fetch).stream(REQUEST)

        async def call() -> None:
            async for event in stream:
                if isinstance(event, TextDelta):
                    begun.set()
                    if how == "close":
                        break
            await stream.aclose()

        task = asyncio.ensure_future(call())
        await asyncio.wait_for(begun.wait(), 2)
        since = time.monotonic()
        if how == "cancel":
            task.cancel()
        while not server.stats.closed:
            await asyncio.sleep(0.005)
            assert time.monotonic() - since < 1
        await asyncio.wait([task])
        assert server.stats.bytes_after_close == 0


@each_dialect
async def test_a_stall_is_a_timeout(dialect: str, fetch: HttpFetch) -> None:
    async with FakeProviders([{"text": "one two three four five six", "stallAfter": 2}]) as server:
        provider = provider_of(dialect, server, fetch, timeout_ms=150)
        with pytest.raises(ProviderError) as caught:
            await collect(provider.stream(REQUEST), lambda event: None)
        assert caught.value.code == "PROVIDER_TIMEOUT"


@each_dialect
async def test_a_broken_connection_is_no_reply(dialect: str, fetch: HttpFetch) -> None:
    async with FakeProviders([{"text": "one two three four five six", "cutAfter": 250}]) as server:
        with pytest.raises(ProviderError) as caught:
            await collect(provider_of(dialect, server, fetch).stream(REQUEST), lambda event: None)
        assert caught.value.code == "PROVIDER_BAD_RESPONSE"


@each_dialect
async def test_a_busy_provider_is_asked_again(dialect: str, fetch: HttpFetch) -> None:
    busy = {"error": {"status": 503, "headers": {"Retry-After": "2"}, "body": "busy"}}
    async with FakeProviders([busy, busy, REPLY]) as server:
        clock = RecordingClock()
        provider = provider_of(dialect, server, fetch)
        reply = await collect_reply(
            lambda: provider.stream(REQUEST),
            retry=RetryConfig(),
            clock=clock,
            on_delta=lambda event: None,
            on_retry=lambda *_: None,
        )
        check(reply)
        assert clock.waits == [2_000, 2_000]
        assert server.stats.connections == 1


async def test_the_server_speaks_cors() -> None:
    async with FakeProviders() as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"OPTIONS /v1/messages HTTP/1.1\r\nhost: x\r\norigin: http://page\r\n\r\n")
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.close()
        assert "204" in head
        assert "access-control-allow-origin: *" in head
        assert "x-goog-api-key" in head
