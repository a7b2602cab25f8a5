"""The bundled skill data-table: how hard texts are read, what is asked of them, and runs that end with a table."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agrun_host.skills import read_skill_files
from agrun_wasm import Skill
from agrun_wasm.skills.parameters import check_against
from agrun_wasm.skills.tools import is_terminal_kind
from tests.kit import calls, details, scripted

SKILL = Skill.from_files(
    read_skill_files(Path(__file__).parents[2] / "skills" / "data-table"),
    trust_tools=True,
)
describe = SKILL.tools["describe_table"].function
select = SKILL.tools["select_rows"].function
group = SKILL.tools["group_rows"].function

SALES = """region,rep,amount,day,paid
North,Ann,120.50,2024-05-01,yes
South,Ben,80,2024-05-02,
north,Zoë,1000,2024-04-30,yes
South,ann,9.5,2024-05-03,no
East,,,2024-05-03,no
"""


def names_of(result: dict[str, Any], column: str) -> list[Any]:
    return [row[column] for row in result["rows"]]


def test_the_skill() -> None:
    assert SKILL.diagnostics == []
    assert list(SKILL.tools) == ["describe_table", "select_rows", "group_rows"]
    assert [is_terminal_kind(tool.result_kind) for tool in SKILL.tools.values()] == [False, True, True]
    assert all(told in SKILL.body for told in (*SKILL.tools, *SKILL.resources, "as_answer", "decimal"))
    queries = SKILL.resources["references/queries.md"]
    schema = SKILL.tools["group_rows"].parameters["properties"]
    words = schema["where"]["items"]["properties"]["op"]["enum"]
    functions = schema["aggregates"]["items"]["properties"]["function"]["enum"]
    assert all(f"`{word}`" in queries for word in (*words, *functions))


# --- reading

#: what it is -> the text, the columns, the rows
READ: dict[str, tuple[Any, list[str], list[list[Any]]]] = {
    "comma": ("a,b\n1,x\n", ["a", "b"], [[1, "x"]]),
    "semicolon": ("a;b\n1,5;x,y\n2;z\n", ["a", "b"], [[1.5, "x,y"], [2, "z"]]),
    "tab": ("a\tb c\n1\t\n\t2\n", ["a", "b c"], [[1, None], [None, 2]]),
    "tab, the first name missing": ("\tb\nx\t2", ["column 1", "b"], [["x", 2]]),
    "bar": ("a|b\n1|x\n", ["a", "b"], [[1, "x"]]),
    "sep line": ("sep=;\r\na;b,c\r\n1;2\r\n", ["a", "b,c"], [[1, 2]]),
    "BOM and CRLF": ("\ufeffa,b\r\n1,2\r\n", ["a", "b"], [[1, 2]]),
    "CR": ("a,b\r1,2\r3,4", ["a", "b"], [[1, 2], [3, 4]]),
    "blank lines": ("\n\na,b\n\n1,2\n\n", ["a", "b"], [[1, 2]]),
    "fence": ("```csv\na,b\n1,2\n```", ["a", "b"], [[1, 2]]),
    "one column": ("name\nAnn\nBen\n", ["name"], [["Ann"], ["Ben"]]),
    "quotes": ('a,b\n"x, y","say ""hi"""\n', ["a", "b"], [["x, y", 'say "hi"']]),
    "a line end in quotes": ('a,b\n"one\r\ntwo",1\n', ["a", "b"], [["one\r\ntwo", 1]]),
    "blank before a quote": ('a, b\n1, "x, y"\n', ["a", "b"], [[1, "x, y"]]),
    "an inch": ('a,b\n5" pipe,1\n', ["a", "b"], [['5" pipe', 1]]),
    "text after a quote": ('a,b\n"x"y,1\n', ["a", "b"], [["xy", 1]]),
    "short and long rows": (
        "a,b\n1\n2,3,4\n5,6\n",
        ["a", "b", "column 3"],
        [[1, None, None], [2, 3, 4], [5, 6, None]],
    ),
    "delimiters at the ends": ("a,b,\n1,2,\n3,4,\n", ["a", "b"], [[1, 2], [3, 4]]),
    "empty rows": ("a,b\n,\n1,2\n,\n", ["a", "b"], [[1, 2]]),
    "names": ("x,,x, x \n1,2,3,4\n", ["x", "column 2", "x (2)", "x (3)"], [[1, 2, 3, 4]]),
    "a name on two lines": ('"unit\nprice",b\n1,2\n', ["unit price", "b"], [[1, 2]]),
    "header only": ("a,b,c\n", ["a", "b", "c"], []),
    "not ASCII": ("naam,größe\nZoë,大\n", ["naam", "größe"], [["Zoë", "大"]]),
    "Markdown": ("| a | b |\r\n|:--|--:|\r\n| x\\|y | 1 |\r\n\r\n1 row.", ["a", "b"], [["x|y", 1]]),
    "Markdown without outer bars": ("a | b\n--- | ---\nx | 1", ["a", "b"], [["x", 1]]),
    "objects": ('[{"a":1,"b":"x"},{"b":null,"c":true}]', ["a", "b", "c"], [[1, "x", None], [None, None, True]]),
    "objects, not a text": ([{"a": 1}, {"a": 2}], ["a"], [[1], [2]]),
    "lists": ('[["a","b"],[1,"x"],[2]]', ["a", "b"], [[1, "x"], [2, None]]),
    "single values": ("[1, 2, null]", ["value"], [[1], [2], [None]]),
    "object of lists": ('{"a":[1,2],"b":["x"]}', ["a", "b"], [[1, "x"], [2, None]]),
    "object of lists of lists": ('{"a":[[1],[2]],"b":[3,4]}', ["a", "b"], [["[1]", 3], ["[2]", 4]]),
    "data": ('{"data":[{"a":1}],"total":1}', ["a"], [[1]]),
    "data in an object": ('{"result":{"rows":[{"a":1}]}}', ["a"], [[1]]),
    "columns beside data": ('{"columns":["a","b"],"index":[0],"data":[[1,2]]}', ["a", "b"], [[1, 2]]),
    "JSON Lines": ('{"a":1}\n\n{"a":2}\n', ["a"], [[1], [2]]),
    "nested": ('[{"a":{"x":[1,"é"]},"b":[]}]', ["a", "b"], [['{"x":[1,"é"]}', "[]"]]),
    "not finite": ('[{"a":NaN,"b":1e999},{"a":1,"b":-Infinity}]', ["a", "b"], [[None, None], [1, None]]),
    "half a surrogate pair": (r'[{"a":"\ud83d!"},{"a":"\ud83d\ude00"}]', ["a"], [["\ufffd!"], ["😀"]]),
    "an empty name": ('[{"":1}]', ["column 1"], [[1]]),
    "leading zeros": ("zip,n\n01234,0\n98765,0.5\n", ["zip", "n"], [["01234", 0], ["98765", 0.5]]),
    "long ids": ("id\n1234567890123456\n7\n", ["id"], [["1234567890123456"], ["7"]]),
    "no numbers": ("v,ip,t\n1.2.3,10.0.0.1,10:30\n", ["v", "ip", "t"], [["1.2.3", "10.0.0.1", "10:30"]]),
    "signs": ("a,b\n-1,+2\n−3,1e3\n", ["a", "b"], [[-1, 2], [-3, 1000.0]]),
    "too large": ("a,b\n1e999,1\n1,2\n", ["a", "b"], [["1e999", 1], [1, 2]]),
    "booleans as text": ("a\nTRUE\nfalse\n", ["a"], [["TRUE"], ["false"]]),
}


@pytest.mark.parametrize("kind", READ)
def test_read(kind: str) -> None:
    text, columns, rows = READ[kind]
    result = select(text)
    assert result["ok"], result
    assert result["columns"] == columns
    assert [list(row.values()) for row in result["rows"]] == rows
    assert [[type(cell) for cell in row.values()] for row in result["rows"]] == [[type(c) for c in r] for r in rows]


SIGNS = st.text(st.sampled_from(list("ab0159.,;|-+$% '\"\t\r\n[]{}:e\\\ufeff")), max_size=60)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "data", "columns"]), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(SIGNS | JSONS.map(json.dumps))
@example("[1.7976931348623151e+308]")
def test_any_text_has_an_answer_that_is_json(text: str) -> None:
    described = describe(text)
    if not described["ok"]:
        assert described["error"]
        assert select(text) == group(text) == described
        return
    name = described["rows"][0]["column"]
    for result in (
        described,
        select(text, sort=[{"column": name}], limit=200),
        group(text, by=[name], aggregates=[{"function": f, "column": name} for f in ("min", "max", "distinct")]),
    ):
        assert result["ok"], result
        json.dumps(result, allow_nan=False)
        assert len(result["markdown"].split("\n\n")[0].splitlines()) == 2 + result["returned"]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a,b\n1\n2\n3,4\n", "2 rows with fewer cells than the first line (row 1)."),
        ("a,b\n1,2\n1,2,3\n", "1 row with more cells than the first line (row 2)."),
        ("a,b\n,\n1,2\n", "1 empty row left out."),
        ("a,a,\n1,2,3\n", "'a (2)', 'column 3' had no name of their own."),
        ('a,b\n1,2\n"x"y,1\n', "Line 3 has quotation marks at odd places."),
        ('{"a":[1,2],"b":[3]}', "The lists of the object differ in length."),
        ("a,n\nx,1\ny,N/A\nz,-\n", "'n' takes '-', 'N/A' as missing."),
        ("a;b\n1,5;x\n", "'a' is read with decimal commas."),
    ],
)
def test_notes(text: str, note: str) -> None:
    result = select(text)
    assert note in result["notes"]
    assert note in result["markdown"]


def test_nothing_to_note() -> None:
    assert select(SALES)["notes"] == []


def test_without_a_header() -> None:
    assert select("1,x\n2,y\n", header=False)["rows"] == [
        {"column 1": 1, "column 2": "x"},
        {"column 1": 2, "column 2": "y"},
    ]


#: cells of one column, apart by blanks; the delimiter; what they are; "text" where they stay so
NUMBERS: list[tuple[str, str, list[Any] | str]] = [
    ("1,234 2,500", ",", [1234, 2500]),
    ("1,234 2,500", ";", "text"),
    ("1.234 2.500", ",", [1.234, 2.5]),
    ("1.234 2.500", ";", "text"),
    ("1.234 2.500", "\t", "text"),
    ("1.234 2,5", ";", [1234, 2.5]),
    ("1,234 2.5", ";", [1234, 2.5]),
    ("1,234 12", ";", "text"),
    ("1.234 0.5", ";", [1.234, 0.5]),
    ("1.234,50 7", ";", [1234.5, 7]),
    ("1.234.567 1", ";", [1234567, 1]),
    ("1,234,567.25 1", ";", [1234567.25, 1]),
    ("12,5 12.5", ";", "text"),
    ("1'234 1’234", ",", [1234, 1234]),
    ("1\u202f234,5 1\u00a0234", ";", [1234.5, 1234]),
    ("$5 -$7.50 $1,200", ",", [5, -7.5, 1200]),
    ("5% 12.5%", ",", [5, 12.5]),
    ("5€ 12,5€", ";", [5, 12.5]),
    ("$5 €5", ",", "text"),
    ("12,34,567", ",", "text"),
    ("1 2 n/a NULL", ",", [1, 2, None, None]),
    ("NA US -", ",", "text"),
    ("1 2 about", ",", [1, 2, "about"]),
    ("1 some more text", ",", "text"),
    ("1_000 2_000", ",", "text"),
    ("٣ ٤", ",", "text"),
]


@pytest.mark.parametrize(("cells", "delimiter", "expected"), NUMBERS)
def test_numbers(cells: str, delimiter: str, expected: list[Any] | str) -> None:
    given_cells = cells.split(" ")
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows([("n", "t"), *((cell, "x") for cell in given_cells)])
    values = names_of(select(written.getvalue()), "n")
    assert values == (given_cells if expected == "text" else expected)


def test_decimal_sign() -> None:
    unclear = "day;price\nMon;1.234\nTue;5.678\n"
    found = select(unclear, where=[{"column": "price", "op": ">", "value": 2}])
    assert found["ok"] is False
    assert "'1.234' may be 1234 or 1.234; say which with `decimal`" in found["hint"]
    total = [{"function": "sum", "column": "price"}]
    assert "say which" in group(unclear, aggregates=total)["hint"]
    assert group(unclear, decimal=",", aggregates=total)["rows"] == [{"sum_price": 6912}]
    assert group(unclear, decimal=".", aggregates=total)["rows"] == [{"sum_price": 6.912}]
    settled = unclear.replace("day", "rate").replace("Mon", "0,5").replace("Tue", "1,5")
    assert group(settled, aggregates=total)["rows"] == [{"sum_price": 6912}]


# --- describing


def test_describe() -> None:
    result = describe(SALES)
    assert result["tableRows"] == 5
    facts = {row["column"]: row for row in result["rows"]}
    assert {name: (f["type"], f["missing"], f["distinct"]) for name, f in facts.items()} == {
        "region": ("text", 0, 4),
        "rep": ("text", 1, 4),
        "amount": ("number", 1, 4),
        "day": ("date", 0, 4),
        "paid": ("text", 1, 2),
    }
    amount = facts["amount"]
    assert [amount[key] for key in ("min", "max", "mean", "median")] == [9.5, 1000, 302.5, 100.25]
    assert [facts["day"][key] for key in ("min", "max", "mean")] == ["2024-04-30", "2024-05-03", None]
    assert facts["region"]["min"] is None
    assert facts["rep"]["samples"] == ["Ann", "Ben", "Zoë"]
    assert "| amount | number | 1 | 4 | 9.5 | 1000 | 302.5 | 100.25 | 120.50; 80; 1000 |" in result["markdown"]
    assert "5 rows, 5 columns." in result["markdown"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a\n1\n2", "integer"),
        ("a\n1\n2.5", "number"),
        ("a\n$1\n$2.5", "number in $"),
        ("a\n1\n2\nx", "mixed"),
        ("a,b\n,1", "empty"),
        ("a\n2024-05-01T10:30:00Z\n2024-05-01", "date"),
        ("a\n2024-05-01\nlater", "text"),
        ("a\n007\n8", "text"),
        ('[{"a":true},{"a":false}]', "boolean"),
        ('[{"a":true},{"a":1}]', "mixed"),
    ],
)
def test_types(text: str, kind: str) -> None:
    assert describe(text)["rows"][0]["type"] == kind


def test_describe_some_columns_of_many() -> None:
    wide = json.dumps([{f"c{n}": n for n in range(150)}])
    result = describe(wide)
    assert (result["returned"], result["rows"][-1]["column"]) == (100, "c99")
    assert "150 columns; the first 100 columns are described" in result["markdown"]
    assert names_of(describe(wide, columns=["c149", "C3"]), "column") == ["c149", "c3"]


# --- conditions

#: condition -> the reps' rows that meet it, counted from 0
MET: list[tuple[dict[str, Any], list[int]]] = [
    ({"column": "region", "op": "=", "value": "NORTH"}, [0, 2]),
    ({"column": "region", "op": "!=", "value": "north"}, [1, 3, 4]),
    ({"column": "paid", "op": "!=", "value": "yes"}, [1, 3, 4]),
    ({"column": "rep", "op": "=", "value": "Zoe\u0308"}, [2]),
    ({"column": "rep", "op": "=", "value": "Zoe"}, []),
    ({"column": "amount", "op": "=", "value": 80.0}, [1]),
    ({"column": "amount", "op": "=", "value": "120.5"}, [0]),
    ({"column": "amount", "op": "=", "value": "a lot"}, []),
    ({"column": "amount", "op": ">", "value": 80}, [0, 2]),
    ({"column": "amount", "op": ">=", "value": "80"}, [0, 1, 2]),
    ({"column": "amount", "op": "<", "value": 80}, [3]),
    ({"column": "amount", "op": "<=", "value": 0}, []),
    ({"column": "amount", "op": "contains", "value": "0.5"}, [0]),
    ({"column": "day", "op": ">", "value": "2024-05-02"}, [3, 4]),
    ({"column": "day", "op": "<", "value": "2024-05"}, [2]),
    ({"column": "rep", "op": "contains", "value": "N"}, [0, 1, 3]),
    ({"column": "rep", "op": "in", "value": ["ann", "zoë"]}, [0, 2, 3]),
    ({"column": "amount", "op": "in", "value": [80, "9.5", None]}, [1, 3]),
    ({"column": "amount", "op": "is_empty"}, [4]),
    ({"column": " Amount ", "op": "not_empty"}, [0, 1, 2, 3]),
]


@pytest.mark.parametrize(("condition", "rows"), MET)
def test_conditions(condition: dict[str, Any], rows: list[int]) -> None:
    found = select(SALES, where=[condition])
    assert found["ok"], found
    assert found["rows"] == [select(SALES)["rows"][row] for row in rows]
    assert (found["found"], found["tableRows"]) == (len(rows), 5)
    assert f"{len(rows)} of 5 rows." in found["markdown"]


def test_all_and_any() -> None:
    where = [{"column": "region", "op": "=", "value": "south"}, {"column": "paid", "op": "=", "value": "no"}]
    assert names_of(select(SALES, where=where), "rep") == ["ann"]
    assert names_of(select(SALES, where=where, match="any"), "rep") == ["Ben", "ann", None]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"op": ">", "value": 1}, [2, 30]),
        ({"op": ">", "value": "a"}, ["b"]),
        ({"op": "=", "value": 2}, [2]),
        ({"op": "=", "value": True}, [True]),
        ({"op": "!=", "value": 2}, [1, "b", None, True, 30]),
    ],
)
def test_a_mixed_column(condition: dict[str, Any], found: list[Any]) -> None:
    text = json.dumps([{"a": a} for a in (1, 2, "b", None, True, 30)])
    values = names_of(select(text, where=[{"column": "a", **condition}]), "a")
    assert [(type(value), value) for value in values] == [(type(value), value) for value in found]


# --- order


def test_sort() -> None:
    def order(*sort: dict[str, str]) -> list[Any]:
        return names_of(select(SALES, sort=sort), "amount")

    assert order({"column": "amount"}) == [9.5, 80, 120.5, 1000, None]
    assert order({"column": "amount", "order": "desc"}) == [1000, 120.5, 80, 9.5, None]
    assert order({"column": "region"}, {"column": "amount", "order": "desc"}) == [None, 1000, 120.5, 80, 9.5]
    assert order({"column": "paid", "order": "desc"}) == [120.5, 1000, 9.5, None, 80]


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        (["10", "9", "1e1"], ["9", "10", "1e1"]),
        (["zebra", "Österreich", "Ottawa", "apple"], ["apple", "Österreich", "Ottawa", "zebra"]),
        (["010", "9", "10"], ["010", "10", "9"]),
        (["b", "2", "10", "1", "-"], ["1", "2", "10", "-", "b"]),
    ],
)
def test_sorted_texts(values: list[str], ordered: list[str]) -> None:
    shown = select("a\n" + "\n".join(values), sort=[{"column": "a"}])["markdown"].splitlines()
    assert [line.strip("| ") for line in shown[2 : 2 + len(values)]] == ordered


def test_columns_and_limit() -> None:
    result = select(SALES, columns=["amount", "Rep", "amount"], limit=2)
    assert result["columns"] == ["amount", "rep"]
    assert (result["returned"], result["found"]) == (2, 5)
    assert result["markdown"].endswith("5 rows; the first 2 are shown.")
    many = "n\n" + "\n".join(map(str, range(500)))
    assert (select(many)["returned"], select(many, limit=200)["returned"], select(many)["found"]) == (20, 200, 500)


CELLS = st.none() | st.integers(-99, 99) | st.sampled_from(["a", "B", "b|c", "x\ny", "Ä", "1.5", "07", "", " ", "N/A"])
OPS = st.sampled_from(["=", "<", "<=", ">", ">=", "contains", "is_empty"])


@settings(deadline=None)
@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=12),
    OPS,
    st.integers(-9, 9) | st.sampled_from(["a", "b", "1.5", "z"]),
    st.sampled_from(["asc", "desc"]),
)
def test_no_row_is_lost_or_invented(cells: list[tuple[Any, Any]], op: str, value: Any, order: str) -> None:
    """What meets a condition and what does not are together the table; sorting changes only the order."""
    written = io.StringIO()
    csv.writer(written).writerows([("id", "a", "b"), *((f"r{n}", *row) for n, row in enumerate(cells))])
    sort = [{"column": "b", "order": order}, {"column": "a"}]
    whole = select(written.getvalue(), limit=200)
    rows = {row["id"]: row for row in whole["rows"]}
    assert len(rows) == len(cells)
    found = select(written.getvalue(), where=[{"column": "a", "op": op, "value": value}], sort=sort, limit=200)
    if not found["ok"]:  # numbers against texts
        assert op in ("<", "<=", ">", ">=")
        return
    ids = names_of(found, "id")
    assert len(set(ids)) == len(ids) == found["found"]
    assert all(row == rows[row["id"]] for row in found["rows"])
    opposite = {"=": "!=", "is_empty": "not_empty"}.get(op)
    if opposite:
        others = select(written.getvalue(), where=[{"column": "a", "op": opposite, "value": value}], sort=sort)
        assert sorted(ids + names_of(others, "id")) == sorted(rows)
    missing = [row["b"] is None for row in found["rows"]]
    assert missing == sorted(missing)


@settings(deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12))
def test_groups_hold_every_row_once(cells: list[tuple[Any, Any]]) -> None:
    text = json.dumps([{"a": a, "b": b} for a, b in cells])
    result = group(text, by=["a"], aggregates=[{"function": "count"}, {"function": "count", "column": "b"}], limit=200)
    assert sum(names_of(result, "count")) == len(cells)
    assert sum(names_of(result, "count_b")) == sum(row["b"] is not None for row in select(text, limit=200)["rows"])
    assert len({json.dumps(value) for value in names_of(result, "a")}) == result["found"]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), max_size=8), min_size=2, max_size=2))
)
def test_markdown_reads_back(cells: list[list[str]]) -> None:
    """Every cell stands in the Markdown as it is, and what Markdown would take as a sign is escaped."""
    written = [["id", "first", "second"], *([f"r{n}", *row] for n, row in enumerate(cells))]
    first = select(json.dumps(written), limit=200)
    again = select(first["markdown"], limit=200, decimal=".")
    assert again["rows"] == select(json.dumps(written), limit=200, decimal=".")["rows"]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("a|b", r"a\|b"),
        ("one\ntwo\r\n\nthree", "one ↵ two ↵ ↵ three"),
        ("![x](http://a.example/?q)", r"!\[x\](http://a.example/?q)"),
        ("<b>x</b>", r"\<b\>x\</b\>"),
        ("*a* `b` ~c~ \\d", r"\*a\* \`b\` \~c\~ \\d"),
        ("_a_b_", r"\_a_b\_"),
        ("unit_price", "unit_price"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_markdown_cells(cell: str, shown: str) -> None:
    result = select(json.dumps([{"a": cell, cell: 1}]), columns=["a"])
    assert result["markdown"].splitlines()[2] == f"| {shown} |"
    assert result["rows"] == [{"a": cell}]


# --- groups


def test_group() -> None:
    functions = ("count", "sum", "mean", "min", "max", "median", "distinct")
    result = group(
        SALES,
        by=["region"],
        aggregates=[{"function": function, "column": "amount"} for function in functions],
        sort=[{"column": "sum_amount", "order": "desc"}],
    )
    assert [list(row.values()) for row in result["rows"]] == [
        ["north", 1, 1000, 1000, 1000, 1000, 1000, 1],
        ["North", 1, 120.5, 120.5, 120.5, 120.5, 120.5, 1],
        ["South", 2, 89.5, 44.75, 9.5, 80, 44.75, 2],
        ["East", 0, None, None, None, None, None, 0],
    ]
    assert result["markdown"].endswith("4 groups of 5 rows.")
    assert "| South | 2 | 89.5 | 44.75 | 9.5 | 80 | 44.75 | 2 |" in result["markdown"]


def test_group_by_several_with_conditions() -> None:
    result = group(
        SALES,
        by=["region", "paid"],
        where=[{"column": "day", "op": ">=", "value": "2024-05-01"}],
        aggregates=[{"function": "max", "column": "day", "as": "last"}, {"function": "count"}],
        limit=2,
    )
    assert result["rows"] == [
        {"region": "North", "paid": "yes", "last": "2024-05-01", "count": 1},
        {"region": "South", "paid": None, "last": "2024-05-02", "count": 1},
    ]
    assert result["markdown"].endswith("4 groups of 4 rows (the table has 5); the first 2 are shown.")


def test_totals() -> None:
    sums = [{"function": "sum", "column": "x"}, {"function": "mean", "column": "x"}]
    assert group("x\n0.1\n0.2\n0.3\n", aggregates=sums)["rows"] == [{"sum_x": 0.6, "mean_x": 0.2}]
    assert group(SALES)["rows"] == [{"count": 5}]
    assert group("x,y\n", aggregates=sums)["rows"] == [{"sum_x": None, "mean_x": None}]
    assert group("x,y\n", by=["y"])["rows"] == []
    assert group("x\n9007199254740993\n1\n", aggregates=sums[:1])["ok"] is False, "an id is not summed"
    assert group('[{"x":9007199254740993},{"x":1}]', aggregates=sums[:1])["rows"] == [{"sum_x": 9007199254740994}]
    assert group("x\n1e308\n1e308\n", aggregates=sums)["rows"] == [{"sum_x": None, "mean_x": None}]
    assert group("x\n1\n3\nabout 5\n", aggregates=[*sums, {"function": "max", "column": "x"}]) | {"markdown": ""} == {
        "ok": True,
        "markdown": "",
        "columns": ["sum_x", "mean_x", "max_x"],
        "rows": [{"sum_x": 4, "mean_x": 2, "max_x": 3}],
        "returned": 1,
        "found": 1,
        "tableRows": 3,
        "notes": [f"{each.title()} of 'x' leaves out 1 text such as 'about 5'." for each in ("sum", "mean", "max")],
    }


def test_true_and_1_are_two_groups() -> None:
    text = '[{"a":true},{"a":1},{"a":"1"},{"a":1.0},{"a":null}]'
    assert [json.dumps(v) for v in names_of(group(text, by=["a"]), "a")] == ["true", "1", "null"]
    assert names_of(group(text, by=["a"]), "count") == [1, 3, 1]


# --- what cannot be done

#: what it is -> the tool, its arguments, what the error and the hint say, and one of what is known
REFUSED: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "empty": (describe, {"text": " \n"}, "there is no table: the text is empty", ""),
    "prose": (describe, {"text": "What is in the table?"}, "there is no table: the text is one line", ""),
    "only delimiters": (describe, {"text": ";;\n;;"}, "no cell has anything in it", ""),
    "JSON cut": (describe, {"text": '[{"a":1},{"a"'}, "the JSON cannot be read: Expecting ':' delimiter: line 1", ""),
    "JSON too deep": (describe, {"text": "[" * 100_000}, "it is nested deeper than 64", ""),
    "JSON object": (describe, {"text": '{"a":1,"b":2}'}, "there is no table in the JSON object", ""),
    "JSON empty": (describe, {"text": '{"data":[]}'}, "there is no table", ""),
    "JSON without columns": (describe, {"text": "[{},{}]"}, "there is no table", ""),
    "JSON of two kinds": (
        describe,
        {"text": '[{"a":1},{"a":2},[3]]'},
        "item 3 of the JSON list is of another kind",
        "",
    ),
    "open quote": (select, {"text": 'a,b\n1,"x\ny"\n2,"z\n3,4\n'}, "line 4: a quotation mark opens a cell", ""),
    "column": (select, {"columns": ["rep", "amuont"]}, "columns[1]: the table has no column 'amuont'", "amount"),
    "column of a condition": (
        select,
        {"where": [{"column": "regions", "op": "is_empty"}]},
        "where[0].column: the table has no column 'regions'",
        "region",
    ),
    "column of a sort key": (select, {"sort": [{"column": "days"}]}, "sort[0].column: the table has no column", "day"),
    "column of groups": (group, {"by": ["reg"]}, "by[0]: the table has no column 'reg'", "region"),
    "sort of groups": (
        group,
        {"by": ["rep"], "sort": [{"column": "amount"}]},
        "sort[0].column: the table has no column 'amount'",
        "count",
    ),
    "op": (select, {"where": [{"column": "rep", "op": "contain", "value": "x"}]}, "where[0].op: 'contain'", "contains"),
    "no value": (select, {"where": [{"column": "rep", "op": "="}]}, "where[0].value: '=' needs a value", ""),
    "a list": (select, {"where": [{"column": "rep", "op": "=", "value": ["a"]}]}, "'=' takes one value", ""),
    "no list": (select, {"where": [{"column": "rep", "op": "in", "value": "a"}]}, "'in' takes a list of values", ""),
    "text with a number": (
        select,
        {"where": [{"column": "rep", "op": ">", "value": 5}]},
        "where[0]: 'rep' is text, such as 'Ann'; > cannot compare it with 5",
        "",
    ),
    "number with a text": (
        select,
        {"where": [{"column": "amount", "op": "<", "value": "few"}]},
        "where[0]: 'amount' is number, such as '120.50'; < cannot compare it with 'few'",
        "",
    ),
    "match": (select, {"where": [{"column": "rep", "op": "is_empty"}], "match": "none"}, "match: 'none'", "any"),
    "order": (select, {"sort": [{"column": "rep", "order": "down"}]}, "sort[0].order: 'down'", "desc"),
    "truths in order": (
        select,
        {"text": '[{"a":true}]', "where": [{"column": "a", "op": ">", "value": "no"}]},
        "where[0]: 'a' is boolean, such as 'true'; > cannot compare it with 'no'",
        "",
    ),
    "no rows": (select, {"limit": 0}, "limit: must be between 1 and 200, not 0", ""),
    "too many rows": (group, {"limit": 201}, "limit: must be between 1 and 200, not 201", ""),
    "function": (
        group,
        {"aggregates": [{"function": "avg", "column": "amount"}]},
        "aggregates[0].function: 'avg'",
        "mean",
    ),
    "function without a column": (group, {"aggregates": [{"function": "sum"}]}, "sum needs a column", "amount"),
    "sum of texts": (
        group,
        {"aggregates": [{"function": "count"}, {"function": "sum", "column": "rep"}]},
        "aggregates[1]: sum needs numbers, and 'rep' is text, such as 'Ann'",
        "amount",
    ),
    "one name twice": (
        group,
        {"by": ["rep"], "aggregates": [{"function": "count", "as": "rep"}]},
        "two columns of the result are called 'rep'",
        "",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    tool, args, error, known = REFUSED[kind]
    result = tool(**{"text": SALES, "as_answer": True, **args})
    assert result["ok"] is False
    assert error in result["error"]
    assert set(result) == {"ok", "error", "hint", "known"}
    assert result["hint"] or result["known"]
    assert known in ("", *result["known"])


def test_the_nearest_column_is_named() -> None:
    assert "did you mean 'amount'?" in select(SALES, columns=["Amuont"])["hint"]
    assert "did you mean 'contains'?" in select(SALES, where=[{"column": "rep", "op": "contain"}])["hint"]


def test_a_hundred_thousand_rows() -> None:
    """Some seconds even in a browser; the bound here is for a busy machine."""
    lines = [f"{n},{'NSEW'[n % 4]},{n % 977 / 4:.2f},2024-01-{n % 28 + 1:02d},name {n % 5000}" for n in range(100_000)]
    text = "id,region,amount,day,name\n" + "\n".join(lines)
    started = time.process_time()
    assert describe(text)["tableRows"] == 100_000
    found = select(text, where=[{"column": "amount", "op": ">", "value": 200}], sort=[{"column": "name"}])
    assert (found["found"], found["returned"]) == (sum(n % 977 / 4 > 200 for n in range(100_000)), 20)
    assert names_of(group(text, by=["region"]), "count") == [25_000] * 4
    assert time.process_time() - started < 30


# --- through the runtime


def test_arguments_by_other_names() -> None:
    checked = check_against(
        SKILL.tools["group_rows"].parameters,
        {
            "csv": "a,b\n1,2",
            "groupBy": ["a"],
            "filters": [{"field": "a", "operator": "=", "value": 1}],
            "metrics": [{"fn": "sum", "column": "b"}],
            "order_by": [{"column": "sum_b", "direction": "desc"}],
            "top": 3,
        },
    )
    assert checked.fault is None
    assert checked.args == {
        "text": "a,b\n1,2",
        "by": ["a"],
        "where": [{"column": "a", "op": "=", "value": 1}],
        "aggregates": [{"function": "sum", "column": "b"}],
        "sort": [{"column": "sum_b", "order": "desc"}],
        "limit": 3,
    }


@pytest.mark.parametrize(
    ("args", "key", "reason"),
    [
        ({}, "text", "missing"),
        ({"text": "a", "where": [{"column": "a", "op": "=="}]}, "where[0].op", "enum"),
        ({"text": "a", "where": [{"op": "="}]}, "where[0].column", "missing"),
        ({"text": "a", "where": {"column": "a"}}, "where", "type"),
        ({"text": "a", "where": [{"column": "a", "op": "=", "value": {"b": 1}}]}, "where[0].value", "type"),
        ({"text": 5}, "text", "type"),
        ({"text": "a", "sort": ["a"]}, "sort[0]", "type"),
        ({"text": "a", "decimal": ";"}, "decimal", "enum"),
    ],
)
def test_arguments_that_do_not_fit(args: dict[str, Any], key: str, reason: str) -> None:
    fault = check_against(SKILL.tools["select_rows"].parameters, args).fault
    assert fault is not None
    assert (fault.key, fault.reason) == (key, reason)


HEAD = [
    calls(("read_agent_skill", {"skillName": "data-table"})),
    calls(("use_agent_skill", {"skillName": "data-table"})),
]
TOP = {
    "text": SALES,
    "by": ["region"],
    "aggregates": [{"function": "sum", "column": "amount"}],
    "sort": [{"column": "sum_amount", "order": "desc"}],
    "limit": 1,
}


def execute(tool: str, **args: Any) -> dict[str, Any]:
    return calls(("execute_skill_tool", {"toolName": tool, "args": args}))


async def test_a_run_that_looks_corrects_itself_and_answers() -> None:
    replies = [
        execute("describe_table", text=SALES),
        execute("group_rows", **{**TOP, "by": ["regoin"]}),
        execute("group_rows", **TOP),
        {"text": "north sold most: 1000."},
    ]
    runtime, model = scripted([*HEAD, *replies], skills=[SKILL])
    result = await runtime.run(f"Which region sold most?\n\n{SALES}")
    model.check()
    assert (result.status, result.text) == ("completed", "north sold most: 1000.")
    seen = [message.text for message in model.requests[-1].messages if message.tool_name == "execute_skill_tool"]
    looked, refused, answered = (json.JSONDecoder().raw_decode(text[text.index("{") :])[0] for text in seen)
    assert looked["resultKind"] == "lookup"
    assert "did you mean 'region'?" in refused["result"]["hint"]
    assert answered["result"]["rows"] == [{"region": "north", "sum_amount": 1000}]
    assert "resultKind" not in answered
    assert details(result, "direct-final-emitted") == []


async def test_a_table_that_is_the_answer_ends_the_run() -> None:
    args = {"table": [{"n": 2, "t": "a|b"}, {"n": 10, "t": "x"}], "sort": [{"column": "n", "order": "desc"}]}
    runtime, model = scripted([*HEAD, execute("select_rows", **args, final=True)], skills=[SKILL])
    result = await runtime.run("Sort this by n, largest first.")
    model.check()
    assert result.text == "| n | t |\n| ---: | --- |\n| 10 | x |\n| 2 | a\\|b |\n\n2 rows."
    assert details(result, "direct-final-emitted") == [{"reason": "direct-emit-final"}]


async def test_what_failed_is_never_the_answer() -> None:
    replies = [execute("select_rows", text=SALES, columns=["nmae"], as_answer=True), {"text": "Which column?"}]
    runtime, model = scripted([*HEAD, *replies], skills=[SKILL])
    result = await runtime.run("Show the names.")
    model.check()
    assert result.text == "Which column?"
