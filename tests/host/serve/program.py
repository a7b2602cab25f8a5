"""A server of durable runs in a process of its own, for tests that kill it (tests/host/zygote.py starts it).

Runs have five cycles, four of them with an action, which writes its key to a file before it begins. A prompt "say N"
is answered at once, with N pieces of a kilobyte. The model answers by what it is shown alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agrun_host.durable.runs import DurableRuns
from agrun_host.serve.app import create_app
from agrun_host.serve.server import serve
from agrun_host.serve.settings import ServeSettings
from agrun_wasm import Action, Runtime

ACTIONS = 4


class Program:
    def __init__(self, folder: Path, pause: float) -> None:
        self._folder = folder
        self._pause = pause

    async def note(self, context: Any, args: dict[str, Any]) -> Any:
        with (self._folder / "calls").open("a") as file:
            file.write(context.idempotency_key + "\n")
        await asyncio.sleep(self._pause)
        return {"noted": args["n"]}

    async def stream(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        said = sum(message.role == "assistant" for message in request.messages)
        words = request.messages[-1].text.split()
        if words[:1] == ["say"]:
            for _ in range(int(words[1])):
                yield {"type": "reasoning-delta", "text": "x" * 1023 + " "}
                await asyncio.sleep(0)
            yield {"type": "text-delta", "text": "said"}
        elif said < ACTIONS:
            yield {"type": "tool-call", "id": f"c{said}", "name": "note", "args": {"n": said}}
            yield {"type": "finished", "reason": "tool_calls"}
            return
        else:
            for piece in ("It ", "is ", "noted."):
                yield {"type": "text-delta", "text": piece}
        yield {"type": "finished", "reason": "stop"}

    def runtime(self, journal: Any) -> Runtime:
        note = Action(
            "note",
            "Notes.",
            0,
            permission={"effect": "external_write"},
            planner={"argsSchema": {"n": {"type": "integer", "required": True}}},
            execute=self.note,
        )
        return Runtime(
            provider={"name": "fake", "model": "m"}, providers={"fake": self}, actions=[note], journal=journal
        )


def main(told: dict[str, Any]) -> None:
    folder = Path(told["folder"])
    program = Program(folder, told.get("pause", 0.0))

    @asynccontextmanager
    async def opened() -> AsyncIterator[DurableRuns]:
        async with await DurableRuns.open(program.runtime, told["url"], executor_id="one") as runs:
            yield runs

    settings = ServeSettings(**{"port": 0, **told.get("settings", {})})
    serve(create_app(settings, opened), settings, lambda address: print(address, flush=True))
