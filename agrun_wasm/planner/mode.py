"""Which planner mode a config means, and why. Rules: document 2, 2.2 plannerMode."""

from __future__ import annotations

from typing import Literal

from agrun_wasm.contracts.config import RuntimeConfig

PlannerMode = Literal["envelope", "native_tools"]


def planner_mode(config: RuntimeConfig) -> tuple[PlannerMode, str]:
    """The mode a run begins with, and the reason."""
    if config.planner_mode == "auto":
        return "native_tools", "auto resolves to native_tools"
    return config.planner_mode, "set by plannerMode"
