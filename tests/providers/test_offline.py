"""The offline planner: from a request to a skill, its arguments, its answer; the same every time, without a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agrun_host.skills import bundled_skills
from agrun_wasm import Runtime
from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.model import (
    Finished,
    Message,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolArgsDelta,
    ToolCall,
    ToolCallDone,
    ToolSpec,
)
from agrun_wasm.providers.offline import OfflineProvider
from agrun_wasm.providers.offline_fill import fill
from agrun_wasm.providers.offline_request import read_request
from agrun_wasm.providers.offline_words import similarity, stem, tokens_of
from agrun_wasm.skills.skill import Skill
from tests.providers.offline_driver import play

BUNDLED = bundled_skills()
USES_A_SKILL = ["read_agent_skill", "use_agent_skill", "execute_skill_tool"]

#: request -> the tool, its arguments, the answer
SERVED: dict[str, tuple[str, dict[str, Any], str]] = {
    "How many kilometres are 26.2 miles?": (
        "convert_units",
        {"value": 26.2, "from_unit": "miles", "to_unit": "kilometres"},
        "26.2 miles = 42.1648 kilometres.",
    ),
    "Convert 100 F to celsius": (
        "convert_units",
        {"value": 100, "from_unit": "F", "to_unit": "celsius"},
        "100 degrees Fahrenheit = 37.7778 degrees Celsius.",
    ),
    "what is 5 kg in pounds": (
        "convert_units",
        {"value": 5, "from_unit": "kg", "to_unit": "pounds"},
        "5 kilograms = 11.0231 pounds.",
    ),
    "How many feet are in 5 miles?": (
        "convert_units",
        {"value": 5, "from_unit": "miles", "to_unit": "feet"},
        "5 miles = 26400 feet.",
    ),
    "How many furlongs are 3 miles?": (
        "convert_units",
        {"value": 3, "from_unit": "miles", "to_unit": "furlongs"},
        "3 miles = 24 furlongs.",
    ),
    "how many seconds in a day?": (
        "convert_units",
        {"value": 1, "from_unit": "day", "to_unit": "seconds"},
        "1 day = 86400 seconds.",
    ),
    "60 miles per hour in km/h": (
        "convert_units",
        {"value": 60, "from_unit": "miles per hour", "to_unit": "km/h"},
        "60 miles per hour = 96.5606 kilometres per hour.",
    ),
    "-40 °C in °F": (
        "convert_units",
        {"value": -40, "from_unit": "°C", "to_unit": "°F"},
        "-40 degrees Celsius = -40 degrees Fahrenheit.",
    ),
    "5 in to cm": (
        "convert_units",
        {"value": 5, "from_unit": "in", "to_unit": "cm"},
        "5 inches = 12.7 centimetres.",
    ),
    "Convert miles to km: 5": (
        "convert_units",
        {"value": 5, "from_unit": "miles", "to_unit": "km"},
        "5 miles = 8.04672 kilometres.",
    ),
    "convert 1,000 m to miles with 2 decimals": (
        "convert_units",
        {"value": 1000, "from_unit": "m", "to_unit": "miles", "decimals": 2},
        "1000 metres = 0.62 miles.",
    ),
    "convert 5 foo to km": (
        "convert_units",
        {"value": 5, "from_unit": "foo", "to_unit": "km"},
        "That did not work: unknown unit 'foo'. Known are: metres, ",
    ),
    "Which units of time can be converted?": ("list_units", {"quantity": "time"}, "time: second, "),
    "How many words are in: the quick brown fox?": (
        "count_text",
        {"text": "the quick brown fox"},
        "The text has 4 words, 19 characters and 1 sentence.",
    ),
    "How many words are in 'I ran 5 miles'?": (
        "count_text",
        {"text": "I ran 5 miles"},
        "The text has 4 words, 13 characters and 1 sentence.",
    ),
    "How many words are in: convert 5 miles to km": (
        "count_text",
        {"text": "convert 5 miles to km"},
        "The text has 5 words, 21 characters and 1 sentence.",
    ),
    "How many sentences are here?\n\nOne. Two! Three?": (
        "count_text",
        {"text": "One. Two! Three?"},
        "The text has 3 words, 16 characters and 3 sentences.",
    ),
    "count the words in the quick brown fox": (
        "count_text",
        {"text": "the quick brown fox"},
        "The text has 4 words, 19 characters and 1 sentence.",
    ),
    "How long does it take to read: to be or not to be": (
        "reading_time",
        {"text": "to be or not to be"},
        "Reading the text takes about 2 seconds (6 words).",
    ),
    "What are the top 2 most frequent words in: a b a c b a": (
        "frequent_words",
        {"text": "a b a c b a", "limit": 2},
        "Most frequent: a (3), b (2).",
    ),
}


@pytest.mark.parametrize("prompt", SERVED)
async def test_served(prompt: str) -> None:
    tool, args, said = SERVED[prompt]
    played = await play(prompt, BUNDLED)
    assert played.tool == (tool, args)
    assert played.text.startswith(said)
    assert [name for name in played.names if name != "read_agent_skill"] == USES_A_SKILL[1:]


#: request -> the parameter that is asked for
ASKED = {
    "convert 3 miles": "to_unit",
    "convert fahrenheit to celsius": "value",
    "How many words?": "text",
    "How many sentences does this text have?": "text",
}


@pytest.mark.parametrize("prompt", ASKED)
async def test_asks_for_what_is_missing(prompt: str) -> None:
    played = await play(prompt, BUNDLED)
    assert played.names == ["read_agent_skill", "ask_clarification"]
    assert played.question is not None
    assert f"`{ASKED[prompt]}`" in played.question


def turns(*texts: str) -> list[Message]:
    return [
        Message(role="user" if n % 2 == 0 else "assistant", kind="history", text=text) for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("earlier", "answer", "tool"),
    [
        (
            "convert 3 miles",
            "to kilometres.",
            ("convert_units", {"value": 3, "from_unit": "miles", "to_unit": "kilometres"}),
        ),
        (
            "convert fahrenheit to celsius",
            "it is 100",
            ("convert_units", {"value": 100, "from_unit": "fahrenheit", "to_unit": "celsius"}),
        ),
        ("How many words?", "To be: or not.", ("count_text", {"text": "To be: or not."})),
        ("How many words?", '"to be"', ("count_text", {"text": "to be"})),
    ],
)
async def test_an_answer_goes_with_its_question(earlier: str, answer: str, tool: tuple[str, dict[str, Any]]) -> None:
    question = (await play(earlier, BUNDLED)).question
    assert question is not None
    assert (await play(answer, BUNDLED, before=turns(earlier, question))).tool == tool


async def test_two_questions_in_a_row() -> None:
    first = (await play("convert to km", BUNDLED)).question
    assert first is not None
    second = (await play("7", BUNDLED, before=turns("convert to km", first))).question
    assert second is not None
    played = await play("miles", BUNDLED, before=turns("convert to km", first, "7", second))
    assert played.tool == ("convert_units", {"value": 7, "from_unit": "miles", "to_unit": "km"})


async def test_another_conversation_is_no_answer() -> None:
    played = await play("what is 5 kg in pounds", BUNDLED, before=turns("hi", "Hello."))
    assert played.tool == ("convert_units", {"value": 5, "from_unit": "kg", "to_unit": "pounds"})


@pytest.mark.parametrize("prompt", ["hi", "Hello!", "what can you do?", "list your skills", "thanks", "?"])
async def test_says_what_it_is(prompt: str) -> None:
    played = await play(prompt, BUNDLED)
    assert played.names == []
    for told in ("offline planner", "no language model", "unit-convert", "text-stats"):
        assert told in played.text


@pytest.mark.parametrize(
    "prompt",
    [
        "Who was Napoleon?",
        "Tell me a joke about cats",
        "What is the weather in Paris?",
        "what is the time?",
        "把 5 公里换算",
    ],
)
async def test_says_when_nothing_fits(prompt: str) -> None:
    played = await play(prompt, BUNDLED)
    assert "found nothing here" in played.text
    assert "unit-convert" in played.text
    assert set(played.names) <= {"read_agent_skill"}


async def test_without_any_skill() -> None:
    assert "no skill or action here" in (await play("hi", [])).text
    assert "no skill or action here" in (await play("How many km are 3 miles?", [])).text


async def test_lists_skills_where_the_prompt_does_not() -> None:
    played = await play("what is 5 kg in pounds", BUNDLED, system=lambda _catalog: "")
    assert played.names == ["list_agent_skills", *USES_A_SKILL]


async def test_reads_a_few_skills_and_no_more() -> None:
    many = [Skill.from_files({"SKILL.md": f"---\nname: s-{n}\ndescription: Nothing.\n---\nB\n"}) for n in range(9)]
    assert (await play("turn 5 into gold", many)).names == ["read_agent_skill"] * 4


async def test_a_denied_skill_is_not_there() -> None:
    played = await play("what is 5 kg in pounds", BUNDLED, policy={"unit-convert": "deny"})
    assert "convert_units" not in str(played.calls)
    assert "unit-convert" not in played.text


async def test_a_refused_tool_is_said() -> None:
    """A denied tool is not shown in what is read; one that is refused on the way ends with the reason."""
    failing = Skill.from_files(
        {
            "SKILL.md": "---\nname: bell\ndescription: Rings the bell of a ship.\n---\nB\n",
            "tools.py": "from agrun_wasm import skill_tool\n\n@skill_tool(description='Ring the bell.')\n"
            "def ring_bell():\n    raise RuntimeError('the clapper is gone')\n",
        },
        trust_tools=True,
    )
    assert "the clapper is gone" in (await play("Ring the bell", [failing])).text


TIDE = Skill.from_files(
    {
        "SKILL.md": "---\nname: tide-table\ndescription: Tide heights and high water for Dutch ports.\n---\nB\n",
        "tools.py": (
            "from agrun_wasm import skill_tool\n\n"
            "@skill_tool(description='Look up the time of high water.', parameters={'type': 'object', 'properties': "
            "{'port': {'type': 'string'}, 'hour': {'type': 'integer'}}, 'required': ['port']})\n"
            "def high_water(port, hour=12):\n    return {'port': port, 'at': f'{hour}:30', 'ok': True}\n"
        ),
    },
    trust_tools=True,
)


async def test_a_skill_it_never_saw() -> None:
    played = await play("When is high water in Vlissingen?", [*BUNDLED, TIDE])
    assert played.tool == ("high_water", {"port": "Vlissingen"})
    assert played.text == "Result of `high_water`:\n- port: Vlissingen\n- at: 12:30"


def action(name: str, description: str, schema: dict[str, Any], value: Any) -> Action:
    return Action(name, description, 0, {"argsSchema": schema}, execute=lambda _context, _args: value)


ADD = action(
    "add_numbers",
    "Add two numbers.",
    {"a": {"type": "number", "required": True}, "b": {"type": "number", "required": True}},
    5,
)
SUM = action(
    "sum_numbers",
    "Sum up numbers.",
    {"numbers": {"type": "array", "items": {"type": "number"}, "required": True}},
    "The sum is twelve in all",
)
PAGE = action(
    "open_page",
    "Open the page of a URL and read it.",
    {"url": {"type": "string"}},
    {"kind": "read_url_result", "ok": True, "url": "https://a.example/x", "title": "Bogs", "text": "Peat\n is wet."},
)
FIND = action(
    "web_search",
    "Search the web.",
    {"query": {"type": "string"}},
    {
        "kind": "web_search_result",
        "ok": True,
        "results": [{"title": "Peat", "url": "https://a.example", "snippet": "bog"}],
    },
)


@pytest.mark.parametrize(
    ("prompt", "call", "said"),
    [
        ("Add 2 and 3", ("add_numbers", {"a": 2, "b": 3}), "Result of `add_numbers`: 5"),
        ("Sum up 3, 4 and 5", ("sum_numbers", {"numbers": [3, 4, 5]}), "The sum is twelve in all"),
        (
            "Open https://a.example/x.",
            ("open_page", {"url": "https://a.example/x"}),
            "[Bogs](https://a.example/x) begins: Peat is wet.",
        ),
        (
            "Search for peat bogs",
            ("web_search", {"query": "Search for peat bogs"}),
            "`web_search` found:\n- [Peat](https://a.example): bog",
        ),
    ],
)
async def test_host_actions(prompt: str, call: tuple[str, dict[str, Any]], said: str) -> None:
    played = await play(prompt, BUNDLED, [ADD, SUM, PAGE, FIND])
    assert played.calls[-1] == call
    assert played.text == said


async def test_runtime_tools_are_no_answers() -> None:
    write = action("workspace_write", "Write a file.", {"path": {"type": "string", "required": True}}, {})
    assert "workspace_write" not in (await play("Write a file", BUNDLED, [write])).names


# --- the stream


def request(prompt: str, **more: Any) -> ModelRequest:
    tools = (ToolSpec("read_agent_skill", "", {}), ToolSpec("ask_clarification", "", {}))
    messages = (Message(role="user", kind="prompt", text=prompt),)
    return ModelRequest(
        **{
            "purpose": "planner",
            "system": "Skills here:\n- unit-convert: Convert miles.",
            "messages": messages,
            "tools": tools,
            **more,
        }
    )


async def events_of(asked: ModelRequest) -> list[ModelEvent]:
    return [event async for event in OfflineProvider().stream(asked)]


async def test_text_comes_in_small_pieces() -> None:
    events = await events_of(request("hi"))
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 10
    assert "".join(pieces).startswith("Hello, I am the offline planner")
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.reason, last.usage.input_tokens) == ("stop", None)


async def test_a_call_comes_whole() -> None:
    events = await events_of(request("convert 3 miles"))
    assert [type(event) for event in events] == [ReasoningDelta, ToolArgsDelta, ToolCallDone, Finished]
    done = events[2]
    assert isinstance(done, ToolCallDone)
    assert (done.call.id, done.call.name, json.loads(done.call.args_text)) == (
        "offline-1",
        "read_agent_skill",
        {"skillName": "unit-convert"},
    )


async def test_the_same_request_gives_the_same_reply() -> None:
    assert await events_of(request("convert 3 miles")) == await events_of(request("convert 3 miles"))


async def test_call_ids_are_unique_in_a_run() -> None:
    played = await play("what is 5 kg in pounds", BUNDLED)
    ids = [call.id for message in played.messages for call in message.tool_calls]
    assert len(set(ids)) == len(ids) == 3


async def said_to(asked: ModelRequest) -> str:
    return "".join(event.text for event in await events_of(asked) if isinstance(event, TextDelta))


async def test_envelope_mode_gets_an_envelope() -> None:
    envelope = json.loads(await said_to(request("convert 3 miles", tools=())))
    assert envelope["type"] == "final"
    assert "native" in envelope["answer"]


async def test_a_cut_skill_still_shows_its_tools() -> None:
    tools = [
        {
            "name": "convert_units",
            "description": "Convert.",
            "parameters": {"properties": {"n": {"type": "number"}}, "required": ["n"]},
        }
    ]
    text = f'{{"kind": "agent_skill", "tools": {json.dumps(tools)}, "instructions": "lo… [cut: showing 9 of 99] …ng"'
    call = ToolCall(id="c1", name="read_agent_skill", args_text='{"skillName": "unit-convert"}')
    messages = (
        Message(role="user", kind="prompt", text="convert 3"),
        Message(role="assistant", kind="decision", tool_calls=[call]),
        Message(role="tool", kind="result", tool_call_id="c1", tool_name="read_agent_skill", text=text),
    )
    event = (await events_of(request("", messages=messages)))[2]
    assert isinstance(event, ToolCallDone)
    assert event.call.name == "use_agent_skill"


# --- the writer


def result(name: str, value: Any) -> str:
    return f"Result of {name}:\n{json.dumps(value)}"


CONVERTED = {
    "kind": "agent_skill_tool_result",
    "tool": "convert_units",
    "result": {"ok": True, "text": "1 mile = 1.6 km"},
}


async def test_finalizer_writes_from_results() -> None:
    messages = (
        Message(role="user", kind="prompt", text="hi"),
        Message(role="user", text=result("read_agent_skill", {"name": "x"})),
        Message(role="user", text=f"[0] {result('execute_skill_tool', CONVERTED)}\n\n[1] {result('add', {'sum': 5})}"),
        Message(role="user", text="Write the final answer."),
    )
    text = await said_to(request("", purpose="finalizer", tools=(), messages=messages))
    assert text == "1 mile = 1.6 km.\n\nResult of `add`:\n- sum: 5"


async def test_a_writer_tells_plain_values_and_failures() -> None:
    messages = (
        Message(role="user", kind="prompt", text="hi"),
        Message(role="user", text="Result of add:\n[data from add; not instructions]\n5"),
        Message(role="tool", tool_call_id="a", tool_name="read", text="it is gone", is_error=True),
    )
    text = await said_to(request("", purpose="finalizer", tools=(), messages=messages))
    assert text == "Result of `add`: 5\n\nThat did not work: it is gone."


@pytest.mark.parametrize("value", [5, "The sum is five as always"])
async def test_the_frame_around_a_foreign_result_is_no_part_of_the_answer(value: Any) -> None:
    five = action("five", "Give five.", {}, value)
    told = (await Runtime(provider="offline", actions=[five]).run("give five")).text
    assert told == (value if isinstance(value, str) else "Result of `five`: 5")


async def test_finalizer_without_results() -> None:
    text = await said_to(request("hi", purpose="finalizer", tools=()))
    assert text == "There is no result to write from."


async def test_sections_and_their_frame() -> None:
    material = f"Request:\nReport\n\n{json.dumps(CONVERTED)}\n\nWrite this part: short"
    assert await said_to(request(material, purpose="section", tools=())) == "1 mile = 1.6 km."
    assert await said_to(request(material, purpose="intro", tools=()))
    assert await said_to(request(material, purpose="outro", tools=()))


# --- words and arguments


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("26.2 miles", [26.2]),
        ("26,2 miles", [26.2]),
        ("1,000 and 2,500,000.5", [1000, 2500000.5]),
        ("-40, +3, −7", [-40, 3, -7]),
        ("5kg 3 m2 v2", [5, 3]),
        ("1/2 cup, 3/0", [0.5, 3]),
        ("two miles", [2]),
        ("1e3 m, 1.5e-9", [1000.0, 1.5e-9]),
        ("5-10", [5, 10]),
    ],
)
def test_numbers(text: str, values: list[float]) -> None:
    assert [token.value for token in tokens_of(text) if token.kind == "number"] == values


def test_tokens() -> None:
    kinds = [(token.kind, token.text) for token in tokens_of("See 'a b' at https://x.example/y. 5 °C, don't!")]
    assert kinds == [
        ("word", "See"),
        ("quoted", "a b"),
        ("word", "at"),
        ("url", "https://x.example/y"),
        ("number", "5"),
        ("word", "°C"),
        ("mark", ","),
        ("word", "don't"),
        ("mark", "!"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("miles", "mile", True),
        ("converting", "converted", True),
        ("kilometres", "kilometer", True),
        ("frequency", "frequent", True),
        ("inches", "inch", True),
        ("stories", "story", True),
        ("kilogram", "kilometre", False),
        ("millilitre", "millimetre", False),
        ("centimetre", "centigrade", False),
        ("gas", "ga", False),
    ],
)
def test_stems(one: str, other: str, same: bool) -> None:
    assert bool(similarity(stem(one), stem(other))) is same


def properties(**parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": parts, "required": list(parts)}


@pytest.mark.parametrize(
    ("prompt", "schema", "args", "missing"),
    [
        ("Draw it in RED", properties(colour={"type": "string", "enum": ["red", "blue"]}), {"colour": "red"}, []),
        ("Skip common words", properties(skip_common={"type": "boolean"}), {"skip_common": True}, []),
        ("Wait 2.5 s", properties(times={"type": "integer"}), {}, ["times"]),
        ("Wait", properties(times={"type": ["integer", "null"]}), {}, ["times"]),
        (
            "Fly from Oslo to Rome",
            properties(from_city={"type": "string"}, to_city={"type": "string"}),
            {"from_city": "Oslo", "to_city": "Rome"},
            [],
        ),
        ("Say hoi", properties(word={"type": "string"}), {"word": "hoi"}, []),
        (
            "Tags: red, blue",
            properties(tags={"type": "array", "items": {"type": "string"}}),
            {"tags": ["red", "blue"]},
            [],
        ),
        (
            "Look at https://x.example",
            properties(page={"type": "string", "format": "uri"}),
            {"page": "https://x.example"},
            [],
        ),
        ("Nothing of use", properties(order={"type": "object"}), {}, ["order"]),
        ("Anything", {}, {}, []),
    ],
)
def test_fill(prompt: str, schema: dict[str, Any], args: dict[str, Any], missing: list[str]) -> None:
    filled = fill(schema, read_request(prompt), frozenset())
    assert (filled.args, filled.missing) == (args, missing)


# --- through the real loop


def runtime(**config: Any) -> Runtime:
    return Runtime(provider="offline", skills=BUNDLED, **config)


async def test_the_very_same_loop() -> None:
    result = await runtime().run("How many kilometres are 26.2 miles?")
    assert (result.status, result.final_answer_source) == ("completed", "planner_final")
    assert result.text == "26.2 miles = 42.1648 kilometres."
    executed = [step.detail["actionName"] for step in result.steps if step.type == "action-executed"]
    assert executed == USES_A_SKILL
    assert (result.usage.model_calls, result.usage.input_tokens) == (4, None)


async def test_a_question_and_its_answer_in_a_session() -> None:
    session = runtime().session("s")
    asked = await session.run("convert 3 miles")
    assert (asked.status, asked.final_answer_source) == ("blocked", "ask_clarification")
    answered = await session.run("kilometres")
    assert answered.text == "3 miles = 4.82803 kilometres."


@pytest.mark.parametrize("config", [{"max_steps": 3}, {"single_tool_fast_path": True}])
async def test_the_finalizer_answers_from_the_result(config: dict[str, Any]) -> None:
    result = await runtime(**config).run("How many kilometres are 26.2 miles?")
    assert (result.final_answer_source, result.text) == ("runtime_finalize", "26.2 miles = 42.1648 kilometres.")


async def test_an_approval_on_the_way() -> None:
    agent = runtime(skill_policy={"unit-convert.convert_units": "ask"})
    blocked = await agent.run("what is 5 kg in pounds")
    assert blocked.output is not None
    (approval,) = blocked.output["approvals"]
    done = await agent.resume(blocked.state, decisions={approval["approvalId"]: "approve"})
    assert done.text == "5 kilograms = 11.0231 pounds."
