"""The six skill actions on a hand-made run state: what they refuse, what they return, which effects they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm.actions.arguments import check_args
from agrun_wasm.actions.definition import Action, Prepared, Refused
from agrun_wasm.contracts.effects import HandoffCycle, SkillActivated, SkillHandoff, SkillRead
from agrun_wasm.contracts.policy import PolicyEntry
from agrun_wasm.contracts.state import RunState
from agrun_wasm.skills.actions import skill_actions
from agrun_wasm.skills.catalog import SkillCatalog
from agrun_wasm.skills.skill import Skill
from agrun_wasm.skills.tool_action import lift_args
from tests.skills.samples import TIDE_TOOLS, Context, skill, state, with_files

TIDE = skill("tide-table", tools=TIDE_TOOLS)
LAMP = skill("lamp-room")
PORTS = with_files({"references/ports.md": "Aabenraa\nBrest\nCadiz\nDover\n", "a b/é.txt": "x"})
FAR = Skill.from_files({"SKILL.md": "---\nname: far\ndescription: Far.\n---\nB\n", "tools.py": TIDE_TOOLS})
VAULT = skill("vault", tools=TIDE_TOOLS)

POLICY = {"vault": "deny", "lamp-room": PolicyEntry(action="ask", reason="dark"), "tide-table.tide_chart": "deny"}
CATALOG = SkillCatalog([TIDE, LAMP, PORTS, FAR, VAULT], POLICY)
RESERVED = {"ring_bell": "ring_bell", "bell": "ring_bell"}
ACTIONS = {action.name: action for action in skill_actions(CATALOG, reserved=RESERVED.get)}


def prepare(name: str, run: RunState, args: dict[str, Any]) -> Prepared | Refused:
    """As the dispatcher does: the args phase first."""
    checked = check_args(ACTIONS[name].args_schema, args)
    assert checked.fault is None, checked.fault
    built_in = ACTIONS[name].built_in
    assert built_in is not None
    assert built_in.prepare is not None
    return built_in.prepare(run, checked.args)


def refused(name: str, run: RunState, args: dict[str, Any]) -> Refused:
    found = prepare(name, run, args)
    assert isinstance(found, Refused)
    return found


async def run(name: str, run_state: RunState, args: dict[str, Any]) -> dict[str, Any]:
    prepared = prepare(name, run_state, args)
    assert isinstance(prepared, Prepared), prepared
    result: dict[str, Any] = await ACTIONS[name].execute(Context(run_state), prepared.args)  # type: ignore[arg-type]
    assert set(result) == {"control", "output", "summary", "effects"}
    assert result["control"] == "continue"
    return result


def gate(name: str, run_state: RunState, args: dict[str, Any]) -> str | None:
    built_in = ACTIONS[name].built_in
    assert built_in is not None
    entry = built_in.gate(run_state, args) if built_in.gate else None
    return entry.action if entry else None


# --- the table of document 2, 2.4

TABLE = {
    "list_agent_skills": ("skills", [], "skill_catalog", True, True),
    "read_agent_skill": ("skills", [], "skill_catalog", True, True),
    "read_skill_resource": ("skills", [], "skill_catalog", True, True),
    "use_agent_skill": ("skills", ["use_skill", "activate_skill"], "runtime_state", False, False),
    "execute_skill_tool": ("skills", [], "skill_tool", False, True),
    "handoff_to_skill": ("handoff", ["transfer_to_skill"], "runtime_state", False, False),
}


def test_there_are_six() -> None:
    assert list(ACTIONS) == list(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_definitions(name: str) -> None:
    action: Action = ACTIONS[name]
    permission = action.permission
    assert action.built_in is not None
    assert (
        action.built_in.capability,
        action.aliases,
        permission.effect,
        permission.is_read_only,
        permission.is_concurrency_safe,
    ) == TABLE[name]
    assert (action.tier, permission.interrupt_behavior) == (0, "abort_safe")
    assert (permission.is_destructive, permission.needs_approval) == (False, False)
    assert permission.source == "built_in_metadata"
    assert action.standalone == (name not in ("read_skill_resource", "execute_skill_tool"))


@pytest.mark.parametrize("name", TABLE)
def test_no_action_names_another_one(name: str) -> None:
    """A removed action must not be named in what is left."""
    action = ACTIONS[name]
    assert action.planner is not None
    told = f"{action.description} {action.planner.guidance}"
    assert not [other for other in TABLE if other in told]


# --- list


async def test_list() -> None:
    output = (await run("list_agent_skills", state(), {}))["output"]
    assert [entry["name"] for entry in output["skills"]] == ["tide-table", "lamp-room", "port-guide", "far"]
    assert output["skills"][0] == {"name": "tide-table", "description": "About tide-table."}
    assert output["total"] == 4


@pytest.mark.parametrize(
    ("args", "names"),
    [
        ({"query": "TIDE"}, ["tide-table"]),
        ({"query": "far room"}, ["lamp-room", "far"]),
        ({"query": "nothing-here"}, []),
        ({"query": "  "}, ["tide-table", "lamp-room", "port-guide", "far"]),
        ({"query": "about guide", "limit": 1}, ["port-guide"]),
        ({"limit": 2}, ["tide-table", "lamp-room"]),
    ],
)
async def test_list_query(args: dict[str, Any], names: list[str]) -> None:
    output = (await run("list_agent_skills", state(), args))["output"]
    assert [entry["name"] for entry in output["skills"]] == names


def test_list_limit() -> None:
    assert "limit" in refused("list_agent_skills", state(), {"limit": 0}).error


# --- read


async def test_read() -> None:
    result = await run("read_agent_skill", state(), {"skillName": "Tide-TABLE"})
    assert result["effects"] == [SkillRead("tide-table")]
    output = result["output"]
    assert output["instructions"] == "# Body\n\nDo it well.\n"
    assert [tool["name"] for tool in output["tools"]] == ["tide_at"]
    assert "harbour" not in str(output)


async def test_read_untrusted() -> None:
    output = (await run("read_agent_skill", state(), {"skillName": "far"}))["output"]
    assert output["tools"] == []
    assert "not trusted" in output["note"]


async def test_read_lists_resources() -> None:
    output = (await run("read_agent_skill", state(), {"skillName": "port-guide"}))["output"]
    assert output["resources"] == ["a b/é.txt", "references/ports.md"]


@pytest.mark.parametrize("name", ["tide-tabel", "vault"])
def test_read_unknown(name: str) -> None:
    found = refused("read_agent_skill", state(), {"skillName": name})
    assert (found.key, found.reason, found.problem) == (None, "preflight", "preflight_failed")
    assert "lamp-room" in found.error
    assert "(skills: tide-table, lamp-room, port-guide, far)" in found.error


# --- resources


@pytest.mark.parametrize(
    ("args", "text", "lines"),
    [
        ({"path": "references/ports.md"}, "Aabenraa\nBrest\nCadiz\nDover", (1, 4)),
        ({"path": "./references/x/../ports.md", "startLine": 2, "maxLines": 2}, "Brest\nCadiz", (2, 3)),
        ({"path": "references/ports.md", "startLine": 9.0}, "", (9, 8)),
        ({"path": "a b/e\u0301.txt", "skillName": "PORT-guide"}, "x", (1, 1)),
    ],
)
async def test_resource(args: dict[str, Any], text: str, lines: tuple[int, int]) -> None:
    result = await run("read_skill_resource", state(last_read="port-guide", read=["port-guide"]), args)
    output = result["output"]
    assert (output["skill"], output["text"], (output["startLine"], output["endLine"])) == ("port-guide", text, lines)
    assert result["effects"] == []


async def test_resource_of_the_active_skill_first() -> None:
    run_state = state(active="port-guide", last_read="lamp-room", read=["lamp-room"])
    assert (await run("read_skill_resource", run_state, {"path": "references/ports.md"}))["output"]["totalLines"] == 4


@pytest.mark.parametrize(
    ("context", "args", "mentions"),
    [
        ({}, {"path": "x"}, "read one first"),
        ({"last_read": "port-guide", "read": ["port-guide"]}, {"path": "references/port.md"}, "references/ports.md"),
        ({"last_read": "port-guide", "read": ["port-guide"]}, {"path": "../x"}, "path_outside_skill"),
        ({"last_read": "port-guide", "read": ["port-guide"]}, {"path": "/etc/hostname"}, "path_outside_skill"),
        ({"last_read": "port-guide", "read": ["port-guide"]}, {"path": "SKILL.md"}, "read_agent_skill"),
        ({"last_read": "far", "read": ["far"]}, {"path": "tools.py"}, "no file"),
        ({"last_read": "far", "read": ["far"]}, {"path": "x", "skillName": "port-guide"}, "has not been read"),
        ({"last_read": "far", "read": ["far"]}, {"path": "x", "skillName": "nope"}, "no skill 'nope'"),
        (
            {"last_read": "port-guide", "read": ["port-guide"]},
            {"path": "references/ports.md", "startLine": 0},
            "startLine",
        ),
        (
            {"last_read": "port-guide", "read": ["port-guide"]},
            {"path": "references/ports.md", "maxLines": -1},
            "maxLines",
        ),
    ],
)
def test_resource_refused(context: dict[str, Any], args: dict[str, Any], mentions: str) -> None:
    assert mentions in refused("read_skill_resource", state(**context), args).error


# --- use


@pytest.mark.parametrize("args", [{}, {"skillName": "TIDE-table"}, {"skillName": ""}, {"skillName": None}])
async def test_use(args: dict[str, Any]) -> None:
    run_state = state(last_read="tide-table", read=["lamp-room", "tide-table"])
    result = await run("use_agent_skill", run_state, args)
    assert result["effects"] == [SkillActivated("tide-table")]
    assert run_state.agent_skill_context.active is None


@pytest.mark.parametrize(
    ("args", "mentions"),
    [({}, "read one first"), ({"skillName": "tide-table"}, "read it first"), ({"skillName": "x"}, "no skill 'x'")],
)
def test_use_refused(args: dict[str, Any], mentions: str) -> None:
    assert mentions in refused("use_agent_skill", state(), args).error


def test_use_binds_the_name() -> None:
    prepared = prepare("use_agent_skill", state(last_read="tide-table", read=["tide-table"]), {})
    assert isinstance(prepared, Prepared)
    assert prepared.args == {"skillName": "tide-table"}


# --- handoff


async def test_handoff() -> None:
    args = {
        "skillName": "Port-Guide",
        "handoffContext": "Done: tides.",
        "inputFilter": {"toolHistory": {"keepLast": 0}, "actionHistory": {"keepLast": 3.0}, "other": {}},
    }
    run_state = state(active="tide-table", handoff_chain=["tide-table"])
    result = await run("handoff_to_skill", run_state, args)
    assert result["effects"] == [SkillHandoff("port-guide", "Done: tides.", {"actionHistory": 3, "toolHistory": 0})]
    assert run_state.agent_skill_context.active == "tide-table"


async def test_handoff_cycle() -> None:
    run_state = state(active="far", handoff_chain=["tide-table", "far"])
    result = await run("handoff_to_skill", run_state, {"skillName": "TIDE-table"})
    assert result["effects"] == [HandoffCycle(["tide-table", "far", "tide-table"])]


@pytest.mark.parametrize(
    ("args", "mentions"),
    [
        ({"skillName": "harbour-master"}, "no skill"),
        ({"skillName": "far", "inputFilter": {"toolHistory": {"keepLast": -1}}}, "inputFilter.toolHistory.keepLast"),
    ],
)
def test_handoff_refused(args: dict[str, Any], mentions: str) -> None:
    assert mentions in refused("handoff_to_skill", state(), args).error


def test_filter_without_its_number_is_an_args_fault() -> None:
    args = {"skillName": "far", "inputFilter": {"toolHistory": {}}}
    fault = check_args(ACTIONS["handoff_to_skill"].args_schema, args).fault
    assert fault is not None
    assert (fault.key, fault.reason) == ("inputFilter.toolHistory.keepLast", "missing")


# --- execute_skill_tool

ACTIVE = state(active="tide-table", read=["tide-table"], handoff_chain=["tide-table"])


@pytest.mark.parametrize(
    ("args", "canonical", "lifted", "dropped"),
    [
        (
            {"skillName": "clock", "toolName": "now", "timezone": "Asia/Tokyo", "reasoning": "r"},
            {"skillName": "clock", "toolName": "now", "args": {"timezone": "Asia/Tokyo"}},
            ("timezone",),
            (),
        ),
        (
            {"toolName": "now", "args": {"timezone": "Asia/Tokyo"}, "format": "24h"},
            {"toolName": "now", "args": {"timezone": "Asia/Tokyo"}},
            (),
            ("format",),
        ),
        ({"toolName": "now", "args": {}, "x": 1}, {"toolName": "now", "args": {"x": 1}}, ("x",), ()),
        ({"toolName": "now", "args": None, "x": 0}, {"toolName": "now", "args": {"x": 0}}, ("x",), ()),
        ({"toolName": "now"}, {"toolName": "now", "args": {}}, (), ()),
    ],
)
def test_lifting(
    args: dict[str, Any], canonical: dict[str, Any], lifted: tuple[str, ...], dropped: tuple[str, ...]
) -> None:
    found = lift_args(args)
    assert (found.args, found.lifted, found.dropped) == (canonical, lifted, dropped)


async def test_execute() -> None:
    result = await run("execute_skill_tool", ACTIVE, {"toolName": "tide_at", "args": {"harbour": "Riga", "hour": None}})
    assert result["output"] == {
        "kind": "agent_skill_tool_result",
        "skill": "tide-table",
        "tool": "tide_at",
        "args": {"port": "Riga"},
        "result": {"reading": "RIGA-12"},
    }
    assert result["effects"] == []


def test_execute_steps_and_idempotence() -> None:
    prepared = prepare(
        "execute_skill_tool", ACTIVE, {"toolName": "tide_at", "harbour": "Riga", "skillName": "TIDE-TABLE"}
    )
    assert isinstance(prepared, Prepared)
    assert prepared.args == {"skillName": "TIDE-TABLE", "toolName": "tide_at", "args": {"port": "Riga"}}
    rewrites = [{"from": "harbour", "to": "port", "collision": False}]
    assert prepared.steps == (
        ("skill-tool-args-lifted", {"toolName": "tide_at", "keys": ["harbour"]}),
        (
            "action-args-alias-rewrite",
            {"actionName": "execute_skill_tool", "toolName": "tide_at", "rewrites": rewrites},
        ),
    )
    again = prepare("execute_skill_tool", ACTIVE, prepared.args)
    assert again == Prepared(prepared.args, ())


@pytest.mark.parametrize(
    ("run_state", "args", "problem", "mentions"),
    [
        (state(), {"toolName": "tide_at"}, "preflight_failed", "use_agent_skill"),
        (state(active="gone"), {"toolName": "tide_at"}, "preflight_failed", "'gone'"),
        (ACTIVE, {"toolName": "tide_at", "skillName": "far"}, "preflight_failed", "'tide-table'"),
        (ACTIVE, {"toolName": "tide_at", "skillName": "nope"}, "preflight_failed", "'nope'"),
        (ACTIVE, {"toolName": "bell"}, "preflight_failed", "call ring_bell itself"),
        (ACTIVE, {"toolName": "tide_att"}, "skill_tool_unknown", "'tide_at'"),
        (state(active="far"), {"toolName": "tide_at"}, "skill_tool_unknown", "not trusted"),
        (state(active="lamp-room"), {"toolName": "x"}, "skill_tool_unknown", "tools: none"),
        (state(active="vault"), {"toolName": "tide_at"}, "preflight_failed", "not available"),
    ],
)
def test_execute_refused(run_state: RunState, args: dict[str, Any], problem: str, mentions: str) -> None:
    found = refused("execute_skill_tool", run_state, args)
    assert (found.problem, found.reason, found.key) == (problem, "preflight", None)
    assert mentions in found.error
    assert dict(found.detail) == {"toolName": args["toolName"]}


@pytest.mark.parametrize(
    ("args", "key", "reason"),
    [
        ({"hour": 3}, "port", "missing"),
        ({"port": "Riga", "hour": True}, "hour", "type"),
    ],
)
def test_execute_args(args: dict[str, Any], key: str, reason: str) -> None:
    found = refused("execute_skill_tool", ACTIVE, {"toolName": "tide_at", **args})
    assert (found.key, found.reason, found.problem) == (key, reason, "args_invalid")
    assert [step for step, _ in found.steps] == ["skill-tool-args-lifted"]


def test_a_tool_left_out_by_allowed_tools_says_so() -> None:
    narrow = skill("narrow", front="allowed-tools: tide_chart\n", tools=TIDE_TOOLS)
    action = skill_actions(SkillCatalog([narrow]), reserved=RESERVED.get)[4]
    assert action.built_in is not None
    assert action.built_in.prepare is not None
    found = action.built_in.prepare(state(active="narrow"), {"toolName": "tide_at", "args": {"port": "x"}})
    assert isinstance(found, Refused)
    assert "allowed-tools" in found.error


# --- skillPolicy


@pytest.mark.parametrize(
    ("name", "run_state", "args", "expected"),
    [
        ("list_agent_skills", state(), {}, None),
        ("read_agent_skill", state(), {"skillName": "VAULT"}, "deny"),
        ("read_agent_skill", state(), {"skillName": "lamp-room"}, None),
        ("read_agent_skill", state(), {"skillName": 3}, None),
        ("read_agent_skill", state(), {}, None),
        ("read_skill_resource", state(active="vault"), {"path": "x"}, "deny"),
        ("read_skill_resource", state(last_read="lamp-room"), {"path": "x"}, None),
        ("use_agent_skill", state(), {"skillName": "vault"}, "deny"),
        ("use_agent_skill", state(last_read="lamp-room"), {}, "ask"),
        ("use_agent_skill", state(), {}, None),
        ("handoff_to_skill", state(), {"skillName": "lamp-room"}, "ask"),
        ("handoff_to_skill", state(), {"skillName": "vault"}, "deny"),
        ("execute_skill_tool", state(active="lamp-room"), {"toolName": "x"}, "ask"),
        ("execute_skill_tool", ACTIVE, {"toolName": "tide_chart"}, "deny"),
        ("execute_skill_tool", ACTIVE, {"toolName": "tide_at"}, None),
        ("execute_skill_tool", ACTIVE, {"toolName": ["tide_chart"]}, None),
        ("execute_skill_tool", state(), {"toolName": "tide_chart"}, None),
        ("execute_skill_tool", state(), {"toolName": "tide_at", "skillName": "vault"}, "deny"),
    ],
)
def test_gate(name: str, run_state: RunState, args: dict[str, Any], expected: str | None) -> None:
    assert gate(name, run_state, args) == expected
