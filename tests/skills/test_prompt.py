"""What a model is told of skills, short and without a name that is not its business."""

from __future__ import annotations

from agrun_wasm.skills.actions import skill_actions
from agrun_wasm.skills.catalog import SkillCatalog
from agrun_wasm.skills.prompt import active_skill_section, catalog_section
from tests.skills.samples import TIDE_TOOLS, skill, state, with_files

TIDE = skill("tide-table", tools=TIDE_TOOLS)
CATALOG = SkillCatalog(
    [TIDE, with_files({"a.md": "x"}), skill("vault")], {"vault": "deny", "tide-table.tide_chart": "deny"}
)


def nothing(_name: str) -> str | None:
    return None


def test_catalog() -> None:
    text = catalog_section(CATALOG)
    assert "- tide-table: About tide-table.\n- port-guide: About port-guide." in text
    assert "vault" not in text
    assert catalog_section(SkillCatalog([])) == ""
    assert catalog_section(SkillCatalog([skill("vault")], {"vault": "deny"})) == ""


def test_active_skill() -> None:
    text = active_skill_section(CATALOG, state(active="tide-table", handoff_context="Bay named."), nothing)
    for told in ("tide-table", "Do it well.", "- tide_at: Look up one tide reading.", '"port"', "Bay named.", "lookup"):
        assert told in text
    for hidden in ("harbour", "tide_chart", "vault"):
        assert hidden not in text


def test_nothing_active() -> None:
    assert active_skill_section(CATALOG, state(), nothing) == ""
    assert active_skill_section(CATALOG, state(active="gone"), nothing) == ""
    assert active_skill_section(CATALOG, state(active="vault"), nothing) == ""


def test_a_skill_without_tools_is_told_nothing_of_kinds() -> None:
    text = active_skill_section(CATALOG, state(active="port-guide"), nothing)
    assert "resultKind" not in text
    assert "a.md" in text


def test_no_action_is_named() -> None:
    names = [action.name for action in skill_actions(CATALOG, reserved=nothing)]
    told = catalog_section(CATALOG) + active_skill_section(CATALOG, state(active="tide-table"), nothing)
    assert not [name for name in names if name in told]
