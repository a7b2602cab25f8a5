"""A plan of actions that only wait, from the step plan-executing to plan-executed. Arguments: real or virtual time,
actions, milliseconds each. `one_ms` is one such wait without a runtime, taken just before."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agrun_wasm import Runtime, action
from agrun_wasm.contracts.ports import Clock
from agrun_wasm.providers.scripted import ScriptedProvider
from agrun_wasm.runtime.default_ports import SystemClock
from tests.clock import FakeClock

CLOCKS: dict[str, type[Clock]] = {"real": SystemClock, "virtual": FakeClock}


async def _plan(clock: Clock, actions: int, each_ms: int) -> float:
    """How long the plan took by the events' own times, in milliseconds."""

    @action(tier=0, permission={"isConcurrencySafe": True})
    async def wait(number: int) -> int:
        """Wait a moment."""
        await clock.sleep(each_ms)
        return number

    items = [{"type": "action", "name": "wait", "args": {"number": number}} for number in range(actions)]
    replies: list[dict[str, Any]] = [{"toolCalls": [{"name": "plan", "args": {"actions": items}}]}, {"text": "Done."}]
    runtime = Runtime(
        provider="scripted:bench", providers={"scripted": ScriptedProvider(replies)}, actions=[wait], clock=clock
    )
    async with runtime.stream("Wait for all") as run:
        times = {event.type: event.at async for event in run}
        result = await run.result()
    if result.status != "completed":
        raise SystemExit(f"the run is {result.status}: {result.error}")
    return times["plan-executed"] - times["plan-executing"]


async def _one(clock: Clock, each_ms: int) -> float:
    start = clock.now()
    await clock.sleep(each_ms)
    return clock.now() - start


async def _main(time: str, actions: int, each_ms: int) -> None:
    clock = CLOCKS[time]()
    await _plan(clock, 2, 1)
    one = await _one(clock, each_ms)
    print(json.dumps({"plan_ms": await _plan(clock, actions, each_ms), "one_ms": one}))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
