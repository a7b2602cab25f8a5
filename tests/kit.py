"""What most tests of the runtime need: a runtime over scripted replies, on virtual time, with steps to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agrun_wasm import Action, RunEvent, RunResult, Runtime
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.clock import FakeClock


class CountedIds:
    """run-1, run-2, ...: the same ids in every test run."""

    def __init__(self) -> None:
        self._count = 0

    def new(self, kind: Literal["run", "session"]) -> str:
        self._count += 1
        return f"{kind}-{self._count}"


def calls(*named: tuple[str, Mapping[str, Any]], **beside: Any) -> dict[str, Any]:
    """A native reply with tool calls."""
    return {"toolCalls": [{"name": name, "args": dict(args)} for name, args in named], **beside}


def adder(**changes: Any) -> Action:
    """A tier 0 action `add {a, b}` that gives `{sum}`."""

    async def add(context: Any, args: dict[str, Any]) -> Any:
        return {"sum": args["a"] + args["b"]}

    parts: dict[str, Any] = {
        "name": "add",
        "description": "Add two integers.",
        "tier": 0,
        "planner": {"argsSchema": {k: {"type": "integer", "required": True} for k in ("a", "b")}},
        "execute": add,
    }
    return Action(**{**parts, **changes})


def scripted(replies: Sequence[Mapping[str, Any]], **keys: Any) -> tuple[Runtime, ScriptedProvider]:
    """A runtime whose model says `replies` in order, and its provider."""
    provider = ScriptedProvider(replies)
    parts: dict[str, Any] = {
        "provider": "scripted:test",
        "providers": {"scripted": provider},
        "clock": FakeClock(),
        "ids": CountedIds(),
    }
    return Runtime(**{**parts, **keys}), provider


def types(events: Sequence[RunEvent]) -> list[str]:
    return [event.type for event in events]


def details(result: RunResult, type_: str) -> list[dict[str, Any]]:
    """The details of a result's steps of one type."""
    return [step.detail for step in result.steps if step.type == type_]
