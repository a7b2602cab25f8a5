"""The forms of `expect`, as a table of (expectation, what came out, does it hold)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.expect import Actual, equal, failures
from tests.cases.inputs import spread

TABLE: list[tuple[dict[str, Any], list[Actual], bool]] = [
    ({"ok": {"a": 1}}, [Actual({"a": 1})], True),
    ({"ok": {"a": 1}}, [Actual({"a": 1, "b": 2})], False),
    ({"ok": 1}, [Actual(True)], False),
    ({"ok": 5}, [Actual(5.0)], True),
    ({"ok": 1}, [Actual(error="parse_error")], False),
    ({"ok": 1, "warning": "w"}, [Actual(1, facts={"warning": ["v", "w"]})], True),
    ({"ok": 1, "warning": "w"}, [Actual(1)], False),
    ({"error": "invalid_json"}, [Actual(error="parse_error", message="no")], True),
    ({"error": "invalid_json"}, [Actual(error="truncated", message="no")], False),
    ({"error": "invalid_json", "mentions": ["NaN"]}, [Actual(error="parse_error", message="a nan")], True),
    ({"error": "invalid_json", "mentions": ["NaN"]}, [Actual(error="parse_error", message="no")], False),
    ({"error": "a_name_of_their_own"}, [Actual(error="parse_error")], True),
    ({"error": "unknown_action"}, [Actual(error="unknown_action")], True),
    ({"error": "e", "reason": "missing_required"}, [Actual(error="e", facts={"reason": "missing"})], True),
    ({"accept": [{"ok": 1}, {"error": "x"}]}, [Actual(error="y")], True),
    ({"accept": [{"ok": 1}, {"ok": 2}]}, [Actual(3)], False),
    ({"accept": [{"ok": 1}], "never": [{"ok": 2}]}, [Actual(1)], True),
    ({"ok": 1, "never": [{"any_ok": True}]}, [Actual(1)], False),
    ({"accept": [{"ok": 1}, {"error": "x"}], "never": [{"any_ok": True}]}, [Actual(1)], False),
    ({"accept": [{"ok": 1}], "never": [{"warning": "w"}]}, [Actual(1, facts={"warning": ["w"]})], False),
    ({"ok": 1, "never": ["a request to x"]}, [Actual(1, facts={"asked": ["a request to x"]})], False),
    ({"each": [{"ok": 1}, {"error": "x"}]}, [Actual(1), Actual(error="y")], True),
    ({"each": [{"ok": 1}, {"ok": 2}]}, [Actual(1)], False),
    ({"all": {"ok": 1}}, [Actual(1), Actual(1)], True),
    ({"all": {"ok": 1}}, [Actual(1), Actual(2)], False),
]


@pytest.mark.parametrize(("expect", "actuals", "holds"), TABLE)
def test_expectation(expect: dict[str, Any], actuals: list[Actual], *, holds: bool) -> None:
    assert (failures(expect, actuals, equal) == []) is holds


def test_inputs_are_spread() -> None:
    assert spread({"text": "a", "n": 1}) == [{"text": "a", "n": 1}]
    assert spread({"texts": ["a", "b"], "n": 1}) == [{"n": 1, "text": "a"}, {"n": 1, "text": "b"}]
    assert spread({"text_exprs": ["'x' * 3"]}) == [{"text": "xxx"}]
    assert spread({"each": [{"a": 1}, "u"], "n": 1}) == [{"n": 1, "a": 1}, {"n": 1, "value": "u"}]
    assert spread({"content_b64": "aGk="}) == [{"content": b"hi"}]
