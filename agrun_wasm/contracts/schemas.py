"""The JSON Schemas of the contracts, for `build.py schema` and for the TypeScript declarations of the page."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from agrun_wasm.contracts.action import ActionInfo, PlannerActionInfo, PlannerMeta
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.decision import Decision
from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.policy import Permission, PolicyDecision
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import RunState

PUBLISHED: dict[str, Any] = {
    "action-info": ActionInfo,
    "decision": Decision,
    "error-info": ErrorInfo,
    "permission": Permission,
    "planner-action-info": PlannerActionInfo,
    "planner-meta": PlannerMeta,
    "policy-decision": PolicyDecision,
    "run-event": RunEvent,
    "run-input": RunInput,
    "run-result": RunResult,
    "run-state": RunState,
    "runtime-config": RuntimeConfig,
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """File stem -> JSON Schema (draft 2020-12), under wire names."""
    return {name: TypeAdapter(model).json_schema(by_alias=True) for name, model in PUBLISHED.items()}
