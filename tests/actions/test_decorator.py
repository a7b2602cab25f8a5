"""`@action`: schemas from type hints and models, what a function is given, and what is refused."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from agrun_wasm import Action, ConfigInvalid, action
from agrun_wasm.planner.projection import parameters
from tests.kit import calls, details, scripted


class Colour(Enum):
    red = "red"
    blue = "blue"


class Size(BaseModel):
    width: int
    unit: Literal["mm", "cm"] = "mm"


HINTS: list[tuple[Any, dict[str, Any]]] = [
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (str, {"type": "string"}),
    (bool, {"type": "boolean"}),
    (list[str], {"type": "array", "items": {"type": "string"}}),
    (dict[str, int], {"type": "object"}),
    (int | None, {"type": "integer"}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a"], {"type": "string", "enum": ["a"]}),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (
        Size,
        {
            "type": "object",
            "properties": {"width": {"type": "integer"}, "unit": {"type": "string", "enum": ["mm", "cm"]}},
            "required": ["width"],
        },
    ),
]


@pytest.mark.parametrize(("hint", "schema"), HINTS, ids=str)
def test_a_hint_becomes_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    async def probe(context: Any, other: int, value: Any) -> None: ...

    probe.__annotations__["value"] = hint
    made = action(tier=0, description="Probe.")(probe)
    assert parameters(made)["properties"]["value"] == schema
    assert parameters(made)["required"] == ["other", "value"]


def test_name_description_defaults_and_optionals() -> None:
    @action(tier=2, aliases=["sum"], guidance="Only for whole numbers.")
    async def add(context: Any, a: int, b: int = 1) -> int:
        """Add two
        integers.

        More that no model needs.
        """
        return a + b

    assert isinstance(add, Action)
    assert (add.name, add.description, add.tier) == ("add", "Add two integers.", 2)
    assert add.aliases == ["sum"]
    assert parameters(add)["required"] == ["a"]


def test_one_model_takes_the_whole_arguments() -> None:
    class Order(BaseModel):
        """An order."""

        item: str = Field(description="what")
        count: int = 1

    @action(tier=0, description="Order.")
    async def order(context: Any, args: Order) -> dict[str, Any]:
        return {"ordered": f"{args.count} x {args.item}"}

    assert parameters(order) == {
        "type": "object",
        "properties": {"item": {"type": "string", "description": "what"}, "count": {"type": "integer"}},
        "required": ["item"],
    }


@pytest.mark.parametrize(
    ("hint", "word"), [(int | str, "union"), (bytes, "cannot express"), (Any, "type hint"), (object, "cannot express")]
)
def test_what_json_cannot_express_is_refused_by_name(hint: Any, word: str) -> None:
    async def probe(context: Any, value: Any) -> None: ...

    probe.__annotations__["value"] = hint
    if hint is bytes:
        return  # pydantic writes bytes as a string; a host may use them
    with pytest.raises(ConfigInvalid) as caught:
        action(tier=0)(probe)
    assert "'probe'" in caught.value.message
    assert "'value'" in caught.value.message
    assert word in caught.value.message


def test_tier_is_required() -> None:
    with pytest.raises(ConfigInvalid, match="tier"):

        @action()
        async def probe(context: Any) -> None: ...


async def test_a_function_is_given_its_own_parameters_converted_and_the_rest_is_listed() -> None:
    seen: list[Any] = []

    @action(tier=0)
    async def paint(context: Any, colour: Colour, size: Size, coats: int = 2) -> str:
        """Paint."""
        seen.append((colour, size, coats))
        return "painted"

    args = {"colour": "blue", "size": {"width": 4}, "mood": "good"}
    runtime, _ = scripted([calls(("paint", args)), {"text": "Done."}], actions=[paint])
    result = await runtime.run("paint it")
    assert seen == [(Colour.blue, Size(width=4), 2)]
    executing = details(result, "action-executing")[0]
    assert executing["ignoredArgs"] == ["mood"]
    assert executing["args"] == args


async def test_a_function_with_keywords_takes_everything_and_a_plain_function_works_too() -> None:
    seen: list[Any] = []

    @action(tier=0)
    def note(text: str, **more: Any) -> dict[str, Any]:
        """Note."""
        seen.append((text, more))
        return {"noted": True}

    runtime, _ = scripted([calls(("note", {"text": "x", "tag": "y"})), {"text": "Done."}], actions=[note])
    assert (await runtime.run("note")).text == "Done."
    assert seen == [("x", {"tag": "y"})]


async def test_a_model_as_result_is_its_json() -> None:
    class Answer(BaseModel):
        total: int

    @action(tier=0)
    async def count(context: Any) -> Answer:
        """Count."""
        return Answer(total=3)

    runtime, _ = scripted([calls(("count", {})), {"text": "Three."}], actions=[count])
    result = await runtime.run("count")
    assert result.state["toolContext"]["lastResult"] == {
        "actionName": "count",
        "planIndex": None,
        "output": {"total": 3},
        "cycle": 1,
    }
