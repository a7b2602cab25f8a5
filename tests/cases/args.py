"""c-args: arguments through the product's validation (2.4), those of skill tools through their preflight (2.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_wasm.actions.arguments import CheckedArgs, check_args
from agrun_wasm.actions.definition import Action
from tests.cases.expect import Actual, equal
from tests.cases.skill_tools import prepared

compare = equal


async def actual(item: Mapping[str, Any]) -> Actual:
    name = item.get("action", "action")
    if "schema" not in item:
        return await prepared(name, item["args"])
    action = Action(name, "", 0, {"argsSchema": item["schema"]}, execute=lambda context, args: None)
    return outcome(name, check_args(action.args_schema, item["args"]))


def outcome(name: str, checked: CheckedArgs) -> Actual:
    rewrites = [[made["from"], made["to"]] for made in checked.rewrites]
    collisions = [made["from"] for made in checked.rewrites if made["collision"]]
    if checked.fault:
        facts = {"key": checked.fault.key, "reason": checked.fault.reason, "actionName": name}
        return Actual(error="action-args-invalid", message=checked.fault.error, facts=facts)
    return Actual(checked.args, facts={"rewrites": rewrites, "collisions": collisions})
