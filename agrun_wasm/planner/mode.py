"""Which planner mode a config means, and why. Rules: document 2, 2.2 plannerMode."""

from __future__ import annotations

from typing import Literal

from agrun_wasm.contracts.config import RuntimeConfig

PlannerMode = Literal["envelope", "native_tools"]


def planner_mode(config: RuntimeConfig) -> tuple[PlannerMode, str]:
    """The mode a run begins with, and the reason."""
    if config.planner_mode != "auto":
        return config.planner_mode, "set by plannerMode"
    if not has_native_tools(config):
        return "envelope", f"{config.provider_config().name} has no native tools"
    return "native_tools", "auto resolves to native_tools"


def has_native_tools(config: RuntimeConfig) -> bool:
    """False where the transport says so itself (`native_tools = False`); its model is held to a schema instead."""
    transport = config.providers.get(config.provider_config().name)
    return getattr(transport, "native_tools", True) is not False
