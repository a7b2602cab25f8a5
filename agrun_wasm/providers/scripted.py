"""A provider that plays a script: for tests, conformance scenarios and measurements.

Owned here: the JSON form of a scripted reply (conformance/FORMAT.md, key `model`) and which reply answers which call.
Its failures go through `errors`, so that they mean what they would mean over HTTP. Must not know: the loop, and what a
reply leads to.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, cast

from agrun_wasm.contracts.errors import ConfigInvalid, ProviderError
from agrun_wasm.contracts.model import (
    Finished,
    FinishReason,
    Message,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolArgsDelta,
    ToolCall,
    ToolCallDone,
)
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.providers.error_body import is_error
from agrun_wasm.providers.errors import bad_response, fetch_error, http_error, inner_error
from agrun_wasm.providers.event_json import flatten_request

__all__ = ["REPLY_KEYS", "ScriptedProvider"]

REPLY_KEYS = ("text", "reasoning", "toolCalls", "error", "finishReason", "usage", "when")
CALL_KEYS = ("id", "name", "args", "argsText")

_URL = "https://scripted.invalid/"
_PIECES = 4


class ScriptedProvider:
    """Plays `replies` in order of the calls; one with `when` goes to the first call whose text contains that.

    `requests` are the calls that were answered (failed ones are not). `fill` is applied to the JSON text of each reply
    when its turn comes. `now` (ms since the epoch) is only needed for dates in a scripted Retry-After.
    """

    def __init__(
        self,
        replies: Sequence[Mapping[str, Any]],
        *,
        allow_unused: bool = False,
        fill: Callable[[str], str] | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        for number, reply in enumerate(replies):
            _check(reply, number)
        self._left: list[Mapping[str, Any]] = [dict(reply) for reply in replies]
        self._allow_unused = allow_unused
        self._fill = fill
        self._now = now
        self._ids_given = 0
        self._first_message: Message | None = None
        self._looked_at = 0
        self._used_ids: set[str] = set()
        self._unanswered: list[str] = []
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The next reply as a stream in a few pieces. Raises ProviderError where an error is scripted."""
        reply = self._take(request)
        if "error" in reply:
            raise self._error(reply["error"])
        self.requests.append(request)
        for event in self._events(reply, request):
            await asyncio.sleep(0)
            yield event

    def left_over(self) -> list[Mapping[str, Any]]:
        """The replies that no call has taken."""
        return list(self._left)

    def check(self) -> None:
        """Raises AssertionError when a call found no reply, or replies are left over that were not allowed to be."""
        if self._unanswered:
            raise AssertionError(f"the script was too short: no reply for {', '.join(self._unanswered)}")
        if self._left and not self._allow_unused:
            listed = "\n".join(f"- {json.dumps(reply, ensure_ascii=False)[:200]}" for reply in self._left)
            raise AssertionError(f"{len(self._left)} scripted replies were not used:\n{listed}")

    def _take(self, request: ModelRequest) -> Mapping[str, Any]:
        reply = self._next(request)
        if self._fill is None:
            return reply
        filled: Mapping[str, Any] = json.loads(self._fill(json.dumps(reply, ensure_ascii=False)))
        return filled

    def _next(self, request: ModelRequest) -> Mapping[str, Any]:
        waiting = [reply for reply in self._left if "when" in reply]
        if waiting:
            shown = flatten_request(request)
            for reply in waiting:
                if reply["when"] in shown:
                    self._remove(reply)
                    return reply
        for reply in self._left:
            if "when" not in reply:
                self._remove(reply)
                return reply
        self._unanswered.append(request.purpose)
        raise bad_response(f"the script has no reply left for this {request.purpose} call")

    def _remove(self, taken: Mapping[str, Any]) -> None:
        # By identity: equal replies may stand in a script more than once.
        self._left = [reply for reply in self._left if reply is not taken]

    def _error(self, error: Mapping[str, Any]) -> ProviderError:
        kind = error.get("kind")
        if kind is not None:
            failure = FetchError("timeout" if kind == "timeout" else "network_or_cors", "scripted")
            return fetch_error(failure, url=_URL, platform="host", head_came=False, timeout_ms=60_000)
        status, headers, body = error["status"], error.get("headers") or {}, error.get("body") or ""
        now = self._now() if self._now is not None else 0.0
        if not 200 <= status < 300:
            return http_error(status, headers, body, now=now)
        try:
            payload = json.loads(body)
        except ValueError:
            return bad_response(f"answered {status} with a body that is no reply: {body[:200]}")
        if not is_error(payload):
            return bad_response(f"answered {status} with a body that is no reply: {body[:200]}")
        return inner_error(payload, headers, now=now)

    def _events(self, reply: Mapping[str, Any], request: ModelRequest) -> list[ModelEvent]:
        events: list[ModelEvent] = [ReasoningDelta(piece) for piece in _pieces(reply.get("reasoning") or "")]
        events += [TextDelta(piece) for piece in _pieces(reply.get("text") or "")]
        calls = [self._call(scripted, request) for scripted in reply.get("toolCalls") or ()]
        for call in calls:
            events += [ToolArgsDelta(call.id, call.name, piece) for piece in _pieces(call.args_text)]
        events += [ToolCallDone(call) for call in calls]
        reason = cast("FinishReason", reply.get("finishReason") or ("tool_calls" if calls else "stop"))
        usage = TokenUsage.model_validate(reply.get("usage") or {})
        return [*events, Finished(reason, usage, raw_reason=reason)]

    def _call(self, scripted: Mapping[str, Any], request: ModelRequest) -> ToolCall:
        text = scripted.get("argsText")
        if text is None:
            text = json.dumps(scripted["args"], ensure_ascii=False) if "args" in scripted else ""
        return ToolCall(id=scripted.get("id") or self._new_id(request), name=scripted["name"], args_text=text)

    def _new_id(self, request: ModelRequest) -> str:
        # A resumed run shows ids that an earlier instance gave. A history only grows: each message is looked at once.
        messages = request.messages
        first = messages[0] if messages else None
        if first is not self._first_message or len(messages) < self._looked_at:
            self._first_message, self._looked_at, self._used_ids = first, 0, set()
        self._used_ids.update(call.id for message in messages[self._looked_at :] for call in message.tool_calls)
        self._looked_at = len(messages)
        while True:
            self._ids_given += 1
            new = f"call_{self._ids_given}"
            if new not in self._used_ids:
                return new


def _pieces(text: str) -> list[str]:
    size = max(-(-len(text) // _PIECES), 1)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _check(reply: Mapping[str, Any], number: int) -> None:
    if not isinstance(reply, Mapping):
        raise ConfigInvalid(f"scripted reply {number}: must be an object, with one of text, toolCalls, error")
    for key in reply:
        if key not in REPLY_KEYS:
            raise ConfigInvalid(f"scripted reply {number}: unknown key {key!r}{did_you_mean(str(key), REPLY_KEYS)}")
    calls = reply.get("toolCalls") or []
    for place, call in enumerate(calls if isinstance(calls, list | tuple) else [None]):
        where = f"scripted reply {number}: toolCalls[{place}]"
        if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
            raise ConfigInvalid(f"{where} must be an object with a name")
        for key in call:
            if key not in CALL_KEYS:
                raise ConfigInvalid(f"{where}: unknown key {key!r}{did_you_mean(str(key), CALL_KEYS)}")
    error = reply.get("error")
    if error is not None and not (isinstance(error, Mapping) and ("status" in error or "kind" in error)):
        raise ConfigInvalid(f"scripted reply {number}: error needs `status` or `kind`")
