"""Questions to a table that is given as text: describe it, select and sort rows, group them. Rules: references/.

Cells are kept as they stand and shown so; what is compared, sorted and computed are their values, in which numbers are
numbers and what is missing is None.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, wraps
from itertools import islice, takewhile, zip_longest
from typing import Any

from agrun_wasm import skill_tool
from agrun_wasm.text.strict_json import MAX_DEPTH, nesting_depth, without_surrogates

#: what a number is: a bool is none
NUMBERS = (int, float)
Cell = str | int | float | bool | None

DELIMITERS = "\t;|,"
ROWS_SHOWN, MOST_ROWS, MOST_COLUMNS = 20, 200, 100
CELL_SHOWN = 200

_GROUPS = " '’\u00a0\u202f\u2009"
_WHOLE = r"(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}([{0}])[0-9]{{3}}(?:\1[0-9]{{3}})*|(?={1}[0-9]))"
_NUMBER = r"[-+−]?{0}(?:{1}[0-9]+)?(?:[eE][-+]?[0-9]+)?"
#: is the decimal sign a comma? -> how its numbers are written
FORMS = {
    False: re.compile(_NUMBER.format(_WHOLE.format("," + _GROUPS, r"\."), r"\.")),
    True: re.compile(_NUMBER.format(_WHOLE.format("." + _GROUPS, ","), ",")),
}
_PLAIN = {comma: str.maketrans({"−": "-", **dict.fromkeys(_GROUPS + (",." if comma else ","))}) for comma in FORMS}
_PLAIN[True][ord(",")], _PLAIN[True][ord(".")] = ".", None
#: a thousand and more, or one and three decimals
UNCLEAR = re.compile(r"[-+−]?[1-9][0-9]{0,2}[.,][0-9]{3}")
#: digits that are a name: a leading zero, or more of them than a float keeps
CODE = re.compile(r"[-+−]?0[0-9]+|[0-9]{16,}")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}[0-9:.]*(?:Z|[-+][0-9:]{4,6})?)?")
NO_TABLE = "give the CSV or JSON itself as `text`"
SHAPES = "give a list of objects, a list of lists with the names first, or an object with a list for each column"
UNITS = "$€£¥₹%"
#: what stands for nothing in a column whose other values are all numbers
MARKERS = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "-", "–", "—", "?"})
#: a low line inside a word marks nothing
_SPECIAL = re.compile(r"([\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_]))")
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>|~])")
_BAR = re.compile(r"(?<!\\)\|")

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Problem(Exception):
    """What a tool answers instead of a table: what is wrong, what to do, and what would have been known."""

    def __init__(self, error: str, hint: str = "", known: Iterable[str] = ()) -> None:
        super().__init__(error)
        self.answer = {"ok": False, "error": error, "hint": hint, "known": list(known)[:MOST_COLUMNS]}


def near(name: str, known: Iterable[str]) -> str:
    """`did you mean ...?` for the nearest of the known names, or nothing."""
    folded = {fold(each): each for each in known}
    close = get_close_matches(fold(name), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[close[0]]!r}? " if close else ""


def counted(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else noun + 's'}"


# --- cells


def is_number(value: Any) -> bool:
    return type(value) in NUMBERS


def shown(cell: Cell) -> str:
    """A cell as text, as it stands."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else _compact(cell)


def fold(text: str) -> str:
    """What texts share that are equal but for letter case."""
    return unicodedata.normalize("NFC", text).casefold()


def sort_key(value: Cell) -> tuple[int, float, str, str]:
    """Numbers before texts; texts without regard to letter case and accents first."""
    if is_number(value):
        return 0, value, "", ""  # type: ignore[return-value]
    text = fold(shown(value))
    if text.isascii():
        return 1, 0, text, text
    return 1, 0, "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)), text


def number_in(text: str, comma: bool, unit: str = "") -> int | float | None:
    """The number that a text writes with this decimal sign, None where it writes none."""
    text = without_unit(text, unit)
    if not FORMS[comma].fullmatch(text):
        return None
    plain = text if text.isdigit() else text.translate(_PLAIN[comma])
    if len(plain) > 300:
        return None
    value = int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    return value if math.isfinite(value) else None


def unit_of(text: str) -> str:
    ends = text.lstrip("-+−")[:1] + text[-1:]
    return ends[0] if ends[0] in UNITS else ends[-1] if ends[-1] in UNITS else ""


def without_unit(text: str, unit: str) -> str:
    return text.replace(unit, "", 1).replace("- ", "-").strip() if unit and unit_of(text) == unit else text


# --- columns


@dataclass
class Column:
    """One column. `values` beside its `cells`: numbers as numbers, None for what is missing; `kind` names them.

    `number` reads a text as this column writes numbers, `note` says what of that a reader must know.
    """

    name: str
    cells: Sequence[Cell]
    values: Sequence[Cell]
    kind: str = ""
    unit: str = ""
    note: str = ""
    number: Callable[[str], int | float | None] = lambda _text: None

    def __post_init__(self) -> None:
        self.kind = self.kind or kind_of(self.values)


def kind_of(values: Iterable[Cell]) -> str:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {str}:
        return "date" if all(value is None or DATE.fullmatch(str(value)) for value in values) else "text"
    if kinds <= {int, float} and kinds:
        return "integer" if kinds == {int} else "number"
    return "empty" if not kinds else "boolean" if kinds == {bool} else "mixed"


@dataclass(frozen=True)
class Reading:
    """How the texts of a column are read: the decimal sign (None: they are no numbers), and how sure that is."""

    comma: bool | None = None
    unit: str = ""
    settled: bool = False
    note: str = ""


def reading_of(texts: set[str], given: bool | None, usual: Callable[[], bool | None]) -> Reading:
    """`given` is the decimal sign that the caller named; `usual` the table's, asked only where this is unclear."""
    texts = {text for text in texts if text.casefold() not in MARKERS}
    units = {unit_of(text) for text in texts}
    unit = units.pop() if len(units) == 1 else ""
    bare = {without_unit(text, unit) for text in texts} if unit else texts
    if not bare or any(CODE.fullmatch(text) for text in bare):
        return Reading()
    point, comma = ({text for text in bare if FORMS[sign].fullmatch(text)} for sign in (False, True))
    if 2 * len(point | comma) < len(bare):
        return Reading()
    if given is not None:
        return Reading(given, unit)
    only_point, only_comma = point - comma, comma - point
    if only_point and only_comma:
        return Reading(note=f"stays text: {min(only_point)!r} and {min(only_comma)!r} write decimals in two ways")
    if only_point or only_comma:
        return Reading(bool(only_comma), unit, settled=point | comma == bare)
    unclear = min((text for text in bare if UNCLEAR.fullmatch(text)), default=None)
    if unclear is None:
        return Reading(False, unit)
    if (sign := usual()) is not None:
        return Reading(sign, unit)
    thousands, decimal = (re.sub("[.,]", part, unclear) for part in ("", "."))
    return Reading(note=f"stays text: {unclear!r} may be {thousands} or {decimal}; say which with `decimal`")


class Table:
    """Named columns of one length, which are typed when they are asked for; `notes` on how the text was read."""

    def __init__(self, cells: Mapping[str, Sequence[Cell]], size: int, notes: Sequence[str] = ()) -> None:
        self.names = list(cells)
        self.size = size
        self.given: bool | None = None
        #: the decimal sign to expect where no column settles it
        self.expected: bool | None = False
        self._cells = cells
        self._notes = list(notes)
        self._typed: dict[str, Column] = {}

    @classmethod
    def of(cls, columns: Sequence[Column], size: int, notes: Sequence[str] = ()) -> Table:
        """A table of columns that are typed already."""
        table = cls({column.name: column.cells for column in columns}, size, notes)
        table._typed = {column.name: column for column in columns}
        return table

    def name_of(self, asked: str, at: str) -> str:
        """The column's name, letter case and blanks aside. Raises Problem with the nearest one."""
        if asked in self._cells:
            return asked
        fitting = [name for name in self.names if fold(name) == fold(" ".join(str(asked).split()))]
        if len(fitting) == 1:
            return fitting[0]
        raise Problem(
            f"{at}: the table has no column {asked!r}", f"{near(str(asked), self.names)}`known` lists them", self.names
        )

    def column(self, asked: str, at: str) -> Column:
        name = self.name_of(asked, at)
        if name not in self._typed:
            self._typed[name] = self._type(name)
        return self._typed[name]

    @property
    def notes(self) -> list[str]:
        return [*self._notes, *filter(None, map(hint_of, self._typed.values()))]

    def note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _texts(self, name: str) -> set[str]:
        return {cell for cell in self._cells[name] if isinstance(cell, str)}

    def _usual(self) -> bool | None:
        readings = [reading_of(self._texts(name), None, lambda: None) for name in self.names]
        signs = {reading.comma for reading in readings if reading.settled}
        return self.expected if not signs else signs.pop() if len(signs) == 1 else None

    def _type(self, name: str) -> Column:
        cells, texts = self._cells[name], self._texts(name)
        reading = reading_of(texts, self.given, self._usual)
        if reading.comma is None:
            return Column(name, cells, cells, note=reading.note)
        comma, unit = reading.comma, reading.unit
        read: dict[Any, Cell] = {text: number_in(text, comma, unit) for text in texts}
        others = [text for text, number in read.items() if number is None]
        if others and all(text.casefold() in MARKERS for text in others):
            note = f"takes {', '.join(map(repr, sorted(others)))} as missing"
        else:
            note = ""
            for text in others:
                del read[text]
        if comma and any("," in text or "." in text for text in read):
            note = f"is read with decimal commas{' and ' + note if note else ''}"
        values = [read.get(cell, cell) if isinstance(cell, str) else cell for cell in cells]
        return Column(name, cells, values, unit=unit, note=note, number=lambda text: number_in(text, comma, unit))


# --- reading


def read_table(text: Any, header: bool = True, decimal: str | None = None) -> Table:
    """The table in a text (or in JSON that was not put into one). Raises Problem where there is none."""
    table = json_table(text, header) if not isinstance(text, str) else text_table(cleaned(text), header)
    table.given = None if decimal is None else decimal == ","
    return table


def cleaned(text: str) -> str:
    """Without a byte order mark, blank lines around, and a fence of Markdown."""
    text = text.lstrip("\ufeff").strip("\r\n")
    lines = text.splitlines()
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        text = "\n".join(lines[1:-1])
    if not text.strip():
        raise Problem("there is no table: the text is empty", NO_TABLE)
    return text


def text_table(text: str, header: bool) -> Table:
    if text.lstrip()[0] in "[{":
        return json_table(json_value(text), header)
    first, _, rest = text.partition("\n")
    rule = rest.partition("\n")[0]
    if "|" in first and "-" in rule and not rule.strip("|:- \t\r"):
        lines = [bare_line(line) for line in takewhile(str.strip, text.splitlines())]
        rows = [[_ESCAPED.sub(r"\1", cell) for cell in _BAR.split(line)] for line in lines]
        table = table_of([rows[0], *rows[2:]], header)
        table.expected = None
        return table
    if first.startswith("sep=") and len(first.strip()) == 5:
        delimiter, text = first[4], rest
    else:
        delimiter = delimiter_of(text)
    rows, notes = csv_rows(text, delimiter)
    if sum(map(len, rows)) == 1:
        raise Problem("there is no table: the text is one line that nothing parts", NO_TABLE)
    table = table_of(rows, header, notes)
    table.expected = False if delimiter == "," else None
    return table


def bare_line(line: str) -> str:
    """A row of a Markdown table without its outer bars."""
    return line.strip().removeprefix("|").removesuffix("|")


def delimiter_of(text: str) -> str:
    """The delimiter that cuts most rows as it cuts the header, then the one that cuts it into most cells."""

    def fit(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(text[:50_000], newline=""), delimiter=delimiter, skipinitialspace=True)
        widths = [len(row) for row in islice(reader, 60) if row]
        return (widths.count(widths[0]) / len(widths), widths[0]) if widths and widths[0] > 1 else (0, 1)

    best = max(DELIMITERS, key=fit)
    return best if fit(best)[1] > 1 else ","


def csv_rows(text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    """The rows, and a note where quotation marks stand at odd places. An open quote is a Problem, never a long cell."""

    def reader(strict: bool) -> Any:
        source = io.StringIO(text, newline="")
        return csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=strict)

    rows: list[list[str]] = []
    records, line = reader(strict=True), 1
    try:
        for row in records:
            rows.append(row)
            line = records.line_num + 1
    except csv.Error as fault:
        if "expected after" in str(fault):
            return list(reader(strict=False)), [f"line {line} has quotation marks at odd places"]
        raise Problem(
            f"line {line}: a quotation mark opens a cell and is not closed ({fault})",
            'close it, or double the quotation marks that belong to the cell: "" for each',
        ) from None
    return rows, []


def json_value(text: str) -> Any:
    """The JSON of a text, JSON Lines too."""
    try:
        return json_of(text)
    except ValueError as fault:
        try:
            return [json_of(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise Problem(f"the JSON cannot be read: {fault}", "give it whole and valid, or give CSV") from None


def json_of(text: str) -> Any:
    """One JSON value: NaN and the infinities are missing, half of a surrogate pair is U+FFFD. Raises ValueError."""
    if nesting_depth(text) > MAX_DEPTH:  # in a browser the parser's own depth would end the page
        raise ValueError(f"it is nested deeper than {MAX_DEPTH}")
    value = json.loads(text, parse_constant=lambda _name: None)
    return json.loads(without_surrogates(_compact(value))) if "\\ud" in text.lower() else value


def json_table(value: Any, header: bool) -> Table:
    """A table out of a list of objects, of lists or of single values, an object of lists, or one that holds a list."""
    if isinstance(value, Mapping):
        return table_of_object(value, header)
    if not isinstance(value, list) or not value:
        raise Problem("there is no table: the JSON is no list with something in it", SHAPES)
    kinds = {Mapping if isinstance(row, Mapping) else list if isinstance(row, list) else None for row in value}
    if len(kinds) > 1:
        odd = next(
            at
            for at, row in enumerate(value, 1)
            if isinstance(row, Mapping) != isinstance(value[0], Mapping)
            or isinstance(row, list) != isinstance(value[0], list)
        )
        raise Problem(f"item {odd} of the JSON list is of another kind than the first", SHAPES)
    if kinds == {list}:
        return table_of(value, header)
    if kinds == {Mapping}:
        names = list(dict.fromkeys(name for row in value for name in row))
        return table_from(names, [[bare(row.get(name)) for row in value] for name in names], len(value))
    return table_from(["value"], [[bare(row) for row in value]], len(value))


def table_of_object(value: Mapping[str, Any], header: bool) -> Table:
    lists = {name: part for name, part in value.items() if isinstance(part, list)}
    tables = [part for part in lists.values() if part and all(isinstance(row, Mapping | list) for row in part)]
    names = next((lists[key] for key in ("columns", "headers", "header", "fields") if key in lists), None)
    if len(tables) == 1 and (names or len(lists) < len(value) or len(value) == 1):
        rows = tables[0]
        return json_table([names, *rows], True) if names and isinstance(rows[0], list) else json_table(rows, header)
    if lists and len(lists) == len(value) and any(lists.values()):
        size = max(map(len, lists.values()))
        notes = ["the lists of the object differ in length"] if len({*map(len, lists.values())}) > 1 else []
        cells = [[bare(cell) for cell in part] + [None] * (size - len(part)) for part in lists.values()]
        return table_from(list(lists), cells, size, notes)
    if len(value) == 1 and isinstance(only := next(iter(value.values())), Mapping):
        return json_table(only, header)
    raise Problem("there is no table in the JSON object", SHAPES)


def bare(cell: Any) -> Cell:
    """A cell without blanks around it, None where nothing is left; what is nested is compact JSON."""
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    return cell if cell is None or isinstance(cell, int) else _compact(cell)


def table_of(rows: Sequence[Sequence[Any]], header: bool, notes: Sequence[str] = ()) -> Table:
    """A table out of rows of cells, the names first; short rows are filled up, long ones make columns."""
    told = list(notes)
    bared = [[cell.strip() or None if type(cell) is str else bare(cell) for cell in row] for row in rows]
    kept = [row for row in bared if row.count(None) < len(row)]
    if not kept:
        raise Problem("there is no table: no cell has anything in it", NO_TABLE)
    if blank := sum(1 < len(row) == row.count(None) for row in bared):
        told.append(f"{counted(blank, 'empty row')} left out")
    names = kept.pop(0) if header else [None] * len(kept[0])
    for which, odd in (
        ("fewer", [at for at, row in enumerate(kept, 1) if len(row) < len(names)]),
        ("more", [at for at, row in enumerate(kept, 1) if len(row) - len(names) > row[len(names) :].count(None)]),
    ):
        if odd:
            told.append(f"{counted(len(odd), 'row')} with {which} cells than the first line (row {odd[0]})")
    columns = list(zip_longest(*kept)) or [()] * len(names)
    columns += [(None,) * len(kept)] * (len(names) - len(columns))
    names += [None] * (len(columns) - len(names))
    while names[-1] is None and all(cell is None for cell in columns[-1]):
        del names[-1], columns[-1]
    return table_from(names, columns, len(kept), told)


def table_from(names: Sequence[Cell], columns: Sequence[Sequence[Cell]], size: int, notes: Sequence[str] = ()) -> Table:
    """A table under names that are one line each, not empty, and different."""
    told: list[str] = []
    cells: dict[str, Sequence[Cell]] = {}
    for at, given in enumerate(names, 1):
        own = " ".join(shown(given).split())
        name = wanted = own or f"column {at}"
        number = 1
        while name in cells:
            number += 1
            name = f"{wanted} ({number})"
        if name != own:
            told.append(repr(name))
        cells[name] = columns[at - 1]
    if not cells:
        raise Problem("there is no table: it has no columns", SHAPES)
    named = [f"{', '.join(told[:10])} had no name of {'its' if len(told) == 1 else 'their'} own"] if told else []
    return Table(cells, size, [*notes, *named])


# --- conditions, order, groups


def identity(value: Cell) -> Cell:
    """What equal values share: letter case aside, and true is not 1."""
    return value if value is None or is_number(value) else fold(shown(value))


ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EMPTY = {"is_empty": True, "not_empty": False}
OPS = ("=", "!=", *ORDERS, "contains", "in", *EMPTY)


def rows_where(table: Table, where: Sequence[Mapping[str, Any]], match: str) -> list[int]:
    """The rows that meet all, or any, of the conditions; every row where there is none."""
    if not where:
        return list(range(table.size))
    if match not in COMBINED:
        raise Problem(f"match: {match!r} is unknown", "", COMBINED)
    met = [meets(table, condition, f"where[{at}]") for at, condition in enumerate(where)]
    return [row for row, each in enumerate(zip(*met, strict=True)) if COMBINED[match](each)]


COMBINED: dict[str, Callable[[Iterable[bool]], bool]] = {"all": all, "any": any}


def meets(table: Table, condition: Mapping[str, Any], at: str) -> list[bool]:
    """For each row whether it meets the condition. Nothing but `is_empty` and `!=` is met by a missing value."""
    column = table.column(condition.get("column", ""), f"{at}.column")
    op, value = condition.get("op", "="), condition.get("value")
    if op not in OPS:
        raise Problem(f"{at}.op: {op!r} is unknown", near(str(op), OPS), OPS)
    if op in EMPTY:
        return [(each is None) is EMPTY[op] for each in column.values]
    if value is None or value in ("", []):
        raise Problem(f"{at}.value: {op!r} needs a value", "for cells with nothing in them take is_empty or not_empty")
    if isinstance(value, list) != (op == "in"):
        what = "a list of values" if op == "in" else "one value"
        raise Problem(f"{at}.value: {op!r} takes {what}", "for one of several values take in, with a list")
    if op == "contains":
        part = fold(shown(value))
        return [each is not None and part in fold(shown(cell)) for each, cell in zip(*both(column), strict=True)]
    if op in ORDERS:
        return compared(column, op, value, at)
    wanted = {same for each in (value if op == "in" else [value]) for same in identities(column, each)}
    return [(identity(each) in wanted) is (op != "!=") for each in column.values]


def both(column: Column) -> tuple[Sequence[Cell], Sequence[Cell]]:
    return column.values, column.cells


def hint_of(column: Column) -> str:
    return f"{column.name!r} {column.note}" if column.note else ""


def as_number(column: Column, value: Any) -> int | float | None:
    return value if is_number(value) else column.number(value.strip()) if isinstance(value, str) else None


def identities(column: Column, value: Any) -> set[Cell]:
    """What a cell may be to equal the value: the text, and the number that it writes in this column."""
    number = as_number(column, value)
    return {fold(shown(value).strip())} | (set() if number is None else {number})


def compared(column: Column, op: str, value: Any, at: str) -> list[bool]:
    """Numbers are compared with a number, texts with a text; a cell of the other kind does not meet the condition."""
    number, compare = as_number(column, value), ORDERS[op]
    of_kind = is_number if number is not None else is_text
    other = next((cell for each, cell in zip(*both(column), strict=True) if each is not None), None)
    if other is not None and not any(map(of_kind, column.values)):
        raise Problem(
            f"{at}: {column.name!r} is {column.kind}, such as {shown(other)!r}; {op} cannot compare it with {value!r}",
            hint_of(column) or "give a value of the column's own kind; dates as YYYY-MM-DD",
        )
    key = sort_key(value if number is None else number)
    return [of_kind(each) and compare(sort_key(each), key) for each in column.values]


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def in_order(table: Table, rows: Sequence[int], sort: Sequence[Mapping[str, Any]]) -> list[int]:
    """The rows by several keys, the first one first; what is missing comes last both ways."""
    for at, key in reversed(list(enumerate(sort))):
        values = table.column(key.get("column", ""), f"sort[{at}].column").values
        order = key.get("order", "asc")
        if order not in ("asc", "desc"):
            raise Problem(f"sort[{at}].order: {order!r} is unknown", "", ("asc", "desc"))
        keys = {row: sort_key(values[row]) for row in rows if values[row] is not None}
        missing = [row for row in rows if row not in keys]
        rows = [*sorted(keys, key=keys.__getitem__, reverse=order == "desc"), *missing]
    return list(rows)


def total(numbers: Sequence[int | float]) -> int | float:
    whole = all(isinstance(number, int) for number in numbers)
    return sum(numbers) if whole else tidy(math.fsum(numbers))


def mean(numbers: Sequence[int | float]) -> int | float:
    return tidy(math.fsum(numbers) / len(numbers))


def median(numbers: Sequence[int | float]) -> int | float:
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(numbers) % 2 else mean(ordered[half - 1 : half + 1])


def tidy(number: float) -> int | float:
    """Without what binary fractions add: 0.1 + 0.2 is 0.3."""
    rounded_off = float(f"{number:.15g}")
    if rounded_off.is_integer() and abs(rounded_off) < 2**53:
        return int(rounded_off)
    return rounded_off if math.isfinite(rounded_off) else number


def outermost(pick: Any, values: Sequence[Cell]) -> Any:
    return pick(values) if is_number(values[0]) else pick(values, key=sort_key)


def exact(value: Cell) -> tuple[bool, Cell]:
    """What equal values of a group share: letter case counts, and true is not 1."""
    return isinstance(value, bool), value


def distinct(values: Iterable[Cell]) -> int:
    return len({exact(value) for value in values})


#: aggregate -> what it makes of the values that are there; those of NUMERIC take numbers
AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "sum": total,
    "mean": mean,
    "min": partial(outermost, min),
    "max": partial(outermost, max),
    "median": median,
    "distinct": distinct,
}
NUMERIC = frozenset({"sum", "mean", "median"})


def aggregate(function: str, values: Iterable[Cell]) -> Any:
    """The aggregate of the values that are there; None where there is none to take, or it is beyond a number."""
    taken = [value for value in values if value is not None]
    if function in NUMERIC or function in ("min", "max"):
        numbers = [value for value in taken if type(value) in NUMBERS]
        taken = numbers if numbers or function in NUMERIC else taken
    try:
        return AGGREGATES[function](taken) if taken or function in ("count", "distinct") else None
    except OverflowError:
        return None


def grouped(table: Table, rows: Sequence[int], by: Sequence[str], aggregates: Sequence[Mapping[str, Any]]) -> Table:
    """A table of groups in the order in which they come, or of one group where `by` names no column."""
    keys = [table.column(name, f"by[{at}]") for at, name in enumerate(by)]
    wanted = [measure(table, rows, entry, f"aggregates[{at}]") for at, entry in enumerate(aggregates)]
    groups: dict[tuple[Any, ...], list[int]] = {} if keys else {(): list(rows)}
    for row in rows if keys else ():
        groups.setdefault(tuple(exact(key.values[row]) for key in keys), []).append(row)
    first = [members[0] for members in groups.values()] if keys else []
    columns = [
        Column(key.name, [key.cells[row] for row in first], [key.values[row] for row in first], key.kind)
        for key in keys
    ]
    for name, function, column in wanted:
        taken = [[column.values[row] for row in members] if column else members for members in groups.values()]
        results = [aggregate(function, values) for values in taken]
        names = [each.name for each in columns]
        if name in names:
            raise Problem(f"two columns of the result are called {name!r}", "name one of them with `as`", names)
        columns.append(Column(name, [rounded(result) for result in results], results))
    return Table.of(columns, len(groups), table.notes)


def measure(table: Table, rows: Sequence[int], entry: Mapping[str, Any], at: str) -> tuple[str, str, Column | None]:
    """Name, function and column of one aggregate. Raises Problem where they do not go together."""
    function, asked = entry.get("function", "count"), entry.get("column")
    if function not in AGGREGATES:
        raise Problem(f"{at}.function: {function!r} is unknown", near(str(function), AGGREGATES), AGGREGATES)
    if asked is None:
        if function != "count":
            raise Problem(f"{at}: {function} needs a column", "only count goes without one", table.names)
        return entry.get("as") or "count", function, None
    column = table.column(asked, f"{at}.column")
    used = [(column.values[row], column.cells[row]) for row in rows if column.values[row] is not None]
    odd = [cell for value, cell in used if not is_number(value)]
    if function in NUMERIC and odd and not any(map(is_number, column.values)):
        numeric = [name for name in table.names if any(map(is_number, table.column(name, at).values))]
        error = f"{at}: {function} needs numbers, and {column.name!r} is {column.kind}, such as {shown(odd[0])!r}"
        raise Problem(error, hint_of(column) or "`known` lists the columns with numbers", numeric)
    if odd and (function in NUMERIC or (function in ("min", "max") and len(odd) < len(used))):
        table.note(f"{function} of {column.name!r} leaves out {counted(len(odd), 'text')} such as {shown(odd[0])!r}")
    return entry.get("as") or f"{function}_{column.name}", function, column


def rounded(value: Cell) -> Cell:
    """A computed value as it is shown: up to four decimals, or six digits of what is less than one."""
    if not isinstance(value, float):
        return value
    return f"{value:.6g}" if abs(value) < 1 else f"{value:.4f}".rstrip("0").rstrip(".")


# --- results


def markdown_cell(cell: Cell) -> str:
    """A cell on one line that shows as it is: signs of Markdown are escaped, line ends are arrows."""
    text = " ↵ ".join(shown(cell).split("\n")) if isinstance(cell, str) and "\n" in cell else shown(cell)
    text = " ".join(text.split())
    return _SPECIAL.sub(r"\\\1", text if len(text) <= CELL_SHOWN else text[: CELL_SHOWN - 1] + "…")


def result(
    table: Table, rows: Sequence[int], names: Sequence[str], told: str, as_answer: bool, **more: Any
) -> dict[str, Any]:
    """The rows under these names, as Markdown with a line below that says how many there are, and as objects."""
    columns = [table.column(name, "columns") for name in names]
    line = [" --- " if column.kind not in ("integer", "number") else " ---: " for column in columns]
    drawn = [
        f"| {' | '.join(markdown_cell(column.name) for column in columns)} |",
        f"|{'|'.join(line)}|",
        *(f"| {' | '.join(markdown_cell(column.cells[row]) for column in columns)} |" for row in rows),
    ]
    notes = [f"{note[0].upper()}{note[1:]}." for note in table.notes]
    answer: dict[str, Any] = {
        "ok": True,
        "markdown": "\n".join(drawn) + "\n\n" + " ".join([f"{told}.", *map(markdown_cell, notes)]),
        "columns": list(names),
        "rows": [{column.name: column.values[row] for column in columns} for row in rows],
        "returned": len(rows),
        **more,
        "notes": notes,
    }
    return {**answer, "resultKind": "final"} if as_answer else answer


def first_of(rows: Sequence[int], limit: int) -> tuple[Sequence[int], str]:
    """As many rows as may be shown, and the words that say so."""
    if not 1 <= limit <= MOST_ROWS:
        raise Problem(f"limit: must be between 1 and {MOST_ROWS}, not {limit}", "narrow the rows down, or group them")
    cut = rows[: int(limit)]
    return cut, f"; the first {len(cut)} are shown" if len(cut) < len(rows) else ""


def part(kind: str | list[str], description: str = "", aliases: str = "", **more: Any) -> dict[str, Any]:
    """A JSON Schema of one argument; aliases are apart by blanks."""
    told = {"description": description, "aliases": aliases.split()}
    return {"type": kind, **{key: value for key, value in told.items() if value}, **more}


def objects(required: str, properties: dict[str, Any]) -> dict[str, Any]:
    return part("object", properties=properties, required=required.split())


NAME = part("string", "A name as it stands in the table.", "name field key")
CONDITION = {
    "column": NAME,
    "op": part("string", "is_empty and not_empty take no value.", "operator comparison", enum=list(OPS)),
    "value": part(["string", "number", "boolean", "array"], "What to compare with; a list for in.", "values"),
}
SORT_KEY = {"column": NAME, "order": part("string", "asc if left out.", "direction dir", enum=["asc", "desc"])}
MEASURE = {
    "function": part("string", aliases="fn func agg aggregate op", enum=list(AGGREGATES)),
    "column": {**NAME, "description": "The column to take; count goes without one."},
    "as": part("string", "The result's name; such as sum_price if left out.", "alias"),
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "text": part(
        ["string", "array", "object"],
        "The whole table as it was given: CSV (, ; tab or | between cells), a Markdown table, or JSON.",
        "table data csv json content input",
    ),
    "header": part("boolean", "false where the first line is a row already, not the names."),
    "decimal": part(
        "string", "The decimal sign; only needed where a note says so.", "decimal_sign decimalSign", enum=[".", ","]
    ),
    "columns": part("array", "Only these columns, in this order.", "select fields", items=part("string")),
    "where": part(
        "array", "Conditions; all rows if left out.", "filter filters conditions", items=objects("column op", CONDITION)
    ),
    "match": part("string", "Must all conditions be met (if left out), or any?", enum=list(COMBINED)),
    "by": part(
        "array",
        "Columns whose equal values make a group; all rows are one group if left out.",
        "group_by groupBy",
        items=part("string"),
    ),
    "aggregates": part(
        "array",
        "What to compute of each group; the number of rows if left out.",
        "measures aggs metrics",
        items=objects("function", MEASURE),
    ),
    "sort": part(
        "array",
        "Sort keys, the first one first; columns of the result.",
        "order_by orderBy sort_by",
        items=objects("column", SORT_KEY),
    ),
    "limit": part(
        "integer",
        f"At most so many rows, up to {MOST_ROWS}; {ROWS_SHOWN} if left out. The full number is told anyway.",
        "top n max_rows",
    ),
    "as_answer": part(
        "boolean",
        "true where this table is the whole answer: it is shown to the reader as it is, and the run ends.",
        "asAnswer final",
    ),
}


def table_tool(description: str, result_kind: str | None = None) -> Callable[[Any], Any]:
    """A skill tool whose Problems are its answers; what it takes stands in ARGUMENTS."""

    def mark(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        taken = {name: ARGUMENTS[name] for name in inspect.signature(function).parameters}

        @skill_tool(description=description, parameters=objects("text", taken), result_kind=result_kind)
        @wraps(function)
        def answered(*args: Any, **named: Any) -> dict[str, Any]:
            try:
                return function(*args, **named)
            except Problem as problem:
                return problem.answer

        return answered

    return mark


@table_tool(
    "Describe a table: each column with type, missing and distinct values, min, max, mean, median and samples.",
    result_kind="lookup",
)
def describe_table(
    text: Any,
    header: bool = True,
    decimal: str | None = None,
    columns: Sequence[str] = (),
    as_answer: bool = False,
) -> dict[str, Any]:
    table = read_table(text, header, decimal)
    named = [table.name_of(name, f"columns[{at}]") for at, name in enumerate(columns)] or table.names
    told = f"{counted(table.size, 'row')}, {counted(len(table.names), 'column')}"
    if len(named) > MOST_COLUMNS:
        told += f"; the first {MOST_COLUMNS} columns are described"
    facts = [facts_of(table.column(name, "columns")) for name in named[:MOST_COLUMNS]]
    described = [
        Column(
            key, [fact_text(fact[key]) for fact in facts], [fact[key] for fact in facts], "number" if at > 1 else "text"
        )
        for at, key in enumerate(facts[0])
    ]
    about = Table.of(described, len(facts), table.notes)
    return result(about, range(len(facts)), about.names, told, as_answer, tableRows=table.size)


def facts_of(column: Column) -> dict[str, Any]:
    present = [value for value in column.values if value is not None]
    ranged = column.kind == "date" or any(map(is_number, present))
    samples: dict[str, None] = {}
    for value, cell in zip(*both(column), strict=True):
        if value is not None and len(samples) < 3:
            samples[shown(cell)] = None
    facts: dict[str, Any] = {
        "column": column.name,
        "type": f"{column.kind} in {column.unit}" if column.unit else column.kind,
        "missing": len(column.values) - len(present),
        "distinct": distinct(present),
    }
    for function in ("min", "max", "mean", "median"):
        facts[function] = aggregate(function, present) if ranged else None
    return {**facts, "samples": list(samples)}


def fact_text(fact: Any) -> Cell:
    return (
        "; ".join(each if len(each) <= 40 else f"{each[:39]}…" for each in fact)
        if isinstance(fact, list)
        else rounded(fact)
    )


@table_tool(
    "Filter, select and sort the rows of a table: those that meet conditions, only some columns, the top or last ones.",
)
def select_rows(
    text: Any,
    header: bool = True,
    decimal: str | None = None,
    where: Sequence[Mapping[str, Any]] = (),
    match: str = "all",
    columns: Sequence[str] = (),
    sort: Sequence[Mapping[str, Any]] = (),
    limit: int = ROWS_SHOWN,
    as_answer: bool = False,
) -> dict[str, Any]:
    table = read_table(text, header, decimal)
    names = list(dict.fromkeys(table.name_of(name, f"columns[{at}]") for at, name in enumerate(columns)))
    found = in_order(table, rows_where(table, where, match), sort)
    rows, cut = first_of(found, limit)
    told = f"{len(found)} of {counted(table.size, 'row')}" if where else counted(table.size, "row")
    return result(table, rows, names or table.names, told + cut, as_answer, found=len(found), tableRows=table.size)


@table_tool(
    "Group the rows of a table; count, sum, mean, min, max, median or distinct of each group, or of all rows.",
)
def group_rows(
    text: Any,
    header: bool = True,
    decimal: str | None = None,
    by: Sequence[str] = (),
    aggregates: Sequence[Mapping[str, Any]] = (),
    where: Sequence[Mapping[str, Any]] = (),
    match: str = "all",
    sort: Sequence[Mapping[str, Any]] = (),
    limit: int = ROWS_SHOWN,
    as_answer: bool = False,
) -> dict[str, Any]:
    table = read_table(text, header, decimal)
    taken = rows_where(table, where, match)
    groups = grouped(table, taken, by, aggregates or [{"function": "count"}])
    found = in_order(groups, range(groups.size), sort)
    rows, cut = first_of(found, limit)
    told = f"{counted(groups.size, 'group')} of {counted(len(taken), 'row')}"
    if where:
        told += f" (the table has {table.size})"
    return result(groups, rows, groups.names, told + cut, as_answer, found=groups.size, tableRows=table.size)
