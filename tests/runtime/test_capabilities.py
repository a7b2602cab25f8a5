"""Capabilities: one that is removed leaves no name behind in any prompt or tool list. Rules: document 2, 2.13."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agrun_wasm import Runtime, Skill
from tests.conformance.web import FakeSearch
from tests.kit import adder
from tests.loop.test_any_run import FOUND, SKILL, TOOLS

#: what each capability owns beside its actions: words of its prompt sections
WORDS = {
    "clarification": ["clarify"],
    "skills": ["agent skill", "SKILL.md", "tides"],
    "handoff": ["handoff"],
    "web_research": ["web_search", "read_url", "cite"],
    "workspace": ["workspace"],
}
MODES = ["native_tools", "envelope"]
WHOLE = Runtime(provider="offline:demo").surface_index()


def names_of(capability: str) -> list[str]:
    """Names and aliases of its actions."""
    owned = [action for action in WHOLE["actions"] if action["capability"] == capability]
    assert owned, f"{capability} owns no action"
    return [name for action in owned for name in (action["name"], *action["aliases"])]


def runtime_of(**keys: Any) -> Runtime:
    """A runtime in which every capability could be offered."""
    skill = Skill.from_files({"SKILL.md": SKILL, "tools.py": TOOLS}, trust_tools=True)
    parts: dict[str, Any] = {"web_search": FakeSearch(FOUND), "skills": [skill], "actions": [adder()]}
    return Runtime(provider="offline:demo", **{**parts, **keys})


def sent(runtime: Runtime) -> str:
    inspected = runtime.inspect_prompt("hi")
    return json.dumps([inspected["system"], inspected["tools"]], ensure_ascii=False)


def has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", text, re.IGNORECASE) is not None


def test_every_capability_is_covered_here() -> None:
    assert set(WORDS) == set(WHOLE["capabilities"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("capability", WORDS)
def test_whole_it_is_there(capability: str, mode: str) -> None:
    text = sent(runtime_of(planner_mode=mode))
    canonical = [action["name"] for action in WHOLE["actions"] if action["capability"] == capability]
    shown = "clarify" if capability == "clarification" and mode == "envelope" else canonical[0]
    assert has_word(text, shown)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("capability", WORDS)
def test_removed_none_of_its_names_is_left(capability: str, mode: str) -> None:
    runtime = runtime_of(planner_mode=mode, disabled_capabilities=[capability])
    text = sent(runtime)
    for name in [*names_of(capability), *WORDS[capability]]:
        assert not has_word(text, name), f"{name!r} is left in {mode}"
    described = runtime.describe_composition()
    assert [c["reason"] for c in described["capabilities"] if c["id"] == capability] == [
        "disabled by disabledCapabilities"
    ]
    left = [action["name"] for action in described["actions"] if action["active"]]
    assert not set(left) & set(names_of(capability))
    assert "add" in left


@pytest.mark.parametrize("mode", MODES)
def test_all_removed_the_hosts_own_action_is_left(mode: str) -> None:
    runtime = runtime_of(planner_mode=mode, disabled_capabilities=list(WORDS))
    text = sent(runtime)
    for capability, words in WORDS.items():
        for name in [*names_of(capability), *words]:
            assert not has_word(text, name), f"{name!r} is left in {mode}"
    assert has_word(text, "add")


@pytest.mark.parametrize("mode", MODES)
def test_the_minimal_profile_has_nothing_of_what_it_leaves_out(mode: str) -> None:
    text = sent(runtime_of(planner_mode=mode, profile="minimal"))
    for capability in ("handoff", "web_research", "workspace"):
        for name in [*names_of(capability), *WORDS[capability]]:
            assert not has_word(text, name), f"{name!r} is left in {mode}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", [a["name"] for a in WHOLE["actions"] if a["capability"] != "clarification"])
def test_a_disabled_action_is_named_nowhere(action: str, mode: str) -> None:
    """2.2 disabledActions: exact names; what others say of it goes with it."""
    text = sent(runtime_of(planner_mode=mode, disabled_actions=[action]))
    assert not has_word(text, action)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("profile", "limit"), [("minimal", 3_000), ("legacy", 8_000)])
def test_the_first_request_is_small(profile: str, limit: int, mode: str) -> None:
    """System text, tools and the message "hi", together and as JSON."""
    inspected = Runtime(provider="offline:demo", profile=profile, planner_mode=mode).inspect_prompt("hi")
    parts = [inspected["system"], inspected["tools"], inspected["messages"]]
    assert len(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()) < limit
