"""What is refused when an action is created, with the action and the key in the message."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm import Action, ConfigInvalid
from agrun_wasm.actions.registry import Registry, name_conflicts
from tests.kit import adder


def nothing(context: Any, args: dict[str, Any]) -> None: ...


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": ""}, ["name"]),
    ({"name": 7}, ["name"]),
    ({"description": None}, ["probe", "description"]),
    ({"tier": None}, ["probe", "tier"]),
    ({"tier": 4}, ["probe", "tier"]),
    ({"tier": True}, ["probe", "tier"]),
    ({"tier": "1"}, ["probe", "tier"]),
    ({"timeout_ms": 0}, ["probe", "timeoutMs"]),
    ({"timeout_ms": 1.5}, ["probe", "timeoutMs"]),
    ({"execute": None}, ["probe", "execute"]),
    ({"planner": {}}, ["probe", "argsSchema"]),
    ({"planner": {"argsExample": {"a": 1}}}, ["probe", "argsSchema"]),
    ({"planner": {"argsSchemaOptOut": {"reason": ""}}}, ["probe", "reason"]),
    ({"planner": {"argsSchema": {}, "alias": ["x"]}}, ["probe", "alias", "aliases"]),
    ({"planner": {"argsSchema": {"x": {"type": "float"}}}}, ["probe", "x", "type"]),
    (
        {"planner": {"argsSchema": {"x": {"type": "string", "aliases": ["y"]}, "y": {"type": "string"}}}},
        ["probe", "'y'"],
    ),
    (
        {
            "planner": {
                "argsSchema": {
                    "o": {
                        "type": "object",
                        "properties": {"a": {"type": "string", "aliases": ["b"]}, "b": {"type": "string"}},
                    }
                }
            }
        },
        ["probe", "o.a"],
    ),
    ({"planner": {"argsSchema": {}, "decisionType": "clarify"}}, ["probe", "decisionType"]),
    ({"permission": {"isReadonly": True}}, ["probe", "isReadonly", "isReadOnly"]),
    ({"permission": {"effect": "magic"}}, ["probe", "effect"]),
    ({"permission": {"isReadOnly": "yes"}}, ["probe", "isReadOnly"]),
]


@pytest.mark.parametrize(("parts", "words"), REFUSED)
def test_a_bad_part_is_refused_by_name(parts: dict[str, Any], words: list[str]) -> None:
    whole: dict[str, Any] = {
        "name": "probe",
        "description": "Probe.",
        "tier": 0,
        "planner": {"argsSchema": {}},
        "execute": nothing,
    }
    with pytest.raises(ConfigInvalid) as caught:
        Action(**{**whole, **parts})
    for word in words:
        assert word in caught.value.message


def test_permission_is_complete_and_its_source_is_ours() -> None:
    declared = adder(permission={"isReadOnly": True, "source": "built_in_metadata"}).permission
    assert (declared.source, declared.is_read_only, declared.is_destructive) == ("host_declared", True, True)
    assert adder(permission={"source": "built_in_metadata"}).permission.source == "host_default"


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("add", "add"),
        ("plus", "plus"),
        ("sum", "add"),
        ("functions.sum", "add"),
        ("ADD", "add"),
        ("functions.Plus", "plus"),
        ("subtract", None),
        ("", None),
    ],
)
def test_names_resolve_a_name_before_an_alias(named: str, found: str | None) -> None:
    meta = {"argsSchema": {}, "aliases": ["sum", "plus"]}
    registry = Registry([adder(planner=meta), adder(name="plus")])
    resolved = registry.resolve(named)
    assert (resolved.name if resolved else None) == found


def test_every_conflict_is_listed() -> None:
    meta = {"argsSchema": {}, "aliases": ["plan", "twice", "own"]}
    conflicts = name_conflicts(
        [adder(planner=meta), adder(), adder(name="final_answer"), adder(name="own"), adder(name="x", planner=meta)]
    )
    text = "\n".join(conflicts)
    for word in ("'add'", "'plan'", "'final_answer'", "'own'", "'twice'"):
        assert word in text
