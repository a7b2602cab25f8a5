"""The `expect` forms of cases.jsonl, judged against what really came out. FORMAT.md explains them.

Owns ok, error, accept, never, also, each and all, and the codes that suggested names stand for. What a value of an area
looks like is the area's: it brings a comparison. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from agrun_wasm.contracts.decision import InvalidReason
from agrun_wasm.contracts.errors import RUN_ERRORS

#: how an area compares a value: (expected, actual) -> what differs, empty when nothing does
Compare = Callable[[Any, Any], list[str]]

#: suggested code -> the codes and reasons of document 2 that are right in its place. One that is missing here and none
#: of document 2's own (OWN) says only that there is an error, since codes are suggestions.
CODES: dict[str, tuple[str, ...]] = {
    # a-envelope: reasons of 2.3
    "invalid_json": ("parse_error",),
    "invalid_unicode": ("parse_error",),
    "duplicate_key": ("parse_error",),
    "output_truncated": ("truncated",),
    "multiple_envelopes": ("ambiguous_envelope",),
    "no_json": ("not_an_envelope",),
    "empty_output": ("empty_reply",),
    "unknown_type": ("missing_type",),
    # b-stream: errors of 2.5
    "stream_incomplete": ("PROVIDER_BAD_RESPONSE",),
    "not_event_stream": ("PROVIDER_BAD_RESPONSE",),
    "malformed_function_call": ("PROVIDER_BAD_RESPONSE",),
    "content_filter": ("CONTENT_FILTERED",),
    "provider_error": (
        "PROVIDER_AUTH",
        "PROVIDER_TIMEOUT",
        "PROVIDER_RATE_LIMITED",
        "PROVIDER_UNAVAILABLE",
        "PROVIDER_BAD_RESPONSE",
        "CONTEXT_OVERFLOW",
    ),
    # c-args: reasons of 2.4 are mapped in REASONS
    "action-args-invalid": ("action-args-invalid",),
    # d-skill: 2.9
    "skill_invalid": ("CONFIG_INVALID",),
    "path_outside_skill": ("preflight",),
    # f-patch: risk flags of 2.11
    "invalid_operation": ("not_found",),
    "not_a_heading": ("not_found",),
    # g-host
    "session_busy": ("SESSION_BUSY",),
}

#: codes, reasons and flags of document 2 that cases name as they are
OWN = frozenset(
    (
        *get_args(InvalidReason),
        *RUN_ERRORS,
        *("CONFIG_INVALID", "STATE_INVALID", "STATE_VERSION_UNSUPPORTED", "SESSION_BUSY"),
        *("ambiguous", "not_found", "no_growth", "structure_maybe_worse", "too_large", "invalid_path"),
    )
)

#: suggested reason of action-args-invalid -> document 2's
REASONS = {"missing_required": "missing", "type_mismatch": "type", "not_in_enum": "enum", "enum_mismatch": "enum"}

#: categories of read_url in the cases -> those of 2.10
READ_ERRORS: dict[str, tuple[str, ...]] = {
    "empty_readable_content": ("empty_content",),
    "blocked_address": ("private_address",),
    "cors_or_network": ("network_or_cors",),
    "fetch_failed": ("network_or_cors",),
    "invalid_json": ("decode_error",),
}


class NeedsBrowser(Exception):
    """This case cannot be run where we are: it needs a page's JS."""


@dataclass(frozen=True)
class Actual:
    """What came out: a value, or an error with its code and words; and the facts that the trace holds.

    `unsound` says what must hold of every case of an area (its `also`) and did not.
    """

    value: Any = None
    error: str | None = None
    message: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    unsound: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.error is None

    def __str__(self) -> str:
        said = f"error {self.error}: {self.message}" if self.error else f"ok {_show(self.value)}"
        return said + (f" with {_show(dict(self.facts))}" if self.facts else "")


def failures(expect: Mapping[str, Any], actuals: Sequence[Actual], compare: Compare) -> list[str]:
    """Failures of what came of a case's inputs, in their order."""
    if "each" in expect:
        return _in_order(expect["each"], actuals, compare)
    if "all" in expect:
        return _in_order([expect["all"]] * len(actuals), actuals, compare)
    return _in_order([expect] * len(actuals), actuals, compare)


def _in_order(expects: Sequence[Mapping[str, Any]], actuals: Sequence[Actual], compare: Compare) -> list[str]:
    if len(expects) != len(actuals):
        return [f"{len(actuals)} inputs for {len(expects)} expectations"]
    several = len(actuals) > 1
    return [
        f"[{number}] {fault}" if several else fault
        for number, (expect, actual) in enumerate(zip(expects, actuals, strict=True))
        for fault in _one(expect, actual, compare)
    ]


def _one(expect: Mapping[str, Any], actual: Actual, compare: Compare) -> list[str]:
    accepted = [choice["ok"] for choice in expect.get("accept", []) if "ok" in choice]
    faults = _never(expect.get("never", []), accepted, actual, compare)
    if "accept" not in expect:
        return faults + _holds(expect, actual, compare)
    tried = [_holds(choice, actual, compare) for choice in expect["accept"]]
    if all(tried):
        faults += [f"none of {len(tried)} accepted outcomes: {'; '.join(t[0] for t in tried)}"]
    return faults


def _holds(expect: Mapping[str, Any], actual: Actual, compare: Compare) -> list[str]:
    """Failures of one plain expectation: `ok` or `error`, and the facts beside it."""
    if "error" in expect:
        return _error(expect, actual)
    if not actual.ok:
        return [f"expected success, got {actual}"]
    faults = compare(expect["ok"], actual.value) if "ok" in expect else []
    faults += compare({"ok_with": expect["ok_with"]}, actual.value) if "ok_with" in expect else []
    return [f"{fault} in {actual}" for fault in faults] + _facts(expect, actual, {"ok", "ok_with", "never", "also"})


def _error(expect: Mapping[str, Any], actual: Actual) -> list[str]:
    if actual.ok:
        return [f"expected error {expect['error']}, got {actual}"]
    suggested = expect["error"]
    right = CODES.get(suggested, (suggested,) if suggested in OWN else ())
    if right and actual.error not in right:
        return [f"expected error {suggested} ({' or '.join(right)}), got {actual}"]
    faults = [
        f"the message does not mention {text!r}: {actual.message}"
        for text in expect.get("mentions", [])
        if text.lower() not in actual.message.lower()
    ]
    return faults + _facts(expect, actual, {"error", "mentions", "never", "also"})


def _facts(expect: Mapping[str, Any], actual: Actual, known: set[str]) -> list[str]:
    """Further facts of an expectation: each must be among those the trace holds."""
    faults = []
    for key in expect.keys() - known:
        wanted, had = expect[key], actual.facts.get(key)
        if key == "reason":
            wanted = REASONS.get(wanted, wanted)
        if not _held(wanted, had):
            faults.append(f"{key}: expected {_show(wanted)}, got {_show(had)}")
    return faults


def _held(wanted: Any, had: Any) -> bool:
    """Is this the fact? A list holds several, a tuple words of which the case's sentence must hold one."""
    if isinstance(had, tuple):
        return any(word in str(wanted) for word in had)
    return wanted in had if isinstance(had, list) and not isinstance(wanted, list) else bool(wanted == had)


def _never(entries: Sequence[Any], accepted: Sequence[Any], actual: Actual, compare: Compare) -> list[str]:
    """Outcomes that may not come about. One in words alone (`any_ok_with`) is a success that no accept names.

    An entry that the area cannot tell from an accepted value (line ends, where document 2 knows one) says nothing.
    """
    faults = []
    for entry in entries:
        if isinstance(entry, str):
            hit = (actual.ok and actual.value == entry) or any(
                isinstance(fact, list) and entry in fact for fact in actual.facts.values()
            )
        elif "ok" in entry:
            alike = any(not compare(entry["ok"], value) for value in accepted)
            hit = actual.ok and not alike and not compare(entry["ok"], actual.value)
        elif entry.get("any_ok") is True:
            hit = actual.ok
        else:
            hit = any(_held(entry[key], actual.facts.get(key)) for key in entry)
        if hit:
            faults.append(f"must never come out: {_show(entry)}")
    return faults


def equal(expected: Any, actual: Any, at: str = "") -> list[str]:
    """What differs of two JSON values; true is not 1, but 5 is 5.0."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = sorted({*expected, *actual})
        return [
            fault
            for key in keys
            for fault in (
                equal(expected[key], actual[key], f"{at}.{key}")
                if key in expected and key in actual
                else [f"{at}.{key}: {'missing' if key in expected else 'not expected'}"]
            )
        ]
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return [f"{at or 'value'}: expected {len(expected)} items, got {len(actual)}"]
        return [f for i, (e, a) in enumerate(zip(expected, actual, strict=True)) for f in equal(e, a, f"{at}[{i}]")]
    same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return [] if same else [f"{at or 'value'}: expected {_show(expected)}, got {_show(actual)}"]


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else text[:190] + "..."
