"""A process that drives durable runs, for the tests that kill it (tests/host/zygote.py starts it).

What happens is written to files a line at a time, so that it outlives the process. The model answers by what it is
shown alone: asked again, it says the same again.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agrun_host.durable.runs import DurableRuns
from agrun_wasm import Action, Runtime

#: what is said after so many results
TURNS: list[list[dict[str, Any]]] = [
    [{"name": "note", "args": {"n": n}} for n in (1, 2, 3, 4)],  # side by side
    [{"name": "note", "args": {"n": 5}}],
    [{"name": "note", "args": {"n": 6}}],
]


class Program:
    """`kill_at`: the process kills itself at its n-th moment: a call's begin or end, or a piece of text."""

    def __init__(self, folder: Path, kill_at: int = 0, pause: float = 0.0) -> None:
        self.folder = folder
        self.kill_at = kill_at
        self.pause = pause
        self.moments = 0

    def say(self, name: str, line: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(line + "\n")

    async def moment(self) -> None:
        await asyncio.sleep(self.pause)
        self.moments += 1
        if self.moments == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def runtime(self, journal: Any) -> Runtime:
        schema = {"n": {"type": "integer", "required": True}}
        note = Action(
            "note",
            "Notes.",
            0,
            permission={"effect": "external_write", "isConcurrencySafe": True},
            planner={"argsSchema": schema},
            execute=self.note,
        )
        order = Action("order", "Orders.", 1, planner={"argsSchema": schema}, execute=self.note)
        return Runtime(
            provider={"name": "fake", "model": "m"}, providers={"fake": self}, actions=[note, order], journal=journal
        )

    async def note(self, context: Any, args: dict[str, Any]) -> Any:
        self.say("calls", context.idempotency_key)
        await self.moment()
        await asyncio.sleep(0.002 * (args["n"] % 3))
        await self.moment()
        return {"noted": args["n"]}

    async def stream(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        self.say("calls", f"model {len(request.messages)}")
        await self.moment()
        said = [message for message in request.messages if message.role == "assistant"]
        turns = [[{"name": "order", "args": {"n": 9}}]] if "order" in str(request.messages[-1:]) + str(said) else TURNS
        if len(said) < len(turns):
            for at, call in enumerate(turns[len(said)]):
                yield {"type": "tool-call", "id": f"c{len(said)}-{at}", **call}
            yield {"type": "finished", "reason": "tool_calls"}
            return
        for piece in ("It ", "is ", "noted."):
            yield {"type": "text-delta", "text": piece}
            await self.moment()
        yield {"type": "finished", "reason": "stop"}

    async def follow(self, runs: DurableRuns, run_id: str) -> None:
        """A client that writes down what it sees, and comes back for what it has not seen."""
        name = f"seen-{run_id}"
        seen = (self.folder / name).read_text().splitlines() if (self.folder / name).exists() else []
        after = json.loads(seen[-1])["seq"] if seen else 0
        async for event in runs.events(run_id, after):
            self.say(name, json.dumps(event))


async def drive(told: dict[str, Any]) -> None:
    program = Program(Path(told["folder"]), told.get("killAt", 0), told.get("pause", 0.0))
    async with await DurableRuns.open(program.runtime, told["url"], executor_id=told.get("executor")) as runs:
        program.say("ready", str(os.getpid()))
        for run_id in told.get("start", []):
            await runs.start({"prompt": "note it"}, run_id=run_id, session=told.get("session"))
            program.say("asked", run_id)
        if told.get("stay"):
            await asyncio.sleep(600)
        await asyncio.gather(*(program.follow(runs, run_id) for run_id in told["runs"]))


def main(told: dict[str, Any]) -> None:
    asyncio.run(drive(told))
