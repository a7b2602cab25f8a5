"""The runners' output and guard: what is printed, what the exit code is, and that a hang is a failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance import report
from tests.conformance.report import Outcome


async def _judge(item: dict[str, Any]) -> Outcome:
    match item["id"]:
        case "crash":
            raise ValueError("broken")
        case "hang":
            await asyncio.Event().wait()
        case "spin":
            while True:
                pass
        case "bad":
            return Outcome("bad", ["first\nline", "second"], detail=["seen: 1"])
        case "skipped":
            return Outcome("skipped", skipped="CONTESTED")
    return Outcome(item["id"])


@pytest.fixture(autouse=True)
def _short_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "GUARD_SECONDS", 0.05)


def _items(*names: str) -> list[dict[str, Any]]:
    return [{"id": name} for name in names]


def test_lines_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    code = report.report(report.run_each(_items("good", "bad", "skipped", "crash"), _judge), verbose=False)
    assert code == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL bad: first\\nline",
        "CONTESTED skipped",
        "FAIL crash: crashed: ValueError: broken",
        "1 passed, 2 failed",
    ]


def test_all_failures_and_the_first_detail_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    report.report(report.run_each(_items("bad"), _judge), verbose=True)
    out = capsys.readouterr().out
    assert "second" in out
    assert "seen: 1" in out


def test_nothing_failed(capsys: pytest.CaptureFixture[str]) -> None:
    assert report.report(report.run_each(_items("good", "fine"), _judge), verbose=False) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"


@pytest.mark.parametrize("name", ["hang", "spin"])
def test_a_hang_is_a_failure_of_that_one_alone(name: str) -> None:
    hung, good = report.run_each(_items(name, "good"), _judge)
    assert "hung" in hung.failures[0]
    assert good.failures == []
