"""allowed-tools narrows and never grants."""

from __future__ import annotations

import pytest

from agrun_wasm.skills.allowed import allowed_tools, narrowing, offered_tools
from agrun_wasm.skills.catalog import SkillCatalog
from tests.skills.samples import TIDE_TOOLS, codes, skill, state

ACTIONS = {"ring_bell": "ring_bell", "web_search": "web_search", "search": "web_search"}


@pytest.mark.parametrize(
    ("allowed", "names", "tools", "found"),
    [
        ("", None, ["tide_at", "tide_chart"], []),
        ("Bash Read", None, ["tide_at", "tide_chart"], ["allowed_tool_unknown"] * 2),
        ("ring_bell Read", {"ring_bell"}, [], ["allowed_tool_unknown"]),
        ("ring_bell tide_at", {"ring_bell", "tide_at"}, ["tide_at"], []),
        ("search", {"web_search"}, [], []),
        ("tide_at", {"tide_at"}, ["tide_at"], []),
        ("web_search(tides *)", {"web_search"}, [], ["allowed_tool_pattern"]),
        ("Bash(git:*)", None, ["tide_at", "tide_chart"], ["allowed_tool_unknown"]),
    ],
)
def test_narrowing(allowed: str, names: set[str] | None, tools: list[str], found: list[str]) -> None:
    tide = skill("tide-table", front=f"allowed-tools: {allowed}\n", tools=TIDE_TOOLS)
    catalog = SkillCatalog([tide])
    assert narrowing(catalog, state(active="TIDE-table"), ACTIONS.get) == names
    assert list(offered_tools(catalog, tide, ACTIONS.get)) == tools
    assert codes(list(allowed_tools(tide, ACTIONS.get).diagnostics)) == found


def test_a_tool_with_an_actions_name_is_not_shown() -> None:
    tide = skill("tide-table", tools=TIDE_TOOLS)
    resolve = {"tide_chart": "draw_chart"}.get
    assert list(offered_tools(SkillCatalog([tide]), tide, resolve)) == ["tide_at"]
    assert codes(list(allowed_tools(tide, resolve).diagnostics)) == ["tool_reserved"]


def test_only_the_active_skill_narrows() -> None:
    catalog = SkillCatalog([skill("a", front="allowed-tools: ring_bell\n"), skill("b")])
    assert narrowing(catalog, state(), ACTIONS.get) is None
    assert narrowing(catalog, state(active="b"), ACTIONS.get) is None
    assert narrowing(catalog, state(active="gone"), ACTIONS.get) is None
