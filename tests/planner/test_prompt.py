"""The planner's prompt: its sections, what a removed capability leaves (nothing), and how large a first request is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agrun_wasm import ConfigInvalid, Plugin, Skill
from agrun_wasm.runtime.capabilities import CAPABILITIES
from tests.kit import adder, scripted

MODES = ["native_tools", "envelope"]
SKILLS = [Skill.from_files({"SKILL.md": f"---\nname: {name}\ndescription: About {name}.\n---\nUse."}) for name in "ab"]


def first_request(prompt: Any = "hi", **keys: Any) -> dict[str, Any]:
    """The first request as inspection gives it."""
    return scripted([], **keys)[0].inspect_prompt(prompt)


def size(request: dict[str, Any]) -> int:
    """Bytes of everything that is sent: system, messages, tools."""
    sent = [request["system"], request["messages"], request["tools"]]
    return sum(len(json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode()) for part in sent)


@pytest.mark.parametrize("mode", MODES)
def test_a_minimal_first_request_is_under_three_kilobytes(mode: str) -> None:
    assert size(first_request(profile="minimal", planner_mode=mode)) < 3_072


@pytest.mark.parametrize("mode", MODES)
def test_a_legacy_first_request_without_skills_is_under_eight_kilobytes(mode: str) -> None:
    assert size(first_request(planner_mode=mode)) < 8_192


#: capability -> words that must not be left of it
WORDS = {
    "clarification": ["ask_clarification", "clarif"],
    "skills": ["agent_skill", "execute_skill_tool", "read_skill_resource", "Skills that can be read"],
    "handoff": ["handoff", "transfer_to_skill", "handed"],
    "web_research": ["web_search", "read_url", "fetch_url", "URLs of pages you read for"],
    "workspace": ["workspace"],
}


def test_every_capability_is_tried() -> None:
    assert set(WORDS) == set(CAPABILITIES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("capability", WORDS)
def test_a_removed_capability_leaves_no_word(capability: str, mode: str) -> None:
    keys: dict[str, Any] = {"planner_mode": mode, "skills": SKILLS, "web_search": {"endpoint": "https://s.example"}}
    before = json.dumps(first_request(**keys))
    assert any(word in before for word in WORDS[capability])
    after = first_request(disabled_capabilities=[capability], **keys)
    for word in WORDS[capability]:
        assert word not in after["system"]
        assert word not in json.dumps(after["tools"])


@pytest.mark.parametrize("mode", MODES)
def test_only_offered_actions_are_named(mode: str) -> None:
    request = first_request(
        planner_mode=mode,
        actions=[
            adder(),
            adder(name="denied_one", tier=3),
            adder(name="hidden_one", planner=False),
            adder(name="off_one"),
        ],
        disabled_actions=["off_one"],
    )
    text = json.dumps([request["system"], request["tools"]])
    assert "add" in text
    for name in ("denied_one", "hidden_one", "off_one"):
        assert name not in text


def test_spans_cut_the_system_text_into_its_sections() -> None:
    request = first_request(
        {"prompt": "hi", "system": "You are a lighthouse keeper."}, planner_directives=["Be brief."]
    )
    parts = {part["id"]: request["system"][part["start"] : part["end"]] for part in request["sections"]}
    assert "\n\n".join(parts.values()) == request["system"]
    assert parts["persona"] == "You are a lighthouse keeper."
    assert request["system"].endswith(parts["directives"])
    assert parts["directives"] == "Be brief."


@pytest.mark.parametrize("mode", MODES)
def test_sections_are_replaced_and_removed_by_id(mode: str) -> None:
    request = first_request(planner_mode=mode, prompts={"role": "You are R.", "data": None})
    ids = [part["id"] for part in request["sections"]]
    assert request["system"].startswith("You are R.")
    assert "data" not in ids


def test_an_unknown_section_is_refused_with_its_neighbour() -> None:
    with pytest.raises(ConfigInvalid, match=r"rolle.*role"):
        first_request(prompts={"rolle": "x"})


def test_a_plugins_section_is_in_the_prompt_and_can_be_replaced() -> None:
    plugin = Plugin("tides", "1", prompt_sections={"tides": "Mind the tides."})
    assert "Mind the tides." in first_request(plugins=[plugin])["system"]
    replaced = first_request(plugins=[plugin], prompts={"tides": "Mind the gap."})["system"]
    assert "Mind the gap." in replaced
    assert "Mind the tides." not in replaced


async def test_the_loop_sends_what_inspection_shows() -> None:
    runtime, provider = scripted([{"text": "ok"}], actions=[adder()])
    shown = runtime.inspect_prompt("hi")
    await runtime.run("hi")
    sent = provider.requests[0]
    assert sent.system == shown["system"]
    assert [tool.name for tool in sent.tools] == [tool["name"] for tool in shown["tools"]]
    assert [message.text for message in sent.messages] == [message["text"] for message in shown["messages"]]


async def test_the_prefix_stays_the_same_from_cycle_to_cycle() -> None:
    """Providers cache what is sent again: system, tools and the messages so far come back byte for byte."""
    from tests.kit import calls

    replies = [calls(("add", {"a": n, "b": 1})) for n in range(4)]
    runtime, provider = scripted([*replies, {"text": "ok"}], actions=[adder()])
    await runtime.run("add them")
    for before, after in zip(provider.requests, provider.requests[1:], strict=False):
        assert after.system is before.system
        assert after.tools is before.tools
        assert after.messages[: len(before.messages)] == before.messages
        assert after.stable_prefix >= len(before.messages) - 1
