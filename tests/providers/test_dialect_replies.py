"""What each dialect makes of its provider's replies: whole, cut anywhere, broken, or an error in disguise."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import Message, ModelReply, ModelRequest, ToolSpec
from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.registry import create_provider
from tests.fakes import wire
from tests.fakes.clock import RecordingClock
from tests.fakes.fetch import FakeFetch, FakeResponse

#: provider, and the API that `wire` writes for it
DIALECTS = {"openai": "chat", "openai-responses": "responses", "anthropic": "messages", "gemini": "gemini"}
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)

TOOLS = (ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}}),)
REQUEST = ModelRequest(purpose="planner", system="s", messages=(Message(role="user", text="hi"),), tools=TOOLS)
KEY = "sk-very-secret-key"

REPLIES: dict[str, dict[str, Any]] = {
    "text": {"text": "Grüße aus 北京 🌊, in a few pieces."},
    "reasoning": {"reasoning": "Let me see: 1, 2.", "text": "Three."},
    "one call": {"toolCalls": [{"id": "k1", "name": "add", "args": {"a": 1, "ö": "é🌊"}}]},
    "parallel calls": {
        "text": "Both.",
        "toolCalls": [{"id": "k1", "name": "add", "args": {"a": 1}}, {"id": "k2", "name": "add", "args": {"a": 2}}],
    },
    "reasoning and calls": {"reasoning": "Hm.", "toolCalls": [{"id": "k1", "name": "add", "args": {"a": 1}}]},
    "no arguments": {"toolCalls": [{"id": "k1", "name": "add", "args": {}}]},
    "cut by the limit": {"text": "First, open the", "finishReason": "length"},
    "usage": {"text": "x", "usage": {"inputTokens": 20, "outputTokens": 9, "cachedInputTokens": 5}},
    "usage of nothing": {"text": "x", "usage": {"inputTokens": 0, "outputTokens": 0}},
}
each_reply = pytest.mark.parametrize("reply", REPLIES)


def provider_of(dialect: str, fetch: FakeFetch, **more: Any) -> Any:
    config = ProviderConfig(name=dialect, model="m", api_key=SecretStr(KEY), **more)
    return create_provider(config, {}, fetch, RecordingClock())


async def ask(dialect: str, *responses: FakeResponse | FetchError, **more: Any) -> ModelReply:
    fetch = FakeFetch(responses, **({"platform": more.pop("platform")} if "platform" in more else {}))
    try:
        return await collect(provider_of(dialect, fetch, **more).stream(REQUEST), lambda event: None)
    finally:
        assert fetch.open_now == 0


async def failure(dialect: str, *responses: FakeResponse | FetchError, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(dialect, *responses, **more)
    return caught.value


def stream(dialect: str, reply: dict[str, Any]) -> bytes:
    return b"".join(wire.frames(DIALECTS[dialect], reply))


def json_response(value: Any) -> FakeResponse:
    return FakeResponse([json.dumps(value).encode()], headers={"content-type": "application/json"})


def check(came: ModelReply, reply: dict[str, Any]) -> None:
    assert came.text == reply.get("text", "")
    assert came.reasoning == reply.get("reasoning", "")
    assert [(c.id, c.name, json.loads(c.args_text or "{}")) for c in came.tool_calls] == [
        (c["id"], c["name"], c["args"]) for c in reply.get("toolCalls", ())
    ]
    assert came.finish == reply.get("finishReason", "tool_calls" if "toolCalls" in reply else "stop")
    usage = reply.get("usage", {})
    assert (came.usage.input_tokens, came.usage.output_tokens, came.usage.cached_input_tokens) == (
        usage.get("inputTokens"),
        usage.get("outputTokens"),
        usage.get("cachedInputTokens"),
    )


@each_dialect
@each_reply
async def test_a_streamed_reply(dialect: str, reply: str) -> None:
    check(await ask(dialect, FakeResponse([stream(dialect, REPLIES[reply])])), REPLIES[reply])


@each_dialect
@each_reply
async def test_a_reply_in_one_body(dialect: str, reply: str) -> None:
    """Asked for, or sent by a server that does not stream."""
    body = wire.whole(DIALECTS[dialect], REPLIES[reply])
    # A whole response shows no reasoning: it holds only the items that go back.
    hidden = {"reasoning"} if dialect == "openai-responses" else set()
    expected = {key: value for key, value in REPLIES[reply].items() if key not in hidden}
    check(await ask(dialect, json_response(body)), expected)
    fetch = FakeFetch([json_response(body)])
    await collect(provider_of(dialect, fetch, settings={"stream": False}).stream(REQUEST), lambda event: None)
    sent = json.loads(fetch.requests[0].body or b"")
    assert sent.get("stream", False) is False
    assert "streamGenerateContent" not in fetch.requests[0].url


@each_dialect
@each_reply
async def test_every_byte_in_a_chunk_of_its_own(dialect: str, reply: str) -> None:
    whole = stream(dialect, REPLIES[reply])
    check(await ask(dialect, FakeResponse([whole[n : n + 1] for n in range(len(whole))])), REPLIES[reply])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_split_gives_the_same_reply(data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(sorted(DIALECTS)))
    reply = REPLIES[data.draw(st.sampled_from(sorted(REPLIES)))]
    whole = stream(dialect, reply).replace(b"\n", data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"])))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    check(asyncio.run(ask(dialect, FakeResponse(chunks))), reply)


@each_dialect
@pytest.mark.parametrize("reply", ["parallel calls", "usage"])
async def test_cut_anywhere_it_is_whole_or_an_error(dialect: str, reply: str) -> None:
    """Never a part that passes for the whole."""
    whole = stream(dialect, REPLIES[reply])
    full = await ask(dialect, FakeResponse([whole]))
    for at in range(len(whole)):
        cut_off = FakeResponse([whole[:at]])
        if at % 2:
            cut_off.then = FetchError("network_or_cors", "reset")
        try:
            came = await ask(dialect, cut_off)
        except ProviderError as cut:
            error = cut
        else:
            assert (came.text, came.tool_calls, came.finish) == (full.text, full.tool_calls, full.finish)
            continue
        assert error.code == "PROVIDER_BAD_RESPONSE"
        assert full.text.startswith(error.partial_text)


@each_dialect
async def test_a_stalled_stream_is_a_timeout_with_what_had_come(dialect: str) -> None:
    frames = wire.frames(DIALECTS[dialect], {"text": "Hello there."})
    half = frames[: len(frames) // 2]
    error = await failure(dialect, FakeResponse(half, then=FetchError("timeout", "x")))
    assert (error.code, error.retryable) == ("PROVIDER_TIMEOUT", True)
    assert "Hello there.".startswith(error.partial_text)


@each_dialect
async def test_an_empty_stream_is_an_error(dialect: str) -> None:
    for body in ([], [b""], [b": keep-alive\n\n"]):
        assert (await failure(dialect, FakeResponse(body))).code == "PROVIDER_BAD_RESPONSE"


@each_dialect
async def test_status_errors(dialect: str) -> None:
    body = b'{"error":{"message":"Slow down.","type":"rate_limit_error"}}'
    error = await failure(dialect, FakeResponse([body], 429, {"retry-after": "7"}))
    assert (error.code, error.status, error.retry_after_ms) == ("PROVIDER_RATE_LIMITED", 429, 7_000)
    assert "Slow down." in error.message
    assert dialect in error.message


#: an error in the middle of a stream, as each provider sends it
MIDSTREAM = {
    "openai": b'data: {"error":{"message":"worker died","type":"server_error","code":null}}\n\n',
    "openai-responses": (
        b'event: error\ndata: {"type":"error","code":"server_error","message":"worker died","param":null}\n\n'
    ),
    "anthropic": (
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"worker died"}}\n\n'
    ),
    "gemini": b'data: {"error":{"code":503,"message":"worker died","status":"UNAVAILABLE"}}\n\n',
}


@each_dialect
async def test_an_error_in_the_middle_of_a_stream(dialect: str) -> None:
    frames = wire.frames(DIALECTS[dialect], {"text": "Let me see"})
    error = await failure(dialect, FakeResponse([b"".join([*frames[:-3], MIDSTREAM[dialect], *frames[-3:]])]))
    assert (error.code, error.retryable) == ("PROVIDER_UNAVAILABLE", True)
    assert "worker died" in error.message
    assert "Let me see".startswith(error.partial_text)


@each_dialect
async def test_an_error_instead_of_a_stream(dialect: str) -> None:
    for label in ("application/json", "text/event-stream", ""):
        body = b'\n{"error":{"code":429,"message":"slow down"}}'
        error = await failure(dialect, FakeResponse([body], headers={"content-type": label, "retry-after": "3"}))
        assert (error.code, error.retry_after_ms) == ("PROVIDER_RATE_LIMITED", 3_000)


@each_dialect
async def test_a_page_instead_of_a_stream(dialect: str) -> None:
    page = b"<!doctype html><title>Sign in</title><p>Session expired</p>"
    for label in ("text/html; charset=utf-8", "text/event-stream"):
        error = await failure(dialect, FakeResponse([page[:3], page[3:]], headers={"content-type": label}))
        assert error.code == "PROVIDER_BAD_RESPONSE"
        assert label.partition(";")[0] in error.message
        assert "Sign in" in error.message


@each_dialect
async def test_a_stream_labelled_as_something_else_is_read(dialect: str) -> None:
    for label in ("text/plain", "application/octet-stream", ""):
        came = await ask(dialect, FakeResponse([stream(dialect, REPLIES["text"])], headers={"content-type": label}))
        assert came.text == REPLIES["text"]["text"]


@each_dialect
@pytest.mark.parametrize(
    "frame",
    [b"data: {no json}\n\n", b'data: {"choices":"x","candidates":"x","type":7}\n\n', b"data: [1]\n\n", b"data: 7\n\n"],
)
async def test_a_stream_that_cannot_be_read(dialect: str, frame: bytes) -> None:
    error = await failure(dialect, FakeResponse([frame, b"data: {}\n\n"]))
    assert (error.code, error.retryable) == ("PROVIDER_BAD_RESPONSE", False)


@each_dialect
async def test_json_that_is_no_reply(dialect: str) -> None:
    values: list[Any] = [{}, {"message": "hello"}, [], {"detail": "not found"}]
    for value in values:
        assert (await failure(dialect, json_response(value))).code == "PROVIDER_BAD_RESPONSE"


@each_dialect
async def test_no_secret_stands_in_an_error(dialect: str) -> None:
    headers = {"x-team": SecretStr("team-secret-value")}
    echo = f"bad key {KEY} for team-secret-value".encode()
    for response in (
        FakeResponse([echo], 401),
        FakeResponse([b"<p>" + echo], headers={"content-type": "text/html"}),
        json_response({"error": {"message": echo.decode(), "code": 401}}),
        FakeResponse([b"data: " + echo + b"\n\n"]),
        FetchError("network_or_cors", echo.decode(), url=f"https://h/?k={KEY}"),
    ):
        error = await failure(dialect, response, headers=headers)
        for text in (error.message, str(error), repr(error), str(error.info().to_json())):
            assert "secret" not in text


@each_dialect
async def test_a_page_hears_of_cors(dialect: str) -> None:
    error = await failure(dialect, FetchError("network_or_cors", "Failed to fetch"), platform="browser")
    assert (error.code, error.retryable) == ("NETWORK_OR_CORS", True)
    assert "proxyUrl" in error.message
    assert "CORS" in error.message


#: reasoning that goes back, and text, each with a character cut in half
HALVED = {
    "openai": [
        b'data: {"choices":[{"delta":{"reasoning_content":"t\\ud83c"}}]}\n\n',
        b'data: {"choices":[{"delta":{"reasoning_content":"\\udf0a","content":"a\\ud83c"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\udf0a\\ud83c"},"finish_reason":"stop"}]}\n\n',
    ],
    "openai-responses": [
        b'data: {"type":"response.reasoning_text.delta","item_id":"r","delta":"t\\ud83c"}\n\n',
        b'data: {"type":"response.reasoning_text.delta","item_id":"r","delta":"\\udf0a"}\n\n',
        b'data: {"type":"response.output_text.delta","item_id":"i","delta":"a\\ud83c"}\n\n',
        b'data: {"type":"response.output_text.delta","item_id":"i","delta":"\\udf0a\\ud83c"}\n\n',
        b'data: {"type":"response.completed","response":{"status":"completed"}}\n\n',
    ],
    "anthropic": [
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"t\\ud83c"}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\\udf0a"}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}\n\n',
        b'data: {"type":"content_block_stop","index":0}\n\n',
        b'data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a\\ud83c"}}\n\n',
        b'data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\\udf0a\\ud83c"}}\n\n',
        b'data: {"type":"message_stop"}\n\n',
    ],
    "gemini": [
        b'data: {"candidates":[{"content":{"parts":[{"text":"t\\ud83c","thought":true}]}}]}\n\n',
        b'data: {"candidates":[{"content":{"parts":[{"text":"\\udf0a","thought":true,"thoughtSignature":"s"}]}}]}\n\n',
        b'data: {"candidates":[{"content":{"parts":[{"text":"a\\ud83c"}]}}]}\n\n',
        b'data: {"candidates":[{"content":{"parts":[{"text":"\\udf0a\\ud83c"}]},"finishReason":"STOP"}]}\n\n',
    ],
}


@each_dialect
async def test_halves_of_characters_meet(dialect: str) -> None:
    came = await ask(dialect, FakeResponse(HALVED[dialect]))
    assert (came.text, came.reasoning) == ("a🌊\ufffd", "t🌊")
    json.dumps(came.provider_data, ensure_ascii=False).encode()  # can be saved and sent


@each_dialect
async def test_what_must_go_back_goes_back(dialect: str) -> None:
    """Reasoning with its signature, in the next request and in its own place."""
    reply = {"reasoning": "Hm.", "text": "I add.", "toolCalls": [{"id": "k1", "name": "add", "args": {"a": 1}}]}
    came = await ask(dialect, FakeResponse([stream(dialect, reply)]))
    said = Message(role="assistant", text=came.text, tool_calls=came.tool_calls, provider_data=came.provider_data)
    saved = Message.model_validate(json.loads(json.dumps(said.to_json())))
    result = Message(role="tool", text="2", tool_call_id="k1", tool_name="add")
    fetch = FakeFetch([FakeResponse([stream(dialect, reply)])])
    again = ModelRequest("planner", "s", (*REQUEST.messages, saved, result), TOOLS)
    await collect(provider_of(dialect, fetch).stream(again), lambda event: None)
    sent = json.loads(fetch.requests[0].body or b"")
    assert RETURNED[dialect](sent) == EXPECTED_BACK[dialect]


RETURNED: dict[str, Any] = {
    "openai": lambda sent: [sent["messages"][2]["reasoning_content"]],
    "openai-responses": lambda sent: [(item.get("type"), item.get("id")) for item in sent["input"][1:4]],
    "anthropic": lambda sent: [part["type"] for part in sent["messages"][1]["content"]],
    "gemini": lambda sent: [part.get("thoughtSignature") for part in sent["contents"][1]["parts"]],
}
EXPECTED_BACK: dict[str, Any] = {
    "openai": ["Hm."],
    "openai-responses": [("reasoning", "rs_1"), (None, None), ("function_call", "fc_0")],
    "anthropic": ["thinking", "text", "tool_use"],
    "gemini": [None, "c2lnbmF0dXJl"],
}


@each_dialect
async def test_names_that_an_api_would_refuse_come_back_as_offered(dialect: str) -> None:
    tools = (ToolSpec("crm.look up", "x", {}), ToolSpec("crm_look_up", "x", {}), ToolSpec("wetter.abfrägen", "x", {}))
    request = ModelRequest(purpose="planner", system="", messages=REQUEST.messages, tools=tools)
    reply = {"toolCalls": [{"id": f"k{n}", "name": name, "args": {}} for n, name in enumerate(
        ["crm_look_up", "crm_look_up_2", "wetter_abfru e4gen".replace(" ", ""), "made_up"])]}  # fmt: skip
    provider = provider_of(dialect, FakeFetch([FakeResponse([stream(dialect, reply)])]))
    came = await collect(provider.stream(request), lambda event: None)
    assert [call.name for call in came.tool_calls] == ["crm.look up", "crm_look_up", "wetter.abfrägen", "made_up"]
