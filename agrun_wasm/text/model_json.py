"""The one JSON object that a model's reply holds.

Owned here: the reading order of contract 2.3 ("Reading model text": the whole text, one fence, one object in prose),
and the reasons of a rejection. The letters of the JSON are `json_repair`'s, reasoning blocks `reasoning`'s.

Must not know: what a decision is beyond the keys it is handed, actions, repairs of keys and names (the planner's).
"""

import json
import re
from typing import Any, Literal, NamedTuple

from agrun_wasm.text.fences import scan_fences
from agrun_wasm.text.json_repair import ParsedJson, balanced_end, ends_inside, parse_repaired, parses
from agrun_wasm.text.reasoning import has_reasoning_tag, without_reasoning
from agrun_wasm.text.shorten import one_line
from agrun_wasm.text.strict_json import JsonTextError, without_surrogates

__all__ = ["ModelObject", "ModelTextError", "Reason", "read_object", "read_whole_object"]

Reason = Literal["parse_error", "not_an_envelope", "ambiguous_envelope", "truncated", "empty_reply"]

_BLANK = " \t\r\n\f\v\u00a0\ufeff\u200b\u200c\u200d\u2060"
_ZERO_WIDTH = frozenset("\ufeff\u200b\u200c\u200d\u2060")
_OBJECT_START = re.compile(r'\{\s*"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"\s*(?::|\Z)|\Z)', re.DOTALL)
_JSON_START = re.compile(r"\{|\[\s*\{")
_NAME_KEYS = frozenset({"name", "tool"})
_ARGS_KEYS = frozenset({"args", "arguments", "parameters"})
_FENCE_LINE = re.compile(r"[ \t\r]*\n? {0,3}(?:`{3,}|~{3,})[ \t\r]*(?:\n|\Z)")
_STRAY_BRACES = 16
"""After so many braces that begin nothing the search gives up: each costs a look at the rest of the text."""

_HEAD = 160
_CUT = "(was it cut at the output length limit?)"


class ModelObject(NamedTuple):
    """The object, the repairs it needed (a subset of the names below, each once) and its duplicate keys.

    Repairs: zero_width_prefix, think_removed, trailing_comma, raw_control, array_unwrapped, repeated_object.
    """

    value: dict[str, Any]
    repairs: tuple[str, ...] = ()
    duplicate_keys: tuple[str, ...] = ()


class ModelTextError(Exception):
    """The reply holds no object to read; `message` quotes the parser's error, or the head of what came."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = without_surrogates(message)


def read_object(text: str, decision_keys: frozenset[str]) -> ModelObject:
    """The object of a reply in envelope mode.

    An object that is the whole text or its fence is returned whatever its keys; one in prose only if it carries a
    decision key (`name` and `tool` count beside args only). Raises `ModelTextError`.
    """
    body = text.strip(_BLANK)
    prefix = text[: len(text) - len(text.lstrip(_BLANK))]
    repairs = [] if _ZERO_WIDTH.isdisjoint(prefix) else ["zero_width_prefix"]
    if not body:
        raise ModelTextError("empty_reply", "the reply is empty")
    parsed = _whole(body)
    if parsed is None and has_reasoning_tag(body):
        spoken = without_reasoning(body)
        if spoken.is_open and not spoken.text.strip(_BLANK):
            raise ModelTextError("truncated", f"the reply ends inside its reasoning {_CUT}")
        if spoken.text != body:
            repairs.append("think_removed")
            body = spoken.text.strip(_BLANK)
            if not body:
                raise ModelTextError("empty_reply", "the reply is nothing but reasoning")
            parsed = _whole(body)
    if parsed is not None:
        return _object(parsed, repairs, body)
    _refuse_broken(body)
    return _fenced(body, decision_keys, repairs) or _in_prose(body, decision_keys, repairs)


def read_whole_object(text: str) -> dict[str, Any] | None:
    """The object that the whole text is, with the same repairs of its letters; None for any other text."""
    body = text.strip(_BLANK)
    if not body.startswith("{") or not body.endswith("}"):
        return None
    parsed = _whole(body)
    return parsed.value if parsed is not None and isinstance(parsed.value, dict) else None


def _whole(body: str) -> ParsedJson | None:
    if body[0] not in "{[":
        return None
    try:
        return parse_repaired(body)
    except JsonTextError:
        return None


def _object(parsed: ParsedJson, repairs: list[str], body: str) -> ModelObject:
    value = parsed.value
    names = [*repairs, *parsed.repairs]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
        names.append("array_unwrapped")
    if isinstance(value, dict):
        return ModelObject(value, tuple(names), parsed.duplicate_keys)
    if isinstance(parsed.value, list) and any(isinstance(item, dict) for item in parsed.value):
        raise _ambiguous(f"an array of {len(parsed.value)} items")
    raise _not_an_envelope(body, None)


def _refuse_broken(body: str) -> None:
    """Raises where the text is one object (or array of them) that is cut or does not parse; else it is prose."""
    if not _JSON_START.match(body):
        return
    end = balanced_end(body, 0)
    if end is None and ends_inside(body):
        raise _truncated(body)
    if end is not None and end < len(body):
        return
    try:
        parse_repaired(body)
    except JsonTextError as error:
        raise ModelTextError("parse_error", f"the JSON does not parse: {error.message}") from None


def _fenced(body: str, decision_keys: frozenset[str], repairs: list[str]) -> ModelObject | None:
    """The object of the fence that is the whole message, or of the only JSON fence; None where prose has to be read."""
    blocks = _blocks(body)
    is_whole = len(blocks) == 1 and not body[: blocks[0].start] and not body[blocks[0].end :].strip(_BLANK)
    json_blocks = [block for block in blocks if block.word == "json"]
    chosen = blocks[0] if is_whole else json_blocks[0] if len(json_blocks) == 1 else None
    if chosen is None:
        return None
    if not chosen.content:
        if is_whole:
            raise ModelTextError("empty_reply", "the reply is an empty code fence")
        return None
    parsed = _whole(chosen.content)
    if parsed is None:
        _refuse_broken(chosen.content)
        return None
    if is_whole:
        return _object(parsed, repairs, body)
    if not isinstance(parsed.value, dict | list) or parsed.value == [] or not _JSON_START.match(chosen.content):
        return None
    found = _object(parsed, repairs, body)
    outside = "\n".join(
        body[begin:end]
        for begin, end in zip([0, *(b.end for b in blocks)], [*(b.start for b in blocks), len(body)], strict=True)
    )
    beside = _candidates(outside, decision_keys)[0]
    if not _carries_decision(found.value, decision_keys) and len({_canonical(other.value) for other in beside}) == 1:
        return _object(beside[0], repairs, body)
    if any(_canonical(other.value) != _canonical(found.value) for other in beside):
        raise _ambiguous("an object in a JSON fence and another one beside it")
    return found


def _in_prose(body: str, decision_keys: frozenset[str], repairs: list[str]) -> ModelObject:
    candidates, fault = _candidates(body, decision_keys)
    different = {_canonical(candidate.value) for candidate in candidates}
    if not different:
        raise _not_an_envelope(body, fault)
    if len(different) > 1:
        raise _ambiguous(f"{len(different)} different objects")
    repeated = ["repeated_object"] if len(candidates) > 1 else []
    return _object(candidates[0], [*repairs, *repeated], body)


def _candidates(text: str, decision_keys: frozenset[str]) -> tuple[list[ParsedJson], str | None]:
    """The top-level objects with a decision key, and the parser's first complaint about one that is no JSON."""
    found: list[ParsedJson] = []
    fault: str | None = None
    position = strays = 0
    while (start := text.find("{", position)) >= 0 and strays < _STRAY_BRACES:
        end = balanced_end(text, start)
        if end is None:
            if _OBJECT_START.match(text, start):
                # What stands inside an object that never closes is no object of its own.
                if ends_inside(text[start:]):
                    raise _truncated(text)
                break
            strays += 1
            position = start + 1
            continue
        try:
            parsed = parse_repaired(text[start:end])
        except JsonTextError as error:
            fault = fault or error.message
        else:
            if _carries_decision(parsed.value, decision_keys):
                found.append(parsed)
        position = end
    return found, fault


class _Block(NamedTuple):
    start: int
    end: int
    word: str
    content: str


def _blocks(text: str) -> list[_Block]:
    """The fenced blocks; a fence inside the strings of a block's object does not end the block."""
    blocks: list[_Block] = []
    position = 0
    while fence := next(scan_fences(text, position), None):
        content = text[fence.content_start : fence.content_end].strip(_BLANK)
        end = fence.end
        if content.startswith("{") and len(blocks) < _STRAY_BRACES and not parses(content):
            begin = text.index("{", fence.content_start)
            object_end = balanced_end(text, begin)
            if object_end is not None and object_end > fence.content_end and parses(text[begin:object_end]):
                content = text[begin:object_end]
                closing = _FENCE_LINE.match(text, object_end)
                end = closing.end() if closing else object_end
        blocks.append(_Block(fence.start, end, fence.word, content))
        position = end
    return blocks


def _carries_decision(value: dict[str, Any], decision_keys: frozenset[str]) -> bool:
    keys = decision_keys & value.keys()
    return bool(keys - _NAME_KEYS) or bool(keys and _ARGS_KEYS & value.keys())


def _canonical(value: Any) -> str:
    # Python's own equality would call 1, 1.0 and true the same.
    return json.dumps(value, sort_keys=True)


def _truncated(text: str) -> ModelTextError:
    return ModelTextError("truncated", f"the reply ends inside its JSON after {len(text)} characters {_CUT}")


def _ambiguous(what: str) -> ModelTextError:
    return ModelTextError("ambiguous_envelope", f"the reply holds {what}; exactly one JSON object is read")


def _not_an_envelope(body: str, fault: str | None) -> ModelTextError:
    because = f" (an object in it does not parse: {fault})" if fault else ""
    return ModelTextError(
        "not_an_envelope",
        f"no JSON object with a decision key such as type in the reply{because}, which begins: {one_line(body, _HEAD)}",
    )
