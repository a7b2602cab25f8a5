"""The shared cases of area b-stream, through providers as a runtime would build them."""

from __future__ import annotations

import base64
import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import Message, ModelReply, ModelRequest
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.errors import http_error
from agrun_wasm.providers.registry import create_provider
from tests.fakes.clock import RecordingClock
from tests.fakes.fetch import FakeFetch, FakeResponse

CASES = [
    case
    for line in (Path(__file__).parent.parent / "cases" / "cases.jsonl").read_text("utf-8").splitlines()
    if (case := json.loads(line))["area"] == "b-stream"
]
STREAMS = [case for case in CASES if case["kind"] not in ("retry_after", "base_url")]
NAMES = {"openai_chat": "openai", "openai_responses": "openai-responses"}
REQUEST = ModelRequest(purpose="planner", system="s", messages=(Message(role="user", text="hi"),))


def provider_of(name: str, fetch: FakeFetch, **more: Any) -> Any:
    config = ProviderConfig(name=NAMES.get(name, name), model="m", api_key=lambda: "sk-test-key", **more)
    return create_provider(config, {}, fetch, RecordingClock())


async def outcome(given: dict[str, Any]) -> ModelReply | ProviderError:
    chunks = [base64.b64decode(chunk) for chunk in given["chunks_b64"]]
    headers = {name.lower(): value for name, value in given["headers"].items()}
    fetch = FakeFetch([FakeResponse(chunks, given["status"], headers)])
    try:
        return await collect(provider_of(given["provider"], fetch).stream(REQUEST), lambda event: None)
    except ProviderError as error:
        return error


def holds(expect: dict[str, Any], came: ModelReply | ProviderError) -> bool:
    if "each" in expect or "accept" in expect:
        raise AssertionError("a list is unfolded before")
    if "error" in expect:
        # A cut reply with cut arguments is whole as a reply; that its calls do not run is the planner's matter.
        if expect["error"] == "output_truncated":
            return isinstance(came, ModelReply) and came.finish == "length"
        if not isinstance(came, ProviderError):
            return False
        partial = expect.get("partial_text", came.partial_text)
        retryable = expect.get("retryable", came.retryable)
        mentioned = all(word in came.message for word in expect.get("mentions", ()))
        return mentioned and came.partial_text == partial and came.retryable == retryable
    ok = expect["ok"]
    if not isinstance(came, ModelReply) or (came.text, came.finish) != (ok["text"], ok["finish"]):
        return False
    usage = {"input": came.usage.input_tokens, "output": came.usage.output_tokens}
    return usage == ok.get("usage", usage) and [_call(c) for c in came.tool_calls] == [
        (came.tool_calls[n].id if c["id"] == "*" else c["id"], c["name"], c["args"], c.get("signature"))
        for n, c in enumerate(ok["tool_calls"])
    ]


def _call(call: Any) -> tuple[str, str, Any, str | None]:
    data = (call.provider_data or {}).get("gemini", {})
    return call.id, call.name, json.loads(call.args_text or "{}"), data.get("thoughtSignature")


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: f"{case['id']}-{case['kind']}")
async def test_stream(case: dict[str, Any]) -> None:
    each = case["input"].get("each")
    pairs = zip(each, case["expect"]["each"], strict=True) if each else [(case["input"], case["expect"])]
    for given, expect in pairs:
        came = await outcome(given)
        assert any(holds(one, came) for one in expect.get("accept", [expect])), came
        assert not any(holds(one, came) for one in expect.get("never", ()) if "ok" in one), came


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "retry_after"], ids=lambda case: case["id"])
def test_retry_after(case: dict[str, Any]) -> None:
    now = datetime.datetime.fromisoformat(case["input"]["now"]).timestamp() * 1000
    for headers, expect in zip(case["input"]["each"], case["expect"]["each"], strict=True):
        wait = http_error(case["input"]["status"], headers, "", now=now).retry_after_ms
        assert (None if wait is None else wait / 1000) == expect["ok"]["retry_after_s"]


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "base_url"], ids=lambda case: case["id"])
async def test_base_url(case: dict[str, Any]) -> None:
    for base, expect in zip(case["input"]["each"], case["expect"]["each"], strict=True):
        fetch = FakeFetch([FakeResponse([b"data: [DONE]\n\n"])])
        provider = provider_of(case["input"]["provider"], fetch, base_url=base)
        await collect(provider.stream(REQUEST), lambda event: None)
        assert fetch.requests[0].url == expect["ok"]
