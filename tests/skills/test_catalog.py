"""The catalog: names without regard to case, skillPolicy, what is hidden."""

from __future__ import annotations

import pytest

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.policy import PolicyEntry
from agrun_wasm.skills.catalog import SkillCatalog, duplicate_names
from agrun_wasm.skills.skill import Skill
from tests.skills.samples import TIDE_TOOLS, skill

TIDE = skill("tide-table", tools=TIDE_TOOLS)
LAMP = skill("lamp-room")


def test_names_in_any_case_and_form() -> None:
    catalog = SkillCatalog([skill("météo"), LAMP])
    assert catalog.get("Lamp-ROOM") is LAMP
    assert catalog.get("  lamp-room ") is LAMP
    assert catalog.get("me\u0301te\u0301o") is not None
    assert catalog.get("") is None
    assert (len(catalog), [s.name for s in catalog]) == (2, ["météo", "lamp-room"])


def test_one_name_once() -> None:
    with pytest.raises(ConfigInvalid, match="TIDE-TABLE"):
        SkillCatalog([TIDE, skill("TIDE-TABLE")])
    assert duplicate_names([TIDE, LAMP, skill("Lamp-room"), skill("LAMP-room")]) == ["Lamp-room", "LAMP-room"]


def test_a_denied_skill_is_hidden() -> None:
    catalog = SkillCatalog([TIDE, LAMP], {"Tide-Table": "deny"})
    assert [s.name for s in catalog.visible()] == ["lamp-room"]
    assert catalog.get_visible("tide-table") is None
    assert catalog.summaries() == [{"name": "lamp-room", "description": "About lamp-room.", "tools": []}]
    assert "tide-table" not in catalog.unknown("tide-tabl")


@pytest.mark.parametrize(
    ("policy", "tool", "expected"),
    [
        ({}, None, None),
        ({"tide-table": "ask"}, None, "ask"),
        ({"tide-table": "ask"}, "tide_at", "ask"),
        ({"tide-table.tide_at": "deny"}, None, None),
        ({"tide-table.tide_at": "deny"}, "tide_at", "deny"),
        ({"tide-table.tide_at": "deny"}, "tide_chart", None),
        ({"tide-table": "ask", "tide-table.tide_at": "allow"}, "tide_at", "allow"),
        ({"tide-table": "ask", "tide-table.tide_at": "allow"}, "tide_chart", "ask"),
        ({"tide-table": "deny", "tide-table.tide_at": "allow"}, "tide_at", "deny"),
    ],
)
def test_policy(policy: dict[str, str], tool: str | None, expected: str | None) -> None:
    entry = SkillCatalog([TIDE], policy).policy_of(TIDE, tool)
    assert (entry and entry.action) == expected


def test_reasons_are_kept_and_denied_tools_hidden() -> None:
    catalog = SkillCatalog([TIDE], {"tide-table.tide_at": PolicyEntry(action="deny", reason="closed")})
    entry = catalog.policy_of(TIDE, "tide_at")
    assert entry is not None
    assert entry.reason == "closed"
    assert list(catalog.permitted_tools(TIDE)) == ["tide_chart"]
    assert catalog.summaries()[0]["tools"] == ["tide_chart"]


@pytest.mark.parametrize("name", ["tide-tabel", "tide-table.tide_att", "tide-table.", ".tide_at", "tide_at"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        SkillCatalog([TIDE], {name: "deny"})
    assert repr(name) in raised.value.message
    assert len(SkillCatalog([TIDE], {name: "deny"}, may_grow=True)) == 1


def test_the_nearest_name_is_named() -> None:
    with pytest.raises(ConfigInvalid, match=r"did you mean 'tide-table\.tide_at'"):
        SkillCatalog([TIDE], {"tide-table.tide_att": "deny"})


def test_tools_of_an_untrusted_skill_may_be_named() -> None:
    text = "---\nname: far\ndescription: B\n---\n"
    untrusted = Skill.from_files({"SKILL.md": text, "tools.py": TIDE_TOOLS})
    assert SkillCatalog([untrusted], {"far.tide_at": "deny"}).is_denied(untrusted, "tide_at")
