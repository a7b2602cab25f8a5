"""Nearly-JSON as models write it: the free repairs of its letters, and where an object ends.

Owned here: the two repairs that cannot change a meaning (trailing commas outside strings, raw line breaks and tabs
inside strings), the end of a balanced bracket, and whether a text stops inside its JSON. Brackets are never closed,
quotes never guessed (contract 2.3).

Must not know: envelopes, fences, reasoning tags (`model_json`).
"""

import json
import re
from typing import Any, NamedTuple

from agrun_wasm.text.strict_json import MAX_DEPTH, STRING_OR_BRACKET, JsonTextError, nesting_depth, parse_json_noting

__all__ = ["ParsedJson", "balanced_end", "ends_inside", "parse_repaired", "parses"]

_STRING_OR_COMMA = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
_ESCAPE_OR_RAW = re.compile(r"\\.|[\n\r\t]", re.DOTALL)
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JSON_BLANK = " \t\r\n"
_EXCERPT = 40

_CUT_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_CUT_NUMBER = re.compile(r"\.|(?:\.[0-9]+)?[eE][+-]?")
# With four digits too: the parser calls an escape at the very end of the text broken.
_CUT_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{0,4}")


class ParsedJson(NamedTuple):
    """A value with what was repaired (`trailing_comma`, `raw_control`) and the keys that stood twice in one object."""

    value: Any
    repairs: tuple[str, ...] = ()
    duplicate_keys: tuple[str, ...] = ()


def parse_repaired(text: str) -> ParsedJson:
    """The text as strict JSON, else with the free repairs. Raises `JsonTextError`, its message with an excerpt."""
    try:
        value, duplicates = parse_json_noting(text)
    except JsonTextError as error:
        if error.kind != "syntax":
            raise
        first_fault = error
    else:
        return ParsedJson(value, (), tuple(duplicates))
    repaired, repairs = _repair(text)
    if not repairs:
        raise _with_excerpt(first_fault, text)
    try:
        value, duplicates = parse_json_noting(repaired)
    except JsonTextError as error:
        raise _with_excerpt(error, repaired) from None
    return ParsedJson(value, repairs, tuple(duplicates))


def parses(text: str) -> bool:
    """Whether `parse_repaired` reads the text."""
    try:
        parse_repaired(text)
    except JsonTextError:
        return False
    return True


def balanced_end(text: str, start: int) -> int | None:
    """Offset after the bracket that closes the one at `start`, strings skipped; None where the text ends first."""
    depth = 0
    for match in STRING_OR_BRACKET.finditer(text, start):
        sign = match.group()
        if sign in ("{", "["):
            depth += 1
        elif sign in ("}", "]"):
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def ends_inside(text: str) -> bool:
    """Whether the text is the beginning of one JSON value that only lacks its rest."""
    if nesting_depth(text) > MAX_DEPTH:
        return False
    candidate = _repair(text.rstrip(_JSON_BLANK))[0]
    try:
        # Not strict: a raw control character in a string is no reason to call an unfinished text broken.
        json.JSONDecoder(strict=False, parse_int=float).decode(candidate)
    except json.JSONDecodeError as error:
        rest = candidate[error.pos :]
        return (
            not rest
            or error.msg.startswith("Unterminated string")
            or rest == "-"
            or any(word.startswith(rest) for word in _CUT_LITERALS)
            or _CUT_NUMBER.fullmatch(rest) is not None
            or ("escape" in error.msg and _CUT_ESCAPE.fullmatch(candidate[candidate.rfind("\\") :]) is not None)
        )
    return False


def _repair(text: str) -> tuple[str, tuple[str, ...]]:
    repairs: set[str] = set()

    def mend(match: re.Match[str]) -> str:
        token = match.group()
        if token == ",":
            before = match.start() - 1
            while before >= 0 and text[before] in _JSON_BLANK:
                before -= 1
            # A comma after nothing is a hole, not a trailing comma.
            if before < 0 or text[before] in "{[,:":
                return token
            repairs.add("trailing_comma")
            return ""
        escaped = _ESCAPE_OR_RAW.sub(lambda found: _ESCAPES.get(found.group(), found.group()), token)
        if escaped != token:
            repairs.add("raw_control")
        return escaped

    repaired = _STRING_OR_COMMA.sub(mend, text)
    return repaired, tuple(sorted(repairs))


def _with_excerpt(error: JsonTextError, text: str) -> JsonTextError:
    if error.position is None:
        return error
    excerpt = " ".join(text[max(error.position - _EXCERPT // 2, 0) : error.position + _EXCERPT].split())
    message = f"{error.message}, near: {excerpt}" if excerpt else error.message
    return JsonTextError(message, kind=error.kind, position=error.position)
