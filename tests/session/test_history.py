"""A session's turns after each kind of end: a table, and what the next run's model sees of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import adder, calls, scripted

ADD = ("add", {"a": 2, "b": 3})
ASKED = ("user", "first")

#: end -> the first run's replies, settings, and the turns that the second run sees before its prompt
AFTER: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[tuple[str, str]]]] = {
    "completed": ([{"text": "Done."}], {}, [ASKED, ("assistant", "Done.")]),
    "clarification": (
        [calls(("ask_clarification", {"question": "Which?"}))],
        {},
        [ASKED, ("assistant", "Which?")],
    ),
    "failed": ([{"error": {"status": 401}}], {}, []),
    "waiting for an approval": ([calls(ADD)], {"actions": [adder(tier=1)]}, []),
    "waiting for budget": ([calls(ADD)], {"max_steps": 1, "finalize_on_exhaustion": False}, []),
}


@pytest.mark.parametrize("end", AFTER)
async def test_the_next_run_sees_what_was_said(end: str) -> None:
    replies, keys, seen = AFTER[end]
    runtime, provider = scripted([*replies, {"text": "ok"}], **{"actions": [adder()], **keys})
    session = runtime.session("s")
    await session.run("first")
    await session.run("second")
    assert [(m.role, m.text) for m in provider.requests[-1].messages] == [*seen, ("user", "second")]
    assert [(t.role, t.text()) for t in await session.history()][-2:] == [("user", "second"), ("assistant", "ok")]


async def test_runs_that_end_in_another_order_are_all_kept() -> None:
    """A run waits for its approval while another one of the session is answered."""
    runtime, _ = scripted([calls(ADD), {"text": "B"}, {"text": "A"}], actions=[adder(tier=1)])
    session = runtime.session("s")
    waiting = await session.run("a?")
    await session.run("b?")
    assert waiting.output is not None
    await runtime.resume(waiting.state, {waiting.output["approvals"][0]["approvalId"]: "approve"})
    assert [t.text() for t in await session.history()] == ["b?", "B", "a?", "A"]


async def test_a_resume_in_a_fresh_runtime_brings_the_turns_of_its_state() -> None:
    runtime, _ = scripted([{"text": "One."}, calls(ADD)], actions=[adder(tier=1)])
    session = runtime.session("s")
    await session.run("one?")
    waiting = await session.run("two?")
    fresh, _ = scripted([{"text": "Two."}], actions=[adder(tier=1)])
    assert waiting.output is not None
    await fresh.resume(waiting.state, {waiting.output["approvals"][0]["approvalId"]: "approve"})
    assert [t.text() for t in await fresh.session("s").history()] == ["one?", "One.", "two?", "Two."]


async def test_runs_without_a_session_share_nothing() -> None:
    runtime, provider = scripted([{"text": "One."}, {"text": "Two."}])
    await runtime.run("one?")
    await runtime.run("two?")
    assert [m.text for m in provider.requests[-1].messages] == ["two?"]
