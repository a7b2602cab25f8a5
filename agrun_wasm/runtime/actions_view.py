"""`runtime.actions`: the registered and the offered actions, as public data."""

from __future__ import annotations

import builtins

from agrun_wasm.contracts.action import ActionInfo, PlannerActionInfo
from agrun_wasm.planner.surface import Surface


class ActionsView:
    """Copies only; nothing changed here reaches the runtime."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface

    def list(self) -> list[ActionInfo]:
        """Every registered action, offered or not."""
        return self._surface.registry.list()

    def list_for_planner(self) -> builtins.list[PlannerActionInfo]:
        """The actions a new run's planner is offered, with their planner metadata."""
        return [info.clone() for info in self._surface.list_for_planner()]
