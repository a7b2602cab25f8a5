"""Numbered steps in words (g-host), performed with a real runtime over a provider that waits where it is told to.

Owns the words that are known: a table of patterns. Steps that hold others are left to whoever can do them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm import Runtime
from agrun_wasm.contracts.model import Finished, ModelEvent, ModelRequest, TextDelta, TokenUsage, ToolArgsDelta
from agrun_wasm.planner.envelope import read_args
from tests.clock import FakeClock

SESSION = "s"
_TURNS = 100
"""Turns of the event loop after which a run that was just started stands where it waits."""


@dataclass
class _Cut:
    """A reply that streams these events and then waits until it is released or cut."""

    events: list[ModelEvent] = field(default_factory=list)


class Gate:
    """A provider that answers each prompt with "answer <prompt>", after the cut replies it was given before."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.cuts: list[_Cut] = []
        self.waiting: list[asyncio.Event] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        if self.cuts:
            for event in self.cuts.pop(0).events:
                yield event
            self.waiting.append(asyncio.Event())
            await self.waiting[-1].wait()
        prompt = [message.text for message in request.messages if message.kind == "prompt"][-1]
        yield TextDelta(f"answer {prompt}")
        yield Finished("stop", TokenUsage())


def runtime_over(provider: Gate) -> Runtime:
    return Runtime(provider="gate:test", providers={"gate": provider}, clock=FakeClock())


class Play:
    """The steps of one case; `known` is whether all of them are."""

    def __init__(self, steps: list[str]) -> None:
        self._gate = Gate()
        self._runtime = runtime_over(self._gate)
        self._session = SESSION
        self._prompts: list[str] = []
        self._streamed = ""
        self._cut: _Cut | None = None
        self._events: list[list[str]] = []
        self._handles: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._todo = [self._step(step) for step in steps]
        self.known = all(self._todo)

    async def outcome(self) -> dict[str, Any]:
        """What happened, as facts. Raises what the API raises."""
        for step in self._todo:
            assert step is not None
            await step()
        await asyncio.gather(*self._tasks)
        request = self._gate.requests[-1]
        return {
            "executed": [kind for kinds in self._events for kind in kinds if kind == "action-executed"],
            "events_end_with": self._events[0][-1].removeprefix("run-"),
            "next_request": self._validity(request),
            "message_content_not_empty": all(m.text or m.tool_calls for m in request.messages),
            "history_order": await self._history(),
        }

    def _step(self, words: str) -> Callable[[], Awaitable[None]] | None:
        table: list[tuple[str, Callable[..., Awaitable[None]]]] = [
            (r"stream gives text '(.*)'", self._stream_text),
            (r"stream gives tool call (\S+) (\S+) with arguments '(.*)'", self._stream_call),
            (r"host aborts", self._abort),
            (r"user sends '(.*)'", self._run),
            (r"run\(session (\S+), '(.*)'\) starts and waits on the provider", self._start_waiting),
            (r"run\(session (\S+), '(.*)'\) starts", self._start),
            (r"(?:first|second|third) ends", self._end_next),
        ]
        for pattern, act in table:
            if found := re.fullmatch(pattern, words.strip(), re.DOTALL):
                return lambda: act(*found.groups())
        return None

    async def _stream_text(self, text: str) -> None:
        self._streamed += text
        self._streams(TextDelta(text))

    async def _stream_call(self, call_id: str, name: str, arguments: str) -> None:
        self._streams(ToolArgsDelta(call_id, name, arguments))

    def _streams(self, event: ModelEvent) -> None:
        """What a stream gives before it is cut is one reply."""
        if self._cut is None:
            self._cut = _Cut()
            self._gate.cuts.append(self._cut)
        self._cut.events.append(event)

    async def _abort(self) -> None:
        self._cut = None
        await self._start(self._session, "begin")
        self._handles[-1].stop("now")
        await self._tasks.pop()

    async def _start_waiting(self, session: str, prompt: str) -> None:
        self._gate.cuts.append(_Cut())
        await self._start(session, prompt)

    async def _start(self, session: str, prompt: str) -> None:
        self._session = session
        self._tasks.append(asyncio.ensure_future(self._run(prompt)))
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def _end_next(self) -> None:
        if self._gate.waiting:
            self._gate.waiting.pop(0).set()
        await self._tasks.pop(0)

    async def _run(self, prompt: str) -> None:
        """A run of the session to its end, its event types noted."""
        self._prompts.append(prompt)
        kinds: list[str] = []
        self._events.append(kinds)
        async with self._runtime.session(self._session).stream(prompt) as run:
            self._handles.append(run)
            kinds.extend([event.type async for event in run])
            await run.result()

    async def _history(self) -> list[str]:
        """What the next model call of the session is shown, in order."""
        async with self._runtime.session(self._session).stream("last") as run:
            await run.result()
        shown = [message.text for message in self._gate.requests[-1].messages]
        return [text for text in shown if text.removeprefix("answer ") in self._prompts]

    def _validity(self, request: ModelRequest) -> str:
        """`valid`, or why providers refuse such a request, or what it lost of what was said before."""
        answered = {message.tool_call_id for message in request.messages if message.role == "tool"}
        for message in request.messages:
            for call in message.tool_calls:
                if call.id not in answered:
                    return f"invalid: {call.id} has no result"
                if read_args(call.args_text)[1] is not None:
                    return f"invalid: the arguments of {call.id} are no JSON object"
        said = "\n".join(message.text for message in request.messages)
        lost = [text for text in (*self._prompts, self._streamed) if text not in said]
        return f"lost: {lost[0]}" if lost else "valid"
