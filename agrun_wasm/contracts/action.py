"""What an action declares to the runtime and to the planner. The callable itself stands in `actions/definition`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.policy import Permission

ArgType = Literal["string", "number", "integer", "boolean", "array", "object"]


class ArgSpec(Contract):
    """One key of an argsSchema (2.4). `properties` are the keys of an object, `items` the form of an array's items."""

    type: ArgType
    required: bool = False
    aliases: list[str] = []
    enum: list[Any] | None = None
    items: ArgSpec | None = None
    properties: dict[str, ArgSpec] | None = None
    description: str = ""


ArgsSchema = dict[str, ArgSpec]


class SchemaOptOut(Contract):
    """Why a planner-visible action has no argsSchema."""

    reason: str = Field(min_length=1)


class PlannerMeta(Contract):
    """What the planner is told of an action (2.4). `standalone`: never beside other calls, never in a plan."""

    aliases: list[str] = []
    args_example: dict[str, Any] | None = None
    args_schema: ArgsSchema | None = None
    args_schema_opt_out: SchemaOptOut | None = None
    decision_type: Literal["action", "clarify"] = "action"
    guidance: str = ""
    standalone: bool = False


class ActionInfo(Contract):
    """A registered action as `runtime.actions.list()` shows it."""

    name: str
    description: str
    tier: int
    permission: Permission


class PlannerActionInfo(ActionInfo):
    """An offered action as `runtime.actions.list_for_planner()` shows it."""

    planner: PlannerMeta
