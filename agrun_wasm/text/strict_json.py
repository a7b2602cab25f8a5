"""JSON text to values, stricter and safer than `json.loads`.

Owned here: which texts count as JSON (contract 2.3), and the words that name a fault and its place. Refused are
NaN and Infinity (numbers that overflow to it too), nesting over `MAX_DEPTH`, integers over `MAX_INT_DIGITS` digits and
whatever `json.loads` refuses; lone surrogates become U+FFFD.

Must not know: model replies, repairs, envelopes (`model_json`). Ordinary text costs a few microseconds beyond
`json.loads`: every check has a cheap sign that is looked for first.
"""

import json
import re
from math import isinf
from typing import Any, NoReturn

__all__ = [
    "MAX_DEPTH",
    "MAX_INT_DIGITS",
    "STRING_OR_BRACKET",
    "JsonTextError",
    "nesting_depth",
    "parse_json",
    "parse_json_noting",
    "without_surrogates",
]

MAX_DEPTH = 64
"""Deepest nesting that is read; the outermost bracket counts 1."""

MAX_INT_DIGITS = 4300
"""Longest integer that is read, CPython's own limit, fixed here because a host may have changed it."""

STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|[\[{]|[\]}]', re.DOTALL)
"""A whole string (an unfinished one runs to the end of the text) or one bracket."""

_LONG_DIGITS = re.compile(r"[0-9]{4301}")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


class JsonTextError(ValueError):
    """The text is not acceptable JSON.

    `message` names the fault and its place; `position` is the offset of the fault in the text, None where the fault is
    not at one place; `kind` is `syntax`, `constant`, `number` or `depth`.
    """

    def __init__(self, message: str, *, kind: str = "syntax", position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.position = position


def parse_json(text: str) -> Any:
    """The value of a JSON text; of duplicate keys the last one wins. Raises `JsonTextError`."""
    return _parse(text, None)


def parse_json_noting(text: str) -> tuple[Any, list[str]]:
    """The value, and the keys that stood more than once in one object, in the order they were noticed."""
    duplicates: list[str] = []

    def noting(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen and key not in duplicates:
                    duplicates.append(key)
                seen.add(key)
        return result

    value = _parse(text, noting)
    return value, [without_surrogates(key) for key in duplicates]


def nesting_depth(text: str) -> int:
    """Deepest nesting of brackets outside strings, in one pass, for any text (it need not be JSON)."""
    depth = deepest = 0
    for match in STRING_OR_BRACKET.finditer(text):
        sign = match.group()
        if sign in ("{", "["):
            depth += 1
            deepest = max(deepest, depth)
        elif sign in ("}", "]"):
            depth -= 1
    return deepest


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates as U+FFFD, so that it can always be encoded."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _parse(text: str, pairs_hook: Any) -> Any:
    # The count of opening brackets bounds the depth; only a text with many is scanned, so that the recursive parser
    # never meets a nesting that could exhaust the stack (fatal under WebAssembly).
    if text.count("{") + text.count("[") > MAX_DEPTH:
        depth = nesting_depth(text)
        if depth > MAX_DEPTH:
            raise JsonTextError(f"nesting depth {depth} exceeds the limit of {MAX_DEPTH}", kind="depth")
    parse_int = _bounded_int if len(text) > MAX_INT_DIGITS and _LONG_DIGITS.search(text) else None
    if parse_int is None and pairs_hook is None:
        decoder = _DECODER
    else:
        decoder = json.JSONDecoder(
            object_pairs_hook=pairs_hook,
            parse_int=parse_int,
            parse_float=_finite_float,
            parse_constant=_refuse_constant,
        )
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise JsonTextError(str(error), position=error.pos) from None
    if _may_hold_surrogates(text):
        return _repaired(value)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise JsonTextError(f"{name} is not a JSON number", kind="constant")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise JsonTextError(f"number out of range: {digits[:40]} would be Infinity", kind="number")
    return value


def _bounded_int(digits: str) -> int:
    count = len(digits.lstrip("-"))
    if count > MAX_INT_DIGITS:
        raise JsonTextError(f"number too long: {count} digits exceed the limit of {MAX_INT_DIGITS}", kind="number")
    return int(digits)


def _may_hold_surrogates(text: str) -> bool:
    if "\\u" in text and _ESCAPED_SURROGATE.search(text):
        return True
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {without_surrogates(key): _repaired(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    return value


_DECODER = json.JSONDecoder(parse_float=_finite_float, parse_constant=_refuse_constant)
