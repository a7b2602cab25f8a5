"""What is refused when an action is created, with the action and the key in the message."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm import Action, CompositionInvalid, ConfigInvalid, Plugin
from agrun_wasm.actions.registry import Registry, name_conflicts
from tests.kit import adder, scripted


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


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


AT_REGISTRATION: list[tuple[dict[str, Any], list[str]]] = [
    ({"x": {"type": "float"}}, ["'x'", "float"]),
    ({"x": {"type": "str"}}, ["'x'", "did you mean 'string'"]),
    ({"x": {"type": "array", "items": {"type": "array", "items": {"type": "any"}}}}, ["x[][]"]),
    ({"x": text(aliases=["y"]), "y": text()}, ["'y'", "another key"]),
    ({"x": text(aliases=["z"]), "y": text(aliases=["z"])}, ["'z'", "alias of 'x'"]),
    ({"x": text(aliases=["x"])}, ["'x'"]),
    ({"o": {"type": "object", "properties": {"a": text(aliases=["b"]), "b": text()}}}, ["o.a"]),
    (
        {
            "o": {
                "type": "array",
                "items": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": text(aliases=["b"]), "b": text()}},
                },
            }
        },
        ["o[][].a"],
    ),
]


@pytest.mark.parametrize(("schema", "words"), AT_REGISTRATION)
def test_registration_refuses_from_a_host_and_from_a_plugin_alike(schema: dict[str, Any], words: list[str]) -> None:
    bad = adder(name="probe", planner={"argsSchema": schema})
    for keys, error in (
        ({"actions": [bad]}, ConfigInvalid),
        ({"plugins": [Plugin("kit", "1", [bad])]}, CompositionInvalid),
    ):
        with pytest.raises(error) as caught:
            scripted([], **keys)
        for word in ("'probe'", *words):
            assert word in str(caught.value)


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
