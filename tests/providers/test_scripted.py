"""The scripted provider: order, `when`, errors that classify like HTTP, and left-over replies."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm.contracts.errors import ConfigInvalid, ProviderError
from agrun_wasm.contracts.model import Message, ModelReply, ModelRequest, TextDelta, ToolCall
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.scripted import ScriptedProvider


def request(text: str = "hi", **more: Any) -> ModelRequest:
    return ModelRequest(purpose="planner", system="", messages=(Message(role="user", text=text, **more),))


async def ask(provider: ScriptedProvider, asked: ModelRequest | None = None) -> ModelReply:
    return await collect(provider.stream(asked or request()), lambda event: None)


async def test_text_calls_usage_and_reason() -> None:
    provider = ScriptedProvider(
        [
            {"text": "Looking.", "toolCalls": [{"name": "add", "args": {"a": 1, "ö": "é"}}, {"id": "x", "name": "b"}]},
            {"toolCalls": [{"name": "b", "argsText": '{"cut'}], "finishReason": "length"},
            {"text": "done", "usage": {"inputTokens": 3, "outputTokens": 0}},
        ]
    )
    reply = await ask(provider)
    assert reply.text == "Looking."
    assert reply.finish == "tool_calls"
    assert [(c.id, c.name, c.args_text) for c in reply.tool_calls] == [
        ("call_1", "add", '{"a": 1, "ö": "é"}'),
        ("x", "b", ""),
    ]
    assert reply.usage.input_tokens is None
    cut = await ask(provider)
    assert (cut.finish, cut.tool_calls[0].id, cut.tool_calls[0].args_text) == ("length", "call_2", '{"cut')
    last = await ask(provider)
    assert (last.text, last.usage.input_tokens, last.usage.output_tokens) == ("done", 3, 0)
    provider.check()
    assert len(provider.requests) == 3


async def test_text_comes_in_pieces() -> None:
    events = [event async for event in ScriptedProvider([{"text": "one two three"}]).stream(request())]
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(texts) > 1
    assert "".join(texts) == "one two three"


async def test_ids_of_a_resumed_run_are_not_given_again() -> None:
    shown = Message(role="assistant", tool_calls=[ToolCall(id="call_1", name="a")])
    asked = ModelRequest(purpose="planner", system="", messages=(shown,))
    reply = await ask(ScriptedProvider([{"toolCalls": [{"name": "a"}]}]), asked)
    assert reply.tool_calls[0].id == "call_2"


async def test_when_is_taken_out_of_order() -> None:
    provider = ScriptedProvider([{"text": "first"}, {"text": "B", "when": "beta"}, {"text": "A", "when": "alpha"}])
    assert (await ask(provider, request("about alpha"))).text == "A"
    assert (await ask(provider, request("nothing"))).text == "first"
    assert (await ask(provider, request("beta"))).text == "B"


async def test_fill_replaces_placeholders_when_a_reply_is_taken() -> None:
    provider = ScriptedProvider(
        [{"toolCalls": [{"name": "workspace_apply_patch", "args": {"patchId": "{{patchId}}"}}]}],
        fill=lambda text: text.replace("{{patchId}}", "p1"),
    )
    assert (await ask(provider)).tool_calls[0].args_text == '{"patchId": "p1"}'


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"status": 401, "body": '{"error":{"message":"invalid key"}}'}, "PROVIDER_AUTH"),
        ({"status": 429, "headers": {"Retry-After": "90"}}, "PROVIDER_RATE_LIMITED"),
        ({"status": 200, "body": '{"error":{"code":429,"message":"slow down"}}'}, "PROVIDER_RATE_LIMITED"),
        ({"status": 200, "body": "<html>hello"}, "PROVIDER_BAD_RESPONSE"),
        ({"status": 200, "body": '{"ok":true}'}, "PROVIDER_BAD_RESPONSE"),
        ({"kind": "network"}, "NETWORK_OR_CORS"),
        ({"kind": "timeout"}, "PROVIDER_TIMEOUT"),
    ],
)
async def test_errors_classify_as_over_http(error: dict[str, Any], code: str) -> None:
    provider = ScriptedProvider([{"error": error}])
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert caught.value.code == code
    assert provider.requests == []


async def test_a_spent_script_says_which_call_had_no_reply() -> None:
    with pytest.raises(ProviderError, match="no reply left for this planner call"):
        await ask(ScriptedProvider([]))


def test_left_over_replies_fail_unless_allowed() -> None:
    provider = ScriptedProvider([{"text": "unused words"}])
    assert provider.left_over() == [{"text": "unused words"}]
    with pytest.raises(AssertionError, match="unused words"):
        provider.check()
    ScriptedProvider([{"text": "unused"}], allow_unused=True).check()


@pytest.mark.parametrize("reply", [{"txt": "x"}, {"error": {"code": 1}}, "text"])
def test_a_reply_of_another_form_is_refused(reply: Any) -> None:
    with pytest.raises(ConfigInvalid, match="scripted reply 0"):
        ScriptedProvider([reply])
