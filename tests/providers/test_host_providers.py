"""Providers by name, a host's own transports, and events in their JSON form."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ConfigInvalid, ProviderError
from agrun_wasm.contracts.model import (
    Finished,
    Message,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolArgsDelta,
    ToolCall,
    ToolCallDone,
    ToolSpec,
)
from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.event_json import event_json, flatten_request, model_event, request_json
from agrun_wasm.providers.registry import PROVIDERS, create_provider
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.fakes.clock import RecordingClock
from tests.fakes.fetch import FakeFetch

REQUEST = ModelRequest(purpose="planner", system="sys", messages=(Message(role="user", text="hi"),))
USAGE = TokenUsage(input_tokens=1, output_tokens=0)

EVENTS: list[tuple[dict[str, Any], ModelEvent]] = [
    ({"type": "text-delta", "text": "a"}, TextDelta("a")),
    ({"type": "reasoning-delta", "text": "a"}, ReasoningDelta("a")),
    ({"type": "tool-args-delta", "callId": "k", "name": "n", "text": "{"}, ToolArgsDelta("k", "n", "{")),
    (
        {"type": "tool-call", "id": "k", "name": "n", "argsText": "{}", "providerData": {"x": 1}},
        ToolCallDone(ToolCall(id="k", name="n", args_text="{}", provider_data={"x": 1})),
    ),
    (
        {
            "type": "finished",
            "reason": "length",
            "usage": USAGE.to_json(),
            "rawReason": "max",
            "providerData": {"y": 2},
        },
        Finished("length", USAGE, "max", {"y": 2}),
    ),
]


@pytest.mark.parametrize(("form", "event"), EVENTS)
def test_events_to_json_and_back(form: dict[str, Any], event: ModelEvent) -> None:
    assert model_event(form) == event
    assert model_event(event) is event
    assert model_event(json.loads(json.dumps(event_json(event)))) == event


def test_short_forms() -> None:
    call = model_event({"type": "tool-call", "name": "n", "args": {"ä": 1}})
    assert isinstance(call, ToolCallDone)
    assert (call.call.id, call.call.args_text) == ("", '{"ä": 1}')
    done = model_event({"type": "finished"})
    assert isinstance(done, Finished)
    assert (done.reason, done.usage.input_tokens) == ("stop", None)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"type": "text_delta", "text": "x"}, "did you mean 'text-delta'"),
        ({"text": "x"}, "unknown type"),
        ({"type": "text-delta"}, "'text' is missing"),
        ({"type": "text-delta", "text": 1}, "text-delta"),
        ({"type": "tool-call"}, "'name' is missing"),
        ({"type": "finished", "reason": "lenght"}, "did you mean 'length'"),
        ({"type": "finished", "usage": {"inputTokens": "3"}}, "finished"),
        ("text", "str"),
    ],
)
def test_other_forms_are_refused(value: Any, words: str) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        model_event(value)
    assert caught.value.code == "PROVIDER_BAD_RESPONSE"


def test_a_request_as_json_and_as_text() -> None:
    messages = (
        Message(role="user", text="hi", kind="prompt"),
        Message(role="assistant", tool_calls=[ToolCall(id="k", name="add", args_text='{"a":1}')]),
        Message(role="tool", text="3", tool_call_id="k", tool_name="add"),
    )
    request = ModelRequest("planner", "sys", messages, (ToolSpec("add", "Adds.", {"type": "object"}),))
    out = json.loads(json.dumps(request_json(request)))
    assert out["tools"] == [{"name": "add", "description": "Adds.", "parameters": {"type": "object"}}]
    assert out["messages"][1]["toolCalls"][0]["argsText"] == '{"a":1}'
    assert "kind" not in out["messages"][0]
    assert flatten_request(request) == 'sys\nhi\nadd {"a":1}\n3'


def create(config: ProviderConfig, providers: dict[str, Any] | None = None, fetch: Any = None) -> Any:
    return create_provider(config, providers or {}, fetch, RecordingClock())


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"name": "opnai", "model": "m"}, "'opnai'; did you mean 'openai'"),
        ({"name": "openai", "model": ""}, "needs a model"),
        ({"name": "openai", "model": "m"}, "fetch port"),
        ({"name": "openai-compatible", "model": "m"}, "baseUrl"),
        ({"name": "prompt-api"}, "page only"),
        ({"name": "scripted"}, "settings.replies"),
    ],
)
def test_what_cannot_be_built_says_why(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        create(ProviderConfig(**config))
    assert words in caught.value.message


def test_every_provider_over_http_is_built() -> None:
    for name in PROVIDERS:
        if name not in ("prompt-api", "scripted", "offline"):
            create(ProviderConfig(name=name, model="m", base_url="http://h/v1"), fetch=FakeFetch([]))


async def test_a_script_in_the_settings() -> None:
    provider = create(ProviderConfig(name="scripted", settings={"replies": [{"text": "hello"}]}))
    assert (await collect(provider.stream(REQUEST), lambda event: None)).text == "hello"


async def test_a_host_may_register_any_name() -> None:
    script = ScriptedProvider([{"text": "hello"}])
    for name in ("scripted", "mine", "openai"):
        script = ScriptedProvider([{"text": name}])
        provider = create(ProviderConfig(name=name, model="test"), {name: script})
        assert (await collect(provider.stream(REQUEST), lambda event: None)).text == name
    with pytest.raises(ConfigInvalid, match="mine"):
        create(ProviderConfig(name="mine"), {"mine": object()})


class Transport:
    """A host's: what `stream` gives is made by the test."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def stream(self, request: ModelRequest) -> Any:
        return self.make(request)


async def plain(request: ModelRequest) -> AsyncIterator[Any]:
    yield {"type": "text-delta", "text": "a"}
    yield {"type": "tool-call", "name": "add", "args": {}}
    yield {"type": "tool-call", "name": "add", "args": {}}
    yield {"type": "finished", "reason": "tool_calls"}


async def awaited(request: ModelRequest) -> AsyncIterator[Any]:
    return plain(request)


@pytest.mark.parametrize("make", [plain, awaited])
async def test_a_host_stream(make: Any) -> None:
    provider = create(ProviderConfig(name="mine"), {"mine": Transport(make)})
    reply = await collect(provider.stream(REQUEST), lambda event: None)
    assert (reply.text, reply.finish) == ("a", "tool_calls")
    assert len({call.id for call in reply.tool_calls}) == 2


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (ProviderError("PROVIDER_AUTH", "no"), "PROVIDER_AUTH"),
        (TimeoutError(), "PROVIDER_TIMEOUT"),
        (ConnectionResetError(), "NETWORK_OR_CORS"),
        (FetchError("network_or_cors", "x", url="http://h/"), "NETWORK_OR_CORS"),
        (RuntimeError("no such door"), "PROVIDER_BAD_RESPONSE"),
    ],
)
async def test_a_host_stream_that_fails(fault: Exception, code: str) -> None:
    async def failing(request: ModelRequest) -> AsyncIterator[Any]:
        yield {"type": "text-delta", "text": "part"}
        raise fault

    provider = create(ProviderConfig(name="mine"), {"mine": Transport(failing)})
    with pytest.raises(ProviderError) as caught:
        await collect(provider.stream(REQUEST), lambda event: None)
    assert (caught.value.code, caught.value.partial_text) == (code, "part")
    assert str(fault) in caught.value.message


async def test_a_host_stream_that_is_none() -> None:
    provider = create(ProviderConfig(name="mine"), {"mine": Transport(lambda request: "text")})
    with pytest.raises(ProviderError, match="str, no async iterator"):
        await collect(provider.stream(REQUEST), lambda event: None)
