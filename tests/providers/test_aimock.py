"""All dialects against aimock, a mock of the providers' APIs that others wrote and check against the real ones.

It cuts text by UTF-16 units, one to a chunk here, so that characters outside the basic plane come in halves.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import Message, ModelReply, ModelRequest, ToolSpec
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.registry import create_provider
from tests.fakes.clock import RecordingClock

DIALECTS = ("openai", "openai-compatible", "openai-responses", "anthropic", "gemini")
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)
streamed_or_not = pytest.mark.parametrize("stream", [True, False])

TEXT = "Grüße 🌊 aus 北京."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS = (ToolSpec("weather", "The weather of a city.", SCHEMA), ToolSpec("noop", "Does nothing.", {"type": "object"}))
CALLS = [{"name": "weather", "arguments": '{"city":"Köln 🌊"}'}, {"name": "weather", "arguments": '{"city":"Ulm"}'}]

FIXTURES = [
    {"match": {"userMessage": "weather?", "hasToolResult": True}, "response": {"content": "Rain in both."}},
    {"match": {"userMessage": "weather?"}, "response": {"toolCalls": CALLS}},
    {"match": {"userMessage": "both, please"}, "response": {"content": "Looking. ", "toolCalls": CALLS}},
    {"match": {"userMessage": "think"}, "response": {"content": TEXT, "reasoning": "Hm, 🌊."}},
    {"match": {"userMessage": "cut"}, "response": {"content": "First, open the", "finishReason": "length"}},
    {
        "match": {"userMessage": "busy"},
        "response": {"error": {"message": "Slow down.", "type": "rate_limit_error"}, "status": 429},
    },
    {"match": {"userMessage": "hello"}, "response": {"content": TEXT}},
]


@pytest.fixture(scope="module")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = root / "web" / "node_modules" / ".bin" / "llmock"
    if not command.exists():
        pytest.fail("aimock is not installed: run `npm ci` in web/ (python build.py setup does)")
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-p", str(port), "-f", str(fixtures), "--chunk-size", "1", "--log-level", "warn"]
    process = subprocess.Popen([str(command), *options])
    try:
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            pytest.fail("aimock did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
async def fetch() -> AsyncIterator[HttpFetch]:
    port = HttpFetch()
    yield port
    await port.aclose()


class Asking:
    """One dialect, asked once or on and on."""

    def __init__(self, dialect: str, server: str, fetch: HttpFetch, *, stream: bool = True) -> None:
        config = ProviderConfig(
            name=dialect,
            model="gpt-4o" if dialect.startswith("openai") else "some-model",
            base_url=server,
            api_key=SecretStr("sk-key"),
            settings={} if stream else {"stream": False},
        )
        self._provider: Any = create_provider(config, {}, fetch, RecordingClock())

    async def __call__(self, *messages: Message, tools: tuple[ToolSpec, ...] = TOOLS) -> ModelReply:
        request = ModelRequest("planner", "Be short.", messages, tools)
        return await collect(self._provider.stream(request), lambda event: None)


def user(text: str) -> Message:
    return Message(role="user", text=text)


@each_dialect
@streamed_or_not
async def test_text(dialect: str, stream: bool, server: str, fetch: HttpFetch) -> None:
    reply = await Asking(dialect, server, fetch, stream=stream)(user("hello"))
    assert (reply.text, reply.finish, reply.tool_calls) == (TEXT, "stop", [])
    assert reply.usage.input_tokens is not None or dialect == "openai-compatible"


@each_dialect
@streamed_or_not
async def test_calls_and_their_results(dialect: str, stream: bool, server: str, fetch: HttpFetch) -> None:
    ask = Asking(dialect, server, fetch, stream=stream)
    first = await ask(user("weather?"))
    assert first.finish == "tool_calls"
    assert [(call.name, json.loads(call.args_text)) for call in first.tool_calls] == [
        ("weather", {"city": "Köln 🌊"}),
        ("weather", {"city": "Ulm"}),
    ]
    assert len({call.id for call in first.tool_calls}) == 2
    said = Message(role="assistant", tool_calls=first.tool_calls, provider_data=first.provider_data)
    results = [
        Message(role="tool", text="rain", tool_call_id=call.id, tool_name=call.name) for call in first.tool_calls
    ]
    assert (await ask(user("weather?"), said, *results)).text == "Rain in both."


@each_dialect
@streamed_or_not
async def test_text_beside_calls(dialect: str, stream: bool, server: str, fetch: HttpFetch) -> None:
    reply = await Asking(dialect, server, fetch, stream=stream)(user("both, please"))
    assert (reply.text, len(reply.tool_calls), reply.finish) == ("Looking. ", 2, "tool_calls")


@each_dialect
async def test_reasoning_is_no_text(dialect: str, server: str, fetch: HttpFetch) -> None:
    reply = await Asking(dialect, server, fetch)(user("think"))
    assert reply.text == TEXT
    assert reply.reasoning == "Hm, 🌊."


@each_dialect
@streamed_or_not
async def test_a_cut_reply(dialect: str, stream: bool, server: str, fetch: HttpFetch) -> None:
    reply = await Asking(dialect, server, fetch, stream=stream)(user("cut"))
    assert (reply.text, reply.finish) == ("First, open the", "length")


@each_dialect
@streamed_or_not
async def test_a_refusal(dialect: str, stream: bool, server: str, fetch: HttpFetch) -> None:
    with pytest.raises(ProviderError, match="Slow down") as caught:
        await Asking(dialect, server, fetch, stream=stream)(user("busy"))
    assert caught.value.code == "PROVIDER_RATE_LIMITED"
    assert caught.value.retry_after_ms is None or caught.value.retry_after_ms >= 0


@each_dialect
async def test_many_at_once(dialect: str, server: str, fetch: HttpFetch) -> None:
    ask = Asking(dialect, server, fetch)
    replies = await asyncio.gather(*(ask(user("hello"), tools=()) for _ in range(20)))
    assert {reply.text for reply in replies} == {TEXT}
