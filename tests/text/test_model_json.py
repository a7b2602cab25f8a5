"""model_json: kinds of replies with what is read, or the reason why not."""

import json
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.model_json import ModelTextError, read_object, read_whole_object

KEYS = frozenset({"type", "actions", "name", "tool", "question", "answer", "instruction"})
FINAL = '{"type":"final","answer":"ok"}'
ACTION = '{"type":"action","name":"read_url","args":{"url":"https://example.org/a"}}'
FENCED = f"```json\n{FINAL}\n```"
VALUE = json.loads(FINAL)

READ: list[tuple[str, str, Any, tuple[str, ...]]] = [
    ("whole", FINAL, VALUE, ()),
    ("whole with blanks", f"\n {FINAL} \u00a0", VALUE, ()),
    ("whole without a decision key", '{"reasoning":"compare"}', {"reasoning": "compare"}, ()),
    ("empty object", "{}", {}, ()),
    ("zero-width prefix", f"\ufeff\u200b{FINAL}", VALUE, ("zero_width_prefix",)),
    ("zero-width after blanks", f" \u2060{FINAL}", VALUE, ("zero_width_prefix",)),
    (
        "trailing comma",
        '{"type":"final","answer":"a ,} b",}',
        {"type": "final", "answer": "a ,} b"},
        ("trailing_comma",),
    ),
    ("raw newline", '{"type":"final","answer":"a\n\tb"}', {"type": "final", "answer": "a\n\tb"}, ("raw_control",)),
    ("one-element array", f"[{FINAL}]", VALUE, ("array_unwrapped",)),
    ("one-element array with comma", f"[{FINAL},]", VALUE, ("trailing_comma", "array_unwrapped")),
    ("one-element array in prose", f"So: [{FINAL}].", VALUE, ()),
    ("same twice", FINAL + FINAL, VALUE, ("repeated_object",)),
    (
        "same twice on lines, other key order",
        FINAL + '\n{"answer": "ok", "type": "final"}',
        VALUE,
        ("repeated_object",),
    ),
    ("same three times", FINAL * 3, VALUE, ("repeated_object",)),
    ("fence and the same beside it", f"{FENCED}\n{FINAL}", VALUE, ()),
    ("two fences, the same", f"{FENCED}\n{FENCED}", VALUE, ("repeated_object",)),
    ("fence", FENCED, VALUE, ()),
    ("fence in capitals", FENCED.replace("json", "JSON"), VALUE, ()),
    ("fence without info word", FENCED.replace("json", ""), VALUE, ()),
    ("fence of another word is the whole message", FENCED.replace("json", "javascript"), VALUE, ()),
    ("tilde fence", f"~~~json\n{FINAL}\n~~~", VALUE, ()),
    ("longer fence", f"`````json\n{FINAL}\n`````", VALUE, ()),
    ("unclosed fence", f"```json\n{FINAL}", VALUE, ()),
    ("fence closed on the object's line", f"```json\n{FINAL}```", VALUE, ()),
    ("fence on one line", f"```json {FINAL} ```", VALUE, ()),
    ("brace on the opening line", "```json {\n" + FINAL[1:] + "\n```", VALUE, ()),
    (
        "inner fence, escaped",
        '```json\n{"type":"final","answer":"a:\\n```sh\\nls\\n```\\nb"}\n```',
        {"type": "final", "answer": "a:\n```sh\nls\n```\nb"},
        (),
    ),
    (
        "inner fence, raw",
        '```json\n{"type":"final","answer":"a:\n```sh\nls\n```\nb"}\n```',
        {"type": "final", "answer": "a:\n```sh\nls\n```\nb"},
        ("raw_control",),
    ),
    (
        "inner fence, raw, with prose round",
        'So\n```json\n{"type":"final","answer":"a:\n```\nls\n```\nb"}\n```\nThat is all.',
        {"type": "final", "answer": "a:\n```\nls\n```\nb"},
        ("raw_control",),
    ),
    ("only JSON fence beside a shell fence", "Or\n```sh\nmv t.{old,bak}\n```\nbut\n" + FENCED + "\nDone.", VALUE, ()),
    ("only JSON fence beside code with an object", f"As\n```js\nf({ACTION})\n```\n{FENCED}", VALUE, ()),
    ("JSON fence with data, decision in prose", f"```json\n[1, 2]\n```\nso {FINAL}", VALUE, ()),
    ("JSON fence without decision key, decision in prose", f'Data:\n```json\n{{"a": 1}}\n```\nso {FINAL}', VALUE, ()),
    ("JSON fence without decision key", 'Data:\n```json\n{"a": 1}\n```\n', {"a": 1}, ()),
    ("two JSON fences, one with a decision", f'```json\n{{"a": 1}}\n```\n{FENCED}', VALUE, ()),
    ("two objects in one fence, the same", f"```json\n{FINAL}\n{FINAL}\n```", VALUE, ("repeated_object",)),
    ("prose with brackets", f"As in [2], so: {FINAL} (see [docs] and [1]).", VALUE, ()),
    ("prose with braces that are no JSON", f"Use {{old,bak}} or {{}} then {FINAL} }} done {{", VALUE, ()),
    ("prose with an object that is no decision", f'From {{"a": 1}} follows {FINAL}', VALUE, ()),
    ("prose with quotes", f'He said "hi {{" and {FINAL}', VALUE, ()),
    ("one brace too many", FINAL + "}", VALUE, ()),
    (
        "prose with braces in strings",
        'x {"type":"final","answer":"} and \\" {"} y',
        {"type": "final", "answer": '} and " {'},
        (),
    ),
    ("prose, name with args", 'x {"name":"add","arguments":{}} y', {"name": "add", "arguments": {}}, ()),
    (
        "leaked tool call",
        '<tool_call>{"name":"add","arguments":{"a":1}}</tool_call>',
        {"name": "add", "arguments": {"a": 1}},
        (),
    ),
    ("reasoning", f"<think>Maybe {ACTION}? No.</think>\n{FINAL}", VALUE, ("think_removed",)),
    ("lone closing tag", f"Maybe {ACTION}.\n</think>\n\n{FINAL}", VALUE, ("think_removed",)),
    ("object before a lone closing tag", f"{ACTION}</think>{FINAL}", VALUE, ("think_removed",)),
    ("reasoning, then a fence", f"<think>x</think>\n{FENCED}", VALUE, ("think_removed",)),
    ("reasoning after it", f"{FINAL}<think>was that right? {ACTION}</think>", VALUE, ("think_removed",)),
    (
        "tags in a string",
        '{"type":"final","answer":"<think> and </think>"}',
        {"type": "final", "answer": "<think> and </think>"},
        (),
    ),
    (
        "tags in a string, in prose",
        'So {"type":"final","answer":"<think>x</think>"}.',
        {"type": "final", "answer": "<think>x</think>"},
        (),
    ),
    (
        "tags in a string, in a fence",
        '```json\n{"type":"final","answer":"a </think> b"}\n```',
        {"type": "final", "answer": "a </think> b"},
        (),
    ),
    ("surrogates", '{"type":"final","answer":"\\ud83d\\udc1f \\ud83d"}', {"type": "final", "answer": "🐟 \ufffd"}, ()),
    (
        "big integer",
        '{"type":"action","name":"x","args":{"id":9007199254740993}}',
        {"type": "action", "name": "x", "args": {"id": 9007199254740993}},
        (),
    ),
]

REJECTED: list[tuple[str, str, str, str]] = [
    ("empty", "", "empty_reply", "empty"),
    ("blank", " \n\ufeff", "empty_reply", "empty"),
    ("empty fence", "```json\n```", "empty_reply", "fence"),
    ("unclosed empty fence", "```", "empty_reply", "fence"),
    ("only reasoning", "<think>x</think> ", "empty_reply", "reasoning"),
    ("plain text", "I will now search the web for that.", "not_an_envelope", "I will now search"),
    ("other JSON", "[1, 2]", "not_an_envelope", "[1, 2]"),
    ("empty array", "[]", "not_an_envelope", "[]"),
    ("string", '"type"', "not_an_envelope", "type"),
    ("array round an array", f"[[{FINAL}]]", "not_an_envelope", "final"),
    ("prose object without decision key", 'See {"a": 1}.', "not_an_envelope", "See"),
    ("prose object with a name alone", 'See {"name": "Ada"}.', "not_an_envelope", "See"),
    ("prose object that does not parse", "So {type: final, answer: 1} as agreed.", "not_an_envelope", "double quotes"),
    ("no JSON, then words", "{type: final} as agreed.", "not_an_envelope", "{type"),
    ("object in braces in prose", f"Template {{ x: {FINAL} }} here.", "not_an_envelope", "Template"),
    (
        "item of an object that is broken",
        f'So {{"type":"plan","note":"5" x","actions":[{ACTION}]}}',
        "not_an_envelope",
        "So",
    ),
    ("no value", '{"type":"final","answer":}', "parse_error", "Expecting value"),
    ("Python literal", "{'type': 'final', 'answer': True}", "parse_error", "double quotes"),
    ("unescaped quotes", '{"type":"final","answer":"Asked the "mayor", no reply."}', "parse_error", "delimiter"),
    ("an odd quote", '{"type":"final","answer":"a 5" pipe"}', "parse_error", "delimiter"),
    ("invalid escape", '{"type":"final","answer":"\\d+"}', "parse_error", "escape"),
    ("NaN", '{"type":"action","name":"x","args":{"a":NaN}}', "parse_error", "NaN"),
    ("overflow", '{"type":"action","name":"x","args":{"a":1e999}}', "parse_error", "number"),
    ("deep", '{"type":"action","name":"x","args":{"a":' + "[" * 63 + "]" * 63 + "}}", "parse_error", "depth"),
    (
        "very deep",
        '{"type":"action","name":"x","args":{"a":' + "[" * 20000 + "]" * 20000 + "}}",
        "parse_error",
        "depth",
    ),
    ("long integer", '{"type":"action","name":"x","args":{"a":' + "9" * 5000 + "}}", "parse_error", "number"),
    ("doubled braces", "{" + FINAL + "}", "parse_error", "double quotes"),
    (
        "fence that does not parse",
        'Here:\n```json\n{"type": "final"; "answer": "x"}\n```\nMore?',
        "parse_error",
        "delimiter",
    ),
    ("fenced Python literal", "```\n{'type': 'final'}\n```", "parse_error", "double quotes"),
    ("array that does not parse", '[{"type":"final";}]', "parse_error", "delimiter"),
    ("two objects", f"{ACTION}\n{FINAL}", "ambiguous_envelope", "2"),
    (
        "two objects that Python calls equal",
        '{"type":"final","answer":1} {"type":"final","answer":true}',
        "ambiguous_envelope",
        "2",
    ),
    ("array of two", f"[{ACTION},{FINAL}]", "ambiguous_envelope", "array"),
    ("array of two the same", f"[{FINAL},{FINAL}]", "ambiguous_envelope", "array"),
    ("array of two in prose", f"So [{ACTION},{FINAL}].", "ambiguous_envelope", "2"),
    ("two JSON fences", f"{FENCED}\n```json\n{ACTION}\n```", "ambiguous_envelope", "2"),
    ("fence and another object beside it", f"{ACTION}\n{FENCED}", "ambiguous_envelope", "fence"),
    ("cut in a string", '{"type":"final","answer":"# Report\\n\\nThe', "truncated", "length"),
    ("cut in a string with raw newline", '{"type":"final","answer":"# Report\n\nThe', "truncated", "length"),
    ("cut with a tag in the string", '{"type":"final","answer":"say </think> and', "truncated", "length"),
    ("cut before the last brace", '{"type":"action","name":"x","args":{"a":1}', "truncated", "length"),
    ("cut array", f"[{ACTION}", "truncated", "length"),
    ("cut in a fence", '```json\n{"type":"final","answer":"a', "truncated", "length"),
    ("cut in a fence that closes", '```json\n{"type":"final","answer":"a"\n```', "truncated", "length"),
    ("cut in prose", 'Sure: {"type":"final","answer":"a', "truncated", "length"),
    ("cut second object", FINAL + '\n{"type":"fin', "truncated", "length"),
    ("cut plan", f'{{"type":"plan","actions":[{ACTION},', "truncated", "length"),
    ("cut in its reasoning", f"<think>Maybe {FINAL}? Or", "truncated", "reasoning"),
]


@pytest.mark.parametrize(("text", "value", "repairs"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_reads(text: str, value: Any, repairs: tuple[str, ...]) -> None:
    found = read_object(text, KEYS)
    assert (found.value, found.repairs) == (value, repairs)


@pytest.mark.parametrize(("text", "reason", "word"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED])
def test_rejects(text: str, reason: str, word: str) -> None:
    with pytest.raises(ModelTextError) as caught:
        read_object(text, KEYS)
    assert caught.value.reason == reason, caught.value.message
    assert word in caught.value.message


def test_duplicate_keys_are_told() -> None:
    found = read_object('{"type":"action","name":"a","name":"b","args":{"x":1,"x":2}}', KEYS)
    assert found.value == {"type": "action", "name": "b", "args": {"x": 2}}
    assert found.duplicate_keys == ("x", "name")


def test_messages_can_always_be_encoded() -> None:
    with pytest.raises(ModelTextError) as caught:
        read_object("no \ud83d object", KEYS)
    caught.value.message.encode()


WHOLE: list[tuple[str, Any]] = [
    (FINAL, VALUE),
    (f"\ufeff {FINAL}\n", VALUE),
    (FINAL[:-1] + ",}", VALUE),
    ('{"a": "x\ny"}', {"a": "x\ny"}),
    (FENCED, None),
    (f"[{FINAL}]", None),
    (FINAL + FINAL, None),
    (f"So {FINAL}", None),
    ('{"a": NaN}', None),
    ("{a}", None),
    ("", None),
    ("42", None),
]


@pytest.mark.parametrize(("text", "value"), WHOLE, ids=range(len(WHOLE)))
def test_read_whole_object(text: str, value: Any) -> None:
    assert read_whole_object(text) == value


NASTY = [
    "{" * 100_000,
    '{"a":' * 20_000,
    '{"a":' * 20_000 + "<think>",
    "{a}" * 30_000,
    "```\n{\n```\n" * 10_000,
    "<think>" * 20_000 + "</think>" * 20_000,
    "[" * 100_000,
    '"' * 100_000 + "{",
    "{\\" * 50_000,
]


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_nasty_replies_are_answered_soon(text: str) -> None:
    begin = perf_counter()
    with pytest.raises(ModelTextError):
        read_object(text, KEYS)
    assert perf_counter() - begin < 5


json_values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=6)
PROSE = st.text(alphabet="abc ](),.:\n'<>", max_size=30)


@given(st.dictionaries(st.text(), json_values, max_size=4), PROSE, PROSE, st.booleans())
def test_an_object_is_found_whole_fenced_and_in_prose(
    extra: dict[str, Any], before: str, after: str, ascii_only: bool
) -> None:
    value = {**extra, "type": "final"}
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert read_object(text, KEYS).value == value
    assert read_object(f"{before}{text}{after}", KEYS).value == value
    assert read_object(f"{before}\n```json\n{text}\n```\n{after}", KEYS).value == value


@given(st.text(alphabet='{}[]":,`\\\n ajson<think>/1', max_size=80))
def test_any_text_is_read_or_rejected(text: str) -> None:
    try:
        found = read_object(text, KEYS)
    except ModelTextError:
        return
    assert isinstance(found.value, dict)
