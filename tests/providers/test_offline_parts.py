"""The offline planner's plans: a request of several parts for one tool is one plan with a section for each."""

from __future__ import annotations

import pytest

from agrun_host.skills import bundled_skills
from agrun_wasm import Runtime
from agrun_wasm.providers.offline_parts import plan_of_parts
from agrun_wasm.providers.offline_request import read_request
from agrun_wasm.providers.offline_view import Tool

CONVERT = Tool(
    "convert_units",
    "Converts a value from one unit into another.",
    {
        "type": "object",
        "properties": {
            "value": {"type": "number"},
            "from_unit": {"type": "string", "examples": ["miles", "pounds", "fahrenheit"]},
            "to_unit": {"type": "string", "examples": ["kilometres", "kilograms", "celsius"]},
        },
        "required": ["value", "from_unit", "to_unit"],
    },
    "unit-convert",
)
ADD = Tool(
    "add",
    "Adds up numbers.",
    {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
        "required": ["numbers"],
    },
)

#: request -> the titles of its sections; none where it is one call
CUT = {
    "Convert 5 miles to kilometres and 3 pounds to kilograms": ["5 miles to kilometres", "3 pounds to kilograms"],
    "convert 5km to miles; 3 kg to lb; 1,000 m to km.": ["5km to miles", "3 kg to lb", "1,000 m to km"],
    "Convert 5 miles to kilometres": [],
    "Convert 1,000 miles to kilometres": [],
    "Convert 5 miles to kilometres and tell me a joke": [],
    "Convert 5 miles to kilometres and 5 miles to kilometres": [],
    'Convert "5 miles to km and 3 pounds to kg"': [],
}


@pytest.mark.parametrize("prompt", CUT)
def test_only_a_request_whose_every_part_is_complete_is_cut(prompt: str) -> None:
    plan = plan_of_parts(read_request(prompt), CONVERT)
    titles = [action["section"]["title"] for action in plan["actions"]] if plan else []
    assert titles == [f"## {title}" for title in CUT[prompt]]


def test_a_list_for_one_call_is_not_cut() -> None:
    assert plan_of_parts(read_request("Add 3, 4 and 5"), ADD) is None


def test_more_parts_than_a_plan_takes_are_not_cut() -> None:
    prompt = "; ".join(f"{n} miles to kilometres" for n in range(1, 12))
    assert plan_of_parts(read_request(prompt), CONVERT) is None


async def test_the_plan_runs_and_is_answered_in_sections() -> None:
    runtime = Runtime(provider="offline", skills=bundled_skills())
    result = await runtime.run("Convert 26.2 miles to kilometres, 150 pounds to kilograms and 350 °F to °C")
    assert result.status == "completed", result.error
    assert result.final_answer_source == "plan_synthesize"
    assert result.text == (
        "## 26.2 miles to kilometres\n\n26.2 miles = 42.1648 kilometres.\n\n"
        "## 150 pounds to kilograms\n\n150 pounds = 68.0389 kilograms.\n\n"
        "## 350 °F to °C\n\n350 degrees Fahrenheit = 176.667 degrees Celsius."
    )
    assert [event.type for event in result.steps if event.type.startswith("plan-")] == [
        "plan-validating",
        "plan-executing",
        "plan-executed",
    ]
