"""The bundled skills: trusted as they stand, within the standard, and right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agrun_host.skills import bundled_skills
from agrun_wasm.skills.parameters import check_against
from tests.skills.write_trusted import TARGET, trusted_text

SKILLS = {skill.name: skill for skill in bundled_skills()}


def function(skill: str, tool: str) -> Callable[..., dict[str, Any]]:
    return SKILLS[skill].tools[tool].function


def test_which_there_are() -> None:
    assert {name: list(skill.tools) for name, skill in SKILLS.items()} == {
        "data-table": ["describe_table", "select_rows", "group_rows"],
        "report-writer": ["section_brief", "assemble_report", "deliver_report", "check_report"],
        "text-stats": ["count_text", "reading_time", "frequent_words"],
        "unit-convert": ["convert_units", "list_units"],
        "web-research": ["source_table", "quote_check"],
    }


def test_trusted_by_content_hash() -> None:
    assert TARGET.read_text(encoding="utf-8") == trusted_text(), "run python -m tests.skills.write_trusted"
    assert all(skill.trusted for skill in SKILLS.values())


@pytest.mark.parametrize("name", SKILLS)
def test_within_the_standard(name: str) -> None:
    skill = SKILLS[name]
    assert skill.diagnostics == []
    assert skill.license == "MIT"
    for path in skill.resources:
        assert path in skill.body
    for tool in skill.tools.values():
        assert tool.description
        assert tool.name in skill.body


def test_tools_import_only_the_standard_library_and_pure_parsers() -> None:
    """Of the runtime: its public face and the room `text`, so that a tool has the runtime's own idea of a heading."""
    for file in (Path(__file__).parents[2] / "skills").glob("*/tools.py"):
        lines = [
            line.split()[1]
            for line in file.read_text(encoding="utf-8").splitlines()
            if line.startswith(("import ", "from "))
        ]
        assert {line for line in lines if not line.startswith("agrun_wasm.text.")} <= {
            "__future__",
            "agrun_wasm",
            "collections",
            "collections.abc",
            "csv",
            "dataclasses",
            "difflib",
            "fractions",
            "functools",
            "inspect",
            "io",
            "itertools",
            "json",
            "math",
            "operator",
            "re",
            "typing",
            "unicodedata",
        }


CONVERSIONS: list[tuple[float, str, str, float, str]] = [
    (26.2, "miles", "kilometres", 42.1648128, "26.2 miles = 42.1648 kilometres"),
    (1, "mile", "feet", 5280, "1 mile = 5280 feet"),
    (100, "F", "celsius", 37.77777777777778, "100 degrees Fahrenheit = 37.7778 degrees Celsius"),
    (-40, "°C", "degrees fahrenheit", -40, "-40 degrees Celsius = -40 degrees Fahrenheit"),
    (0, "celsius", "K", 273.15, "0 degrees Celsius = 273.15 kelvins"),
    (1, "°C", "F", 33.8, "1 degree Celsius = 33.8 degrees Fahrenheit"),
    (5, "kg", "pounds", 11.023113109243878, "5 kilograms = 11.0231 pounds"),
    (5, "KGS", "Lbs", 11.023113109243878, "5 kilograms = 11.0231 pounds"),
    (12, "stone", "kg", 76.20351816, "12 stone = 76.2035 kilograms"),
    (1, "tonne", "ton", 1.1023113109243878, "1 tonne = 1.10231 short tons"),
    (3, "US cups", "ml", 709.7647095, "3 US cups = 709.765 millilitres"),
    (1, "gallon", "liters", 3.785411784, "1 US gallon = 3.78541 litres"),
    (1, "imperial gallon", "L", 4.54609, "1 imperial gallon = 4.54609 litres"),
    (1, "fl. oz.", "ml", 29.5735295625, "1 US fluid ounce = 29.5735 millilitres"),
    (1, "acre", "sq ft", 43560, "1 acre = 43560 square feet"),
    (2, "km^2", "hectares", 200, "2 square kilometres = 200 hectares"),
    (60, "mph", "km/h", 96.56064, "60 miles per hour = 96.5606 kilometres per hour"),
    (10, "knots", "miles per hour", 11.507794480235425, "10 knots = 11.5078 miles per hour"),
    (90, "min", "hours", 1.5, "90 minutes = 1.5 hours"),
    (1, "year", "days", 365.25, "1 year = 365.25 days"),
    (2, "centuries", "decades", 20, "2 centuries = 20 decades"),
    (1, "GiB", "MB", 1073.741824, "1 gibibyte = 1073.74 megabytes"),
    (8, "Mb", "MB", 1, "8 megabits = 1 megabyte"),
    (10, "gb", "mb", 10000, "10 gigabytes = 10000 megabytes"),
    (1, "KB", "bytes", 1000, "1 kilobyte = 1000 bytes"),
    (1, "Mm", "mm", 1_000_000_000, "1 megametre = 1000000000 millimetres"),
    (5, "µm", "nm", 5000, "5 micrometres = 5000 nanometres"),
    (5, "um", "nanometers", 5000, "5 micrometres = 5000 nanometres"),
    (1e-9, "m", "miles", 6.213711922373339e-13, "1e-9 metres = 6.21371e-13 miles"),
    (0.1, "m", "cm", 10, "0.1 metres = 10 centimetres"),
    (0, "km", "mi", 0, "0 kilometres = 0 miles"),
    (6, "foot", "inches", 72, "6 feet = 72 inches"),
    (1, "light years", "au", 63241.07708426628, "1 light-year = 63241.08 astronomical units"),
]


@pytest.mark.parametrize(("value", "source", "target", "expected", "text"), CONVERSIONS)
def test_convert(value: float, source: str, target: str, expected: float, text: str) -> None:
    result = function("unit-convert", "convert_units")(value, source, target)
    assert result["ok"] is True
    assert result["value"] == pytest.approx(expected, rel=1e-15)
    assert result["text"] == text


def test_there_and_back_is_exact() -> None:
    units = function("unit-convert", "list_units")()["units"]
    convert = function("unit-convert", "convert_units")
    for names in units.values():
        for unit in names:
            there = convert(400, names[0]["name"], unit["name"])
            assert there["ok"], there
            assert convert(there["value"], unit["name"], names[0]["name"])["value"] == pytest.approx(400, rel=1e-12)


def test_every_spelling_finds_its_unit() -> None:
    convert = function("unit-convert", "convert_units")
    for names in function("unit-convert", "list_units")()["units"].values():
        for unit in names:
            for symbol in unit["symbols"]:
                assert convert(300, symbol, unit["name"])["value"] == 300, symbol


@pytest.mark.parametrize(
    ("args", "mentions"),
    [
        ((5, "foo", "m"), "unknown unit 'foo'"),
        ((5, "kilometres", "milez"), "did you mean miles"),
        ((5, "kg", "m"), "kilograms measure mass, metres measure length"),
        ((-300, "C", "K"), "below absolute zero"),
        ((5, "kg", "lb", 99), "decimals"),
        ((5, "", "m"), "unknown unit ''"),
    ],
)
def test_convert_errors(args: tuple[Any, ...], mentions: str) -> None:
    result = function("unit-convert", "convert_units")(*args)
    assert result["ok"] is False
    assert mentions in result["error"]
    assert isinstance(result["known"], list)


def test_unknown_unit_lists_those_of_the_other_ones_quantity() -> None:
    assert "litres" not in function("unit-convert", "convert_units")(1, "mile", "klicks")["known"]


@pytest.mark.parametrize(("decimals", "text"), [(2, "1 mile = 1.61 kilometres"), (0, "1 mile = 2 kilometres")])
def test_decimals(decimals: int, text: str) -> None:
    assert function("unit-convert", "convert_units")(1, "mi", "km", decimals)["text"] == text


def test_list_units() -> None:
    assert list(function("unit-convert", "list_units")("time")["units"]) == ["time"]
    assert SKILLS["unit-convert"].tools["list_units"].result_kind == "lookup"


def test_aliases_of_the_converter() -> None:
    schema = SKILLS["unit-convert"].tools["convert_units"].parameters
    checked = check_against(schema, {"amount": 5, "from": "kg", "to": "lb"})
    assert checked.fault is None
    assert checked.args == {"value": 5, "from_unit": "kg", "to_unit": "lb"}


COUNTS: list[tuple[str, int, int, int]] = [
    ("", 0, 0, 0),
    ("the quick brown fox", 4, 19, 1),
    ("Don't stop - well-known 3.5 and 1,000!", 6, 38, 1),
    ("Dr. Smith paid $3.50. “Really?” he asked. Yes!", 8, 46, 4),
    ("J. K. Rowling wrote it. I read it, i.e. all of it.", 13, 50, 2),
    ("Is it 3.5? Yes... maybe", 5, 23, 3),
    ("猫が好きです。犬も。", 8, 10, 2),
    ("我爱 Python！你呢？", 5, 13, 2),
    ("한국어 문장입니다.", 2, 10, 1),
    ("नमस्ते दुनिया", 2, 8, 1),
    ("cafe\u0301 naïve", 2, 10, 1),
    ("one\n\ntwo\n \nthree", 3, 16, 3),
    ("...", 0, 3, 0),
    ("a_b a/b", 4, 7, 1),
]


@pytest.mark.parametrize(("text", "words", "characters", "sentences"), COUNTS)
def test_counts(text: str, words: int, characters: int, sentences: int) -> None:
    result = function("text-stats", "count_text")(text)
    assert (result["words"], result["characters"], result["sentences"]) == (words, characters, sentences)


def test_other_counts() -> None:
    result = function("text-stats", "count_text")("One line.\r\nTwo lines.\r\n\r\nNew paragraph.")
    assert (result["lines"], result["paragraphs"], result["charactersWithoutSpaces"]) == (4, 2, 30)
    assert result["text"] == "The text has 6 words, 36 characters and 3 sentences."
    assert function("text-stats", "count_text")("I.")["text"] == "The text has 1 word, 2 characters and 1 sentence."


@pytest.mark.parametrize(
    ("text", "pace", "seconds"),
    [
        ("word " * 238, 238, 60),
        ("word " * 119, 238, 30),
        ("word " * 400, 200, 120),
        ("猫" * 260, 238, 60),
        ("", 238, 0),
    ],
)
def test_reading_time(text: str, pace: float, seconds: int) -> None:
    assert function("text-stats", "reading_time")(text, pace)["seconds"] == seconds


def test_reading_time_texts() -> None:
    assert "1 minute 30 seconds (357 words)" in function("text-stats", "reading_time")("w " * 357)["text"]
    assert function("text-stats", "reading_time")("a", 0)["ok"] is False


def test_frequent_words() -> None:
    frequent = function("text-stats", "frequent_words")
    text = "The cat and the dog. The CAT sat; a dog barked."
    assert [(e["word"], e["count"]) for e in frequent(text, 3)["words"]] == [("the", 3), ("cat", 2), ("dog", 2)]
    assert [e["word"] for e in frequent(text, skip_common=True)["words"]] == ["cat", "dog", "sat", "barked"]
    assert [e["word"] for e in frequent(text, min_length=4)["words"]] == ["barked"]
    assert frequent("")["text"] == "Most frequent: no words."
    assert frequent("a", 0)["ok"] is False
