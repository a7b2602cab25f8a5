"""Functions of the page that Python calls: an action's `execute`, a provider's `stream`, a key callback, hooks.

A call goes out as text with its arguments and is answered by `return` or `throw`, before that by `yield` for each item
of a stream. When the Python side stops waiting, the page is told to stop too.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agrun_wasm.contracts.errors import RUN_ERRORS, ProviderError

__all__ = ["FUNCTION_KEY", "HostCalls", "HostError", "HostFunction"]

FUNCTION_KEY = "$function"


class HostError(Exception):
    """A function of the page threw. `fields` are what its error carried (name, message, code, status, ...)."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(str(fields.get("message") or fields.get("name") or "the page's function failed"))
        self.fields = fields

    def as_provider_error(self) -> Exception:
        """As a provider of the page meant it: a code of ours, or the browser's word for a failed request."""
        code = self.fields.get("code")
        if code in RUN_ERRORS:
            return ProviderError(
                str(code),
                str(self),
                status=self.fields.get("status"),
                retry_after_ms=self.fields.get("retryAfterMs"),
                hint=str(self.fields.get("hint") or ""),
            )
        if self.fields.get("name") == "TypeError" and "fetch" in str(self).lower():
            return ProviderError("NETWORK_OR_CORS", str(self))
        return self


class HostCalls:
    """The calls in flight."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Queue[tuple[str, Any]]] = {}

    async def call(self, function: int, arguments: list[Any], context: dict[str, Any] | None = None) -> Any:
        async with aclosing(self._exchange(function, arguments, context)) as answers:
            async for kind, value in answers:
                if kind == "return":
                    return value
        return None

    async def stream(self, function: int, arguments: list[Any]) -> AsyncIterator[Any]:
        async with aclosing(self._exchange(function, arguments, None)) as answers:
            async for kind, value in answers:
                if kind == "yield":
                    yield value

    def answer(self, message: Mapping[str, Any]) -> None:
        """What the page answered; an answer nobody waits for any more is dropped."""
        answers = self._answers.get(message["call"])
        if answers is not None:
            answers.put_nowait((message["kind"], message.get("error" if message["kind"] == "throw" else "value")))

    async def _exchange(
        self, function: int, arguments: list[Any], context: dict[str, Any] | None
    ) -> AsyncGenerator[tuple[str, Any]]:
        call = next(self._ids)
        answers = self._answers[call] = asyncio.Queue()
        message = {"type": "call", "call": call, "function": function, "arguments": arguments}
        self._send(message if context is None else {**message, "context": context})
        finished = False
        try:
            while not finished:
                kind, value = await answers.get()
                finished = kind != "yield"
                if kind == "throw":
                    raise HostError(value)
                yield kind, value
        finally:
            del self._answers[call]
            if not finished:
                self._send({"type": "cancel", "call": call})


@dataclass(frozen=True)
class HostFunction:
    """A function of the page, callable like an async function of Python; its arguments and its value are JSON.

    `wants_context`: it declared a parameter for the whole context of an action.
    """

    calls: HostCalls
    function: int
    wants_context: bool = False

    async def __call__(self, *arguments: Any) -> Any:
        return await self.calls.call(self.function, list(arguments))

    async def with_context(self, context: dict[str, Any], *arguments: Any) -> Any:
        return await self.calls.call(self.function, list(arguments), context)

    def stream(self, *arguments: Any) -> AsyncIterator[Any]:
        return self.calls.stream(self.function, list(arguments))
