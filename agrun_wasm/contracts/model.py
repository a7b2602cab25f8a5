"""The neutral model request, its messages and the events of its stream. Dialects translate these, nothing else does.

Messages are saved in the run's state, so they are contracts; a request and its events live for one call and are
plain values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, get_args

from pydantic import PrivateAttr

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.request import ImagePart

Purpose = Literal["planner", "repair", "finalizer", "section", "intro", "outro"]
FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


#: characters that an image takes of a context: about what providers bill for one of ordinary size
IMAGE_CHARS = 6_000


class ToolCall(Contract):
    """A call the model asked for. `args_text` is its arguments as written (JSON text, possibly broken or empty).

    `provider_data` goes back to the same provider on exactly this call (Gemini's thoughtSignature, item ids).
    """

    id: str
    name: str
    args_text: str = ""
    provider_data: dict[str, Any] | None = None


class MessagePart(Contract):
    """A stretch of a message's text, and the places (Message.shows) that it alone shows."""

    start: int
    end: int
    shows: dict[str, list[int]]


class Message(Contract):
    """One message of a run. Never changed once appended: a shortened one is a new message.

    `role` tool carries `tool_call_id` and `tool_name`, and its text is the result. `provider_data` of an assistant
    message goes back to the same provider (thinking blocks, reasoning items). `kind` and `cycle` say where it comes
    from; `summary` is what compaction leaves of it.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    images: list[ImagePart] = []
    tool_calls: list[ToolCall] = []
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    provider_data: dict[str, Any] | None = None
    kind: Literal["prompt", "history", "decision", "result", "observation"] = "observation"
    cycle: int = 0
    summary: str = ""
    #: places in toolContext.history, researchContext.readSources and .searchResults that this message shows (2.9).
    shows: dict[str, list[int]] = {}
    #: where several results stand in one text, each of them
    parts: list[MessagePart] = []
    #: encoded forms by dialect; append-only histories then cost nothing to send again.
    _wire: dict[str, str] = PrivateAttr(default_factory=dict)
    #: what `provider_data` was measured, and its size
    _measured: tuple[Any, int] | None = PrivateAttr(default=None)

    def size(self) -> int:
        """Characters that a model is shown of this message; an image counts as some thousands."""
        size = len(self.text) + sum(len(call.name) + len(call.args_text) for call in self.tool_calls)
        if self.images:
            size += len(self.images) * IMAGE_CHARS
        return size + self._data_size() if self.provider_data is not None else size

    def _data_size(self) -> int:
        if self._measured is None or self._measured[0] is not self.provider_data:  # a copy may have another
            self._measured = (self.provider_data, len(json.dumps(self.provider_data)))
        return self._measured[1]


class ToolSpec(NamedTuple):
    """A tool as offered to a model: `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ModelRequest(NamedTuple):
    """One model call. `settings` are the host's provider settings (temperature, maxTokens, ...), passed on as they are.

    `stable_prefix` is the number of leading messages that earlier requests of this run already held (for caching).
    `response_schema` is a JSON Schema that the reply should follow where a provider can enforce one.
    """

    purpose: Purpose
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    settings: Mapping[str, Any] = MappingProxyType({})
    response_schema: Mapping[str, Any] | None = None
    stable_prefix: int = 0


class TokenUsage(Contract):
    """Tokens of one call. None is "the provider did not say", which is not 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Event:
    """A plain value with equality, by hand: a dataclass of its own costs an importer twenty times as much."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


class TextDelta(_Event):
    """A piece of the reply's text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class ReasoningDelta(_Event):
    """A piece of the model's reasoning, which is no part of its answer."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class ToolArgsDelta(_Event):
    """A piece of a call's arguments, for live views only; the whole call comes as ToolCallDone."""

    __slots__ = ("call_id", "name", "text")

    def __init__(self, call_id: str, name: str, text: str) -> None:
        self.call_id = call_id
        self.name = name
        self.text = text


class ToolCallDone(_Event):
    """A whole call."""

    __slots__ = ("call",)

    def __init__(self, call: ToolCall) -> None:
        self.call = call


class Finished(_Event):
    """The terminal event of every stream; a stream without one is an error (2.5)."""

    __slots__ = ("provider_data", "raw_reason", "reason", "usage")

    def __init__(
        self,
        reason: FinishReason,
        usage: TokenUsage,
        raw_reason: str | None = None,
        provider_data: dict[str, Any] | None = None,
    ) -> None:
        self.reason: FinishReason = reason
        self.usage = usage
        self.raw_reason = raw_reason
        self.provider_data = provider_data


ModelEvent = TextDelta | ReasoningDelta | ToolArgsDelta | ToolCallDone | Finished


@dataclass(slots=True)
class ModelReply:
    """A whole reply, collected from a stream."""

    text: str
    reasoning: str
    tool_calls: list[ToolCall]
    finish: FinishReason
    usage: TokenUsage
    raw_reason: str | None = None
    provider_data: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "reasoning": self.reasoning,
            "toolCalls": [call.to_json() for call in self.tool_calls],
            "finish": self.finish,
            "usage": self.usage.to_json(),
            "rawReason": self.raw_reason,
            "providerData": self.provider_data,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """A reply from its JSON; raises KeyError, TypeError or ValueError for what is none."""
        if not isinstance(saved["text"], str) or not isinstance(saved["reasoning"], str):
            raise TypeError("'text' and 'reasoning' must be strings")
        if saved["finish"] not in get_args(FinishReason):
            raise ValueError(f"no finish reason is called {saved['finish']!r}")
        return cls(
            text=saved["text"],
            reasoning=saved["reasoning"],
            tool_calls=[ToolCall.model_validate(call) for call in saved["toolCalls"]],
            finish=saved["finish"],
            usage=TokenUsage.model_validate(saved["usage"]),
            raw_reason=saved["rawReason"],
            provider_data=saved["providerData"],
        )
