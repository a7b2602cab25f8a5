"""The Prompt API's dialect: a request as prompts, pieces as events, the browser's errors as ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from agrun_wasm import Runtime
from agrun_wasm.contracts.errors import ConfigInvalid, ProviderError
from agrun_wasm.contracts.model import Message, ModelRequest, TokenUsage, ToolCall, ToolSpec
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.prompt_api import FAULTS, PromptApi, PromptFault, prompt_call

USER = Message(role="user", text="hi")
REQUEST = ModelRequest(purpose="planner", system="sys", messages=(USER,))
END = {"done": True, "inputTokens": 7, "outputTokens": 2, "truncated": False}


class FakePort:
    """Plays pieces; an exception among them is raised."""

    def __init__(self, *pieces: Any) -> None:
        self._pieces = pieces
        self.calls: list[Mapping[str, Any]] = []
        self.closed = 0

    async def stream(self, call: Mapping[str, Any]) -> AsyncIterator[Any]:
        self.calls.append(call)
        try:
            for piece in self._pieces:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.closed += 1


async def failure(port: FakePort, request: ModelRequest = REQUEST) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await collect(PromptApi(port).stream(request), lambda _: None)
    return caught.value


def test_turns_become_roles_and_results_are_told_as_text() -> None:
    call = ToolCall(id="k", name="add", args_text='{"a":2}')
    messages = (
        USER,
        Message(role="assistant", text="I add.", tool_calls=[call]),
        Message(role="tool", tool_call_id="k", tool_name="add", text="5"),
        Message(role="user", text="go on"),
    )
    written = prompt_call(ModelRequest("planner", "sys", messages, settings={"topK": 3, "temperature": 1}))
    assert written == {
        "system": "sys",
        "prompts": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": 'I add.\nCalled add with {"a":2}'},
            {"role": "user", "content": "Result of add:\n5\n\ngo on"},
        ],
        "responseConstraint": None,
        "options": {"topK": 3, "temperature": 1},
    }


async def test_pieces_and_the_sessions_count_make_the_reply() -> None:
    port = FakePort({"text": "a"}, {"text": "b"}, END)
    reply = await collect(PromptApi(port).stream(REQUEST), lambda _: None)
    assert (reply.text, reply.finish) == ("ab", "stop")
    assert reply.usage == TokenUsage(input_tokens=7, output_tokens=2)
    assert port.closed == 1


@pytest.mark.parametrize("name", FAULTS)
async def test_every_error_of_the_browser_has_a_code_and_says_what_to_do(name: str) -> None:
    port = FakePort({"text": "a"}, PromptFault(name, "said", {"requested": 9, "quota": 5}))
    error = await failure(port)
    assert error.code == FAULTS[name][0]
    assert error.hint
    assert error.details == {"requested": 9, "quota": 5}
    assert error.partial_text == "a"
    assert port.closed == 1


async def test_a_stream_without_its_end_is_an_error() -> None:
    assert (await failure(FakePort({"text": "a"}))).code == "PROVIDER_BAD_RESPONSE"
    assert (await failure(FakePort(7))).code == "PROVIDER_BAD_RESPONSE"


async def test_native_tools_fall_back_to_envelopes() -> None:
    port = FakePort(END)
    error = await failure(port, REQUEST._replace(tools=(ToolSpec("add", "", {}),)))
    assert error.protocol_failure
    assert port.calls == []


async def test_a_run_is_in_envelope_mode_and_held_to_the_schema_of_decisions() -> None:
    port = FakePort({"text": '{"type":"final","answer":"hello"}'}, END)
    runtime = Runtime(provider="prompt-api", providers={"prompt-api": PromptApi(port)})
    result = await runtime.run("hi")
    assert (result.text, result.state["plannerMode"]) == ("hello", "envelope")
    words = [form["properties"]["type"]["const"] for form in port.calls[0]["responseConstraint"]["anyOf"][1:]]
    assert words == ["plan", "final", "finalize", "clarify"]


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ConfigInvalid, match="did you mean 'temperature'"):
        PromptApi(FakePort(), {"temprature": 1})
