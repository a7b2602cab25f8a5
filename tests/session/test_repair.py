"""Repair: whatever became of a saved transcript, a provider accepts it, and nothing of it is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_wasm.contracts.model import Message, ModelRequest, ToolCall
from agrun_wasm.session.repair import NO_RESULT, repair
from tests.kit import adder, calls, scripted
from tests.loop.test_any_run import assert_a_provider_accepts
from tests.session.test_transcript import state_of

ADD = ("add", {"a": 2, "b": 3})


def decision(*ids: str) -> Message:
    listed = [ToolCall(id=id_, name="look", args_text='{"n": 1}') for id_ in ids]
    return Message(role="assistant", kind="decision", tool_calls=listed, cycle=1, text="Let me see.")


def result(id_: str) -> Message:
    return Message(role="tool", kind="result", tool_call_id=id_, tool_name="look", text=f"seen {id_}", cycle=1)


words = Message(role="user", kind="observation", text="words", cycle=1)
messages = st.lists(
    st.one_of(
        st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(lambda ids: decision(*ids)),
        st.sampled_from("abc").map(result),
        st.just(words),
    ),
    max_size=8,
)


def told(transcript: list[Message]) -> list[str]:
    return [message.text for message in transcript]


@settings(deadline=None)
@given(messages)
def test_any_transcript_is_one_that_a_provider_accepts(transcript: list[Message]) -> None:
    state = state_of([])
    state.transcript = list(transcript)
    repair(state)
    assert_a_provider_accepts(ModelRequest("planner", "", tuple(state.transcript)))
    kept = " ".join(told(state.transcript))
    assert all(message.text in kept for message in transcript)
    again = list(state.transcript)
    repair(state)
    assert state.transcript == again


def test_a_whole_transcript_stays_as_it_is() -> None:
    state = state_of([[5, 6], [7]])
    before = list(state.transcript)
    repair(state)
    assert state.transcript == before


async def test_a_state_whose_result_was_cut_off_goes_on() -> None:
    """Somebody saved the messages up to the model's call, and lost what came of it."""
    runtime, _ = scripted([calls(ADD), {"text": "never"}], actions=[adder()], max_steps=1, finalize_on_exhaustion=False)
    saved = (await runtime.run("2 + 3?")).state
    while saved["transcript"][-1]["role"] == "tool":
        saved["transcript"].pop()
    fresh, provider = scripted([{"text": "I do not know."}], actions=[adder()])
    done = await fresh.resume(json.loads(json.dumps(saved)), extend={"maxSteps": 1})
    assert done.status == "completed"
    assert NO_RESULT in told(list(provider.requests[0].messages))
    assert_a_provider_accepts(provider.requests[0])


@pytest.mark.parametrize("status", ["completed", "aborted", "blocked"])
def test_calls_that_the_run_ended_with_stay_open(status: Any) -> None:
    state = state_of([])
    state.status = status
    state.transcript = [decision("a")]
    repair(state)
    assert state.transcript == [decision("a")]
