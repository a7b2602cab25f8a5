"""d-skill: SKILL.md texts through Skill.from_files, and paths of resources through read_skill_resource (2.9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agrun_wasm.actions.definition import Refused
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.skills.skill import Skill
from tests.cases.expect import Actual, equal
from tests.cases.skill_tools import prepare, skill_with

_LENGTH = re.compile(r"description of (\d+) characters")


async def actual(item: Mapping[str, Any]) -> Actual:
    if "content" not in item:
        return _resource(item["skill"], item["value"])
    content = item["content"]
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    try:
        skill = Skill.from_files({f"{item['dir']}/{item.get('file', 'SKILL.md')}": text})
    except ConfigInvalid as error:
        return Actual(error=error.code, message=error.message)
    value = {
        "name": skill.name,
        "description": skill.description,
        "body": skill.body,
        "metadata": skill.metadata,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "allowed_tools": skill.allowed_tools,
    }
    return Actual(value, facts={"warning": [found["code"] for found in skill.diagnostics]})


def compare(expected: Any, actual: Any) -> list[str]:
    """The fields that a case names; `body_starts` is the body's beginning, `ok_with` a fact in words."""
    if not isinstance(expected, dict):
        return equal(expected, actual)
    faults: list[str] = []
    for key, value in expected.items():
        if key == "body_starts":
            faults += [] if actual["body"].startswith(value) else [f"body: does not start with {value!r}"]
        elif key == "ok_with":
            wanted = _LENGTH.search(value)
            faults += equal(int(wanted[1]), len(actual["description"]), "description's length") if wanted else []
        else:
            faults += equal(value, actual.get(key), key)
    return faults


def _resource(skill: str, path: str) -> Actual:
    """A path given to read_skill_resource: the file it leads to, or the refusal."""
    made = skill_with(skill, {"references/guide.md": "Guide.\n"})
    done = prepare("read_skill_resource", made, {"skillName": skill, "path": path})
    if isinstance(done, Refused):
        return Actual(error=done.reason, message=done.error)
    return Actual(done.args["path"])
