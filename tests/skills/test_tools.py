"""tools.py: the decorator, the private module, and faults that become diagnostics."""

from __future__ import annotations

import sys
import typing

import pytest

from agrun_wasm.skills.skill import Skill
from agrun_wasm.skills.tool_file import load_tools
from agrun_wasm.skills.tools import SkillTool, is_terminal_kind, skill_tool
from tests.skills.samples import TIDE_TOOLS, codes, skill

HEAD = "from agrun_wasm import skill_tool\n"


def loaded(text: str) -> tuple[dict[str, SkillTool], list[dict[str, str]]]:
    return load_tools(HEAD + text, "demo")


def test_tools_in_the_order_of_the_file() -> None:
    tools, diagnostics = load_tools(TIDE_TOOLS, "tide-table")
    assert list(tools) == ["tide_at", "tide_chart"]
    assert not diagnostics
    assert tools["tide_at"].description == "Look up one tide reading."
    assert (tools["tide_at"].result_kind, tools["tide_at"].may_finalize) == (None, True)


def test_the_decorator_leaves_the_function_as_it_is() -> None:
    @skill_tool(description="Doubles.", parameters={"type": "object", "properties": {"n": {"type": "number"}}})
    def double(n: float) -> float:
        return 2 * n

    assert double(4) == 8


async def test_sync_and_async_tools() -> None:
    tools, _ = load_tools(TIDE_TOOLS, "tide-table")
    assert await tools["tide_at"].call({"port": "Vlissingen", "hour": 6}) == {"reading": "VLISSINGEN-6"}
    assert await tools["tide_chart"].call({}) == ["low", "high"]


async def test_what_a_function_does_not_take_is_not_passed() -> None:
    tools, _ = loaded(
        "@skill_tool(description='A.')\ndef a(x=1):\n    return x\n\n@skill_tool()\ndef b(**all):\n    return all\n"
    )
    assert await tools["a"].call({"x": 2, "y": 3}) == 2
    assert await tools["b"].call({"from": 1}) == {"from": 1}


def test_docstring_as_description() -> None:
    tools, _ = loaded("@skill_tool()\ndef a():\n    '''Does\n    much.\n\n    And more.'''\n")
    assert tools["a"].description == "Does much."
    assert tools["a"].parameters == {"type": "object", "properties": {}}


def test_dataclasses_and_late_annotations() -> None:
    tools, diagnostics = load_tools(
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\n" + HEAD + "import typing\n"
        "@dataclass\nclass Row:\n    name: str\n    parts: list[Row] = field(default_factory=list)\n"
        "@skill_tool(description='A.')\ndef a():\n    return sorted(typing.get_type_hints(Row))\n",
        "demo",
    )
    assert not diagnostics
    assert tools["a"].function() == ["name", "parts"]


def test_future_imports_of_ours_do_not_leak_in() -> None:
    tools, _ = loaded("@skill_tool(description='A.')\ndef a(x: int = 1):\n    return a.__annotations__['x'] is int\n")
    assert tools["a"].function() is True


def test_modules_are_private_and_apart() -> None:
    text = HEAD + "count = []\n@skill_tool(description='A.')\ndef a():\n    count.append(1)\n    return len(count)\n"
    first, second = load_tools(text, "demo")[0]["a"], load_tools(text, "demo")[0]["a"]
    assert (first.function(), first.function(), second.function()) == (1, 2, 1)
    before = len(sys.modules)
    load_tools(text, "demo")
    assert len(sys.modules) == before
    assert "tools" not in sys.modules


#: text after the import of skill_tool -> code, what the message names
FAULTS: dict[str, tuple[str, str, list[str]]] = {
    "syntax": ("def a(:\n", "tools_failed", ["tools.py", "line 2", "SyntaxError"]),
    "import": ("\nimport no_such_module_here\n", "tools_failed", ["line 3", "no_such_module_here"]),
    "raises": ("def f():\n    1 / 0\nf()\n", "tools_failed", ["line 3", "ZeroDivisionError"]),
    "exits": ("raise SystemExit(3)\n", "tools_failed", ["line 2", "SystemExit"]),
    "decorator": ("@skill_tool(descripton='A.')\ndef a(): pass\n", "tools_failed", ["line 2", "descripton"]),
    "no tool": ("def a(): pass\n", "no_tools", ["@skill_tool"]),
    "parameters": ("@skill_tool(parameters=[1])\ndef a(): pass\n", "tool_invalid", ["'a'", "parameters"]),
    "parameters type": ("@skill_tool(parameters={'type': 'array'})\ndef a(): pass\n", "tool_invalid", ["'object'"]),
    "not JSON": ("@skill_tool(parameters={'default': {1}})\ndef a(): pass\n", "tool_invalid", ["not JSON"]),
    "properties": (
        "@skill_tool(parameters={'properties': []})\ndef a(): pass\n",
        "tool_invalid",
        ["parameters.properties"],
    ),
    "property": (
        "@skill_tool(parameters={'properties': {'x': 'string'}})\ndef a(): pass\n",
        "tool_invalid",
        ["parameters.properties.x"],
    ),
    "required": ("@skill_tool(parameters={'required': 'x'})\ndef a(): pass\n", "tool_invalid", ["parameters.required"]),
    "alias is a key": (
        (
            "@skill_tool(parameters={'properties': {'x': {'type': 'string', 'aliases': ['y']}, 'y': {}}})\n"
            "def a(): pass\n"
        ),
        "tool_invalid",
        ["'a'", "'y'"],
    ),
    "alias twice, nested": (
        (
            "@skill_tool(parameters={'properties': {'o': {'type': 'object', 'properties': {'x': {'aliases': ['z']}, "
            "'y': {'aliases': ['z']}}}}})\ndef a(): pass\n"
        ),
        "tool_invalid",
        ["'a'", "'z'"],
    ),
    "aliases": (
        "@skill_tool(parameters={'properties': {'x': {'type': 'string', 'aliases': 'y'}}})\ndef a(): pass\n",
        "tool_invalid",
        ["aliases"],
    ),
    "kind": ("@skill_tool(result_kind=3)\ndef a(): pass\n", "tool_invalid", ["result_kind"]),
    "may finalise": ("@skill_tool(may_finalize='no')\ndef a(): pass\n", "tool_invalid", ["may_finalize"]),
    "description": ("@skill_tool(description=3)\ndef a(): pass\n", "tool_invalid", ["description"]),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_diagnostics(kind: str) -> None:
    text, code, mentions = FAULTS[kind]
    tools, diagnostics = loaded(text)
    assert not tools
    assert codes(diagnostics) == [code]
    assert all(mention in diagnostics[0]["message"] for mention in mentions)


def test_one_bad_tool_leaves_the_others() -> None:
    tools, diagnostics = loaded(
        "@skill_tool(parameters=3)\ndef a(): pass\n\n@skill_tool(description='B.')\ndef b(): pass\n"
    )
    assert (list(tools), codes(diagnostics)) == (["b"], ["tool_invalid"])


def test_a_skill_with_broken_tools_still_loads() -> None:
    broken = skill(tools="1 / 0\n")
    assert broken.body.startswith("# Body")
    assert codes(broken.diagnostics) == ["tools_failed"]


def test_description_for_a_model_has_no_alias() -> None:
    tide = load_tools(TIDE_TOOLS, "tide-table")[0]["tide_at"]
    assert tide.describe() == {
        "name": "tide_at",
        "description": "Look up one tide reading.",
        "parameters": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "hour": {"type": "integer"}},
            "required": ["port"],
        },
    }
    assert tide.parameters["properties"]["port"]["aliases"] == ["harbour"]
    assert tide.args_schema["port"].aliases == ["harbour"]


def test_terminal_kinds() -> None:
    assert [kind for kind in (None, "final", "evidence", "lookup", "other", "partial") if is_terminal_kind(kind)] == [
        None,
        "final",
        "evidence",
    ]


def test_types_survive_for_callers() -> None:
    hints = typing.get_type_hints(Skill.from_files)
    assert hints["return"] is Skill
