"""No key leaves a run: whatever a provider or an action echoes, it is in no event, step, state, result or log."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from agrun_wasm import ProviderError, action
from agrun_wasm.contracts.model import Finished, TextDelta, TokenUsage, ToolCall, ToolCallDone
from agrun_wasm.runtime.runtime import Runtime

KEY = "sk-live-4711-geheim"
HEADER = "Bearer tok-0815-geheim"
SECRETS = (KEY, "tok-0815-geheim")


class Echo:
    """A model that repeats the secrets wherever it can: text, arguments, errors."""

    def __init__(self, ending: str) -> None:
        self.ending = ending
        self.calls = 0

    async def stream(self, request: Any) -> Any:
        self.calls += 1
        if self.calls == 1:
            yield ToolCallDone(ToolCall(id="k1", name="echo", args_text=json.dumps({"text": f"{KEY} {HEADER}"})))
            yield ToolCallDone(ToolCall(id="k2", name="fail", args_text="{}"))
            yield Finished("tool_calls", TokenUsage())
        elif self.ending == "error":
            raise ProviderError("PROVIDER_AUTH", f"the key {KEY} is refused", details={"sent": HEADER})
        elif self.ending == "crash":
            raise ValueError(f"cannot use {KEY}")
        else:
            yield TextDelta(f"Your key is {KEY}.")
            yield Finished("stop", TokenUsage())


@action(tier=0)
async def echo(context: Any, text: str) -> dict[str, str]:
    """Echoes."""
    return {"said": text, "key": KEY}


@action(tier=0)
async def fail(context: Any) -> None:
    """Fails."""
    raise RuntimeError(f"no entry with {KEY}")


@pytest.mark.parametrize("key", ["text", "callback"])
@pytest.mark.parametrize("ending", ["answer", "error", "crash"])
async def test_no_secret_leaves(ending: str, key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    runtime = Runtime(
        provider={
            "name": "mine",
            "model": "m",
            "apiKey": KEY if key == "text" else (lambda: KEY),
            "headers": {"authorization": HEADER},
            "retry": {"maxRetries": 0},
        },
        providers={"mine": Echo(ending)},
        actions=[echo, fail],
        webSearch={"endpoint": "https://search.example/q", "headers": {"x-key": HEADER}},
    )
    if key == "callback":  # a dialect asks for the key before each call; then it is known
        assert await runtime.provider_config.api_key() == KEY
    async with runtime.stream("What is my key?") as run:
        events = [event.to_json() async for event in run]
        result = await run.result()
    record = json.dumps(
        [events, result.to_json(), runtime.describe_composition(), runtime.inspect_prompt("hi")], ensure_ascii=False
    )
    for secret in SECRETS:
        assert secret not in record
        assert secret not in caplog.text
        assert secret not in repr(runtime.config) + repr(result) + str(result.error)
    assert "[redacted]" in record
