"""Events on their way out: deltas are joined, and nothing waits longer than a frame, or for an action's code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agrun_wasm.contracts.events import RunEvent

__all__ = ["EventBatch"]

WAIT_SECONDS = 0.016
WAIT_CHARACTERS = 1024
#: deltas that only add text to the one before
JOINED = ("text-delta", "reasoning-delta", "tool-args-delta")
#: what follows may be a tool's Python, which holds the only thread there is for as long as it likes
LAST_BEFORE_CODE = "action-executing"


class EventBatch:
    """Gathers events for 16 ms, 1 KB of text or until an action begins, whichever comes first, and sends them in one
    message.

    A delta is joined to the delta before it where everything but the text is the same; it takes the later `seq`.
    """

    def __init__(self, send: Callable[[list[dict[str, Any]]], None]) -> None:
        self._send = send
        self._events: list[dict[str, Any]] = []
        self._characters = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, event: RunEvent) -> None:
        data = event.to_json()
        if data["type"] in JOINED:
            self._characters += len(data["detail"].get("text", ""))
            if self._events and _continues(self._events[-1], data):
                last = self._events[-1]
                last["detail"]["text"] += data["detail"]["text"]
                last["seq"] = data["seq"]
            else:
                self._events.append(data)
        else:
            self._events.append(data)
        if self._characters >= WAIT_CHARACTERS or data["type"] == LAST_BEFORE_CODE:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WAIT_SECONDS, self.flush)

    def flush(self) -> None:
        self.close()
        if self._events:
            events, self._events = self._events, []
            self._characters = 0
            self._send(events)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _continues(last: dict[str, Any], data: dict[str, Any]) -> bool:
    if last["type"] != data["type"] or last["cycle"] != data["cycle"]:
        return False
    before, now = last["detail"], data["detail"]
    return before.keys() == now.keys() and all(before[key] == now[key] for key in now if key != "text")
