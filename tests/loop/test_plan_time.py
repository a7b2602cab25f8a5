"""A plan takes as long as its longest action, in virtual and in real time; what must run alone takes its turn."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from agrun_wasm import Action, Runtime
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.clock import FakeClock
from tests.kit import calls

EACH_MS = 100
#: as a part of one bare wait (document 5, M10)
REACH = 1.3


class RealClock:
    def now(self) -> float:
        return time.time() * 1000

    async def sleep(self, ms: float) -> None:
        await asyncio.sleep(ms / 1000)


async def plan_ms(clock: Any, count: int, *, safe: bool = True, parallel: int = 8) -> float:
    """Milliseconds of the clock from plan-executing to plan-executed."""

    async def wait(context: Any, args: dict[str, Any]) -> Any:
        await clock.sleep(EACH_MS)
        return args["n"]

    permission = {"effect": "none", "isConcurrencySafe": safe}
    schema = {"n": {"type": "integer", "required": True}}
    action = Action("wait", "Waits.", 0, planner={"argsSchema": schema}, permission=permission, execute=wait)
    items = [{"type": "action", "name": "wait", "args": {"n": n}} for n in range(count)]
    model = ScriptedProvider([calls(("plan", {"actions": items, "synthesize_instruction": "direct"})), {"text": "ok"}])
    runtime = Runtime(
        provider="scripted:test",
        providers={"scripted": model},
        clock=clock,
        actions=[action],
        max_plan_parallel=parallel,
    )
    result = await runtime.run("go")
    assert [record["output"] for record in result.state["toolContext"]["history"]] == list(range(count))
    at = {step.type: step.at for step in result.steps}
    return at["plan-executed"] - at["plan-executing"]


@pytest.mark.parametrize(
    ("count", "safe", "parallel", "waits"),
    [(8, True, 8, 1), (8, True, 4, 2), (8, True, 3, 3), (8, True, 1, 8), (4, False, 8, 4), (1, True, 8, 1)],
)
async def test_in_virtual_time(count: int, safe: bool, parallel: int, waits: int) -> None:
    assert await plan_ms(FakeClock(), count, safe=safe, parallel=parallel) == waits * EACH_MS


async def test_in_real_time() -> None:
    """Eight at once against one bare wait in the same process, the best of some rounds of each."""
    clock = RealClock()
    bare, taken = [], []
    for _ in range(4):
        start = time.perf_counter()
        await clock.sleep(EACH_MS)
        bare.append((time.perf_counter() - start) * 1000)
        taken.append(await plan_ms(clock, 8))
    assert min(taken) <= min(bare) * REACH
