"""Observe: opens a cycle with what is known at its start: the steps left and what came in since the last one."""

from __future__ import annotations

from agrun_wasm.contracts.state import CycleState
from agrun_wasm.loop.context import RunContext


def observe(ctx: RunContext) -> None:
    """Opens the next cycle, numbered and announced."""
    state = ctx.state
    state.cycles_started += 1
    observed = {"stepsLeft": state.budgets.steps_left, "observations": state.observations}
    state.observations = []
    state.cycle = CycleState(cycle=state.cycles_started, observe=observed)
    ctx.emit("cycle-started", stepsLeft=state.budgets.steps_left)
