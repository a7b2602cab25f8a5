"""b-stream: bytes of a provider through its real dialect and the collector; retry delays and request URLs too."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from pydantic import SecretStr

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import Message, ModelReply, ModelRequest, ToolCall
from agrun_wasm.contracts.ports import FetchError, FetchFailureKind, FetchRequest
from agrun_wasm.planner.envelope import read_args
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.errors import http_error
from agrun_wasm.providers.registry import create_provider
from tests.cases.expect import Actual, equal
from tests.cases.next_request import history_faults
from tests.clock import FakeClock
from tests.conformance.web import FakeResponse, status_text

#: provider in the cases -> ours. What is written for Chat Completions must hold for compatible servers as well.
PROVIDERS: dict[str, tuple[str, ...]] = {
    "openai_chat": ("openai", "openai-compatible"),
    "openai_responses": ("openai-responses",),
    "anthropic": ("anthropic",),
    "gemini": ("gemini",),
}
#: how a body ends other than by `eof` -> the kind of the port's failure
_ENDS: dict[str, FetchFailureKind] = {"timeout": "timeout"}
BASE_URL = "https://provider.example/v1"
_REQUEST = ModelRequest(purpose="planner", system="", messages=(Message(role="user", text="hi", kind="prompt"),))


async def actual(item: Mapping[str, Any]) -> Actual:
    if "chunks_b64" in item:
        return await _same_of_all([await _reply(name, item) for name in _names(item)])
    if "now" in item:
        return _retry_after(item)
    return await _same_of_all([await _request_url(name, item["value"]) for name in _names(item)])


def compare(expected: Any, actual: Any) -> list[str]:
    """The keys that a case names; calls in order, each by the keys named, `*` for an id of its own."""
    if not isinstance(expected, dict):
        return equal(expected, actual)
    faults = [
        fault
        for key in expected
        if key != "tool_calls"
        for fault in equal(expected[key], actual.get(key) if isinstance(actual, dict) else None, key)
    ]
    return faults + (_calls(expected["tool_calls"], actual["tool_calls"]) if "tool_calls" in expected else [])


def _calls(expected: list[dict[str, Any]], actual: list[dict[str, Any]]) -> list[str]:
    if len(expected) != len(actual):
        return [f"tool_calls: expected {len(expected)}, got {len(actual)}"]
    faults = []
    for number, (wanted, had) in enumerate(zip(expected, actual, strict=True)):
        named = {key: value for key, value in wanted.items() if value != "*"}
        faults += equal(named, {key: had.get(key) for key in named}, f"tool_calls[{number}]")
    ids = [call["id"] for call in actual]
    if any(call.get("id") == "*" for call in expected) and (len(set(ids)) < len(ids) or not all(ids)):
        faults.append(f"tool_calls: ids are not unique: {ids}")
    return faults


class ServedChunks:
    """A fetch port that answers every request with the case's bytes, chunk by chunk, and its end."""

    platform: Literal["browser", "host"] = "host"

    def __init__(self, item: Mapping[str, Any]) -> None:
        self._item = item
        self.requests: list[FetchRequest] = []

    @asynccontextmanager
    async def open(self, request: FetchRequest) -> AsyncIterator[Any]:
        self.requests.append(request)
        headers = {name.lower(): value for name, value in self._item.get("headers", {}).items()}
        status = self._item.get("status", 200)
        pieces = [base64.b64decode(chunk) for chunk in self._item.get("chunks_b64", [])]
        end = self._item.get("end", "eof")
        broken = None if end == "eof" else FetchError(_ENDS.get(end, "network_or_cors"), f"the connection ended: {end}")
        yield FakeResponse(status, status_text(status), headers, request.url, pieces, broken)


async def _reply(name: str, item: Mapping[str, Any]) -> Actual:
    config = ProviderConfig(name=name, model="test", api_key=SecretStr("sk-test"), base_url=BASE_URL)
    provider = create_provider(config, {}, ServedChunks(item), FakeClock())
    try:
        reply = await collect(provider.stream(_REQUEST), lambda event: None)
    except ProviderError as error:
        facts = {"partial_text": error.partial_text, "retryable": error.retryable}
        return Actual(error=error.code, message=error.message, facts=facts)
    if not reply.tool_calls:
        return _value(reply)
    again = ServedChunks(item)
    settings = {"name": name, "model": "test", "apiKey": SecretStr("sk-test"), "baseUrl": BASE_URL}
    return replace(_value(reply), unsound=tuple(await history_faults(settings, again, again.requests)))


def _value(reply: ModelReply) -> Actual:
    if reply.finish == "length" and reply.tool_calls:
        # The planner runs none of these calls and answers each in its own result (2.3).
        cut = ", ".join(call.id for call in reply.tool_calls)
        return Actual(error="truncated", message=f"cut at the token limit, not run: {cut}")
    value: dict[str, Any] = {"text": reply.text, "finish": reply.finish}
    value["tool_calls"] = [_call(call) for call in reply.tool_calls]
    usage = {"input": reply.usage.input_tokens, "output": reply.usage.output_tokens}
    return Actual({**value, "usage": {key: tokens for key, tokens in usage.items() if tokens is not None}})


def _call(call: ToolCall) -> dict[str, Any]:
    args, fault = read_args(call.args_text)
    shown: dict[str, Any] = {"id": call.id, "name": call.name, "args": args if fault is None else fault}
    signature = _signature(call.provider_data)
    return shown if signature is None else {**shown, "signature": signature}


def _signature(data: Any) -> Any:
    """What goes back to the provider on exactly this call."""
    for key, value in data.items() if isinstance(data, dict) else ():
        found = value if "signature" in key.lower() else _signature(value)
        if found is not None:
            return found
    return None


def _retry_after(item: Mapping[str, Any]) -> Actual:
    """`each` holds header sets, or objects with `headers` and `body`."""
    now = datetime.fromisoformat(item["now"]).timestamp() * 1000
    headers = item.get("headers") or {k: v for k, v in item.items() if k not in ("now", "status", "body", "headers")}
    body = item.get("body", "")
    words = body if isinstance(body, str) else json.dumps(body)
    error = http_error(item.get("status", 429), headers, words, now=now)
    wait = error.retry_after_ms
    return Actual({"retry_after_s": None if wait is None else wait / 1000})


async def _request_url(name: str, base_url: str) -> Actual:
    config = ProviderConfig(name=name, model="test", api_key=SecretStr("sk-test"), base_url=base_url)
    fetch = ServedChunks({"status": 400})
    try:
        await collect(create_provider(config, {}, fetch, FakeClock()).stream(_REQUEST), lambda event: None)
    except ProviderError as error:
        if not fetch.requests:
            return Actual(error=error.code, message=error.message)
    return Actual(fetch.requests[0].url)


def _names(item: Mapping[str, Any]) -> Sequence[str]:
    named: str = item["provider"]
    return PROVIDERS.get(named, (named.replace("_", "-"),))


async def _same_of_all(outcomes: list[Actual]) -> Actual:
    """What all of our providers made of it, but for their names; where they differ, that is the fault."""
    first = outcomes[0]
    odd = next((outcome for outcome in outcomes if replace(outcome, message=first.message) != first), None)
    return first if odd is None else Actual(error="differs", message=f"{first} but {odd}")
