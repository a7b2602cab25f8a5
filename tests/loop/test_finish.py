"""The door: passed once, adds and never deletes, and says the same however often it is asked. Rules: 2.8, 2.10."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.loop import finish
from agrun_wasm.loop.context import RunContext, RunPorts
from agrun_wasm.loop.outcome import Answer, Blocked, Failed, OutOfBudget
from agrun_wasm.providers.scripted import ScriptedProvider
from agrun_wasm.research.sources import add_read
from agrun_wasm.text.redaction import Redactor
from tests.clock import FakeClock
from tests.kit import scripted

PAGE = {
    "kind": "read_url_result",
    "ok": True,
    "url": "https://example.org/a",
    "title": "A",
    "text": "…",
    "mode": "text",
}


def context(**keys: Any) -> RunContext:
    """A run of a runtime with these settings, not yet begun."""
    runtime, _ = scripted([], **keys)
    ports = RunPorts(
        provider=ScriptedProvider([]),
        provider_config=runtime.config.provider_config(),
        clock=FakeClock(),
        redactor=Redactor([]),
    )
    return RunContext(runtime._empty_state("hi"), runtime._surface, ports, lambda event: None)


ANSWER = Answer(text="text", source="planner_final")
ENDS: dict[str, Any] = {
    "deliver": lambda ctx: finish.deliver(ctx, ANSWER),
    "block": lambda ctx: finish.block(ctx, Blocked({"kind": "clarification", "text": "?"}, "ask_clarification")),
    "pause": lambda ctx: finish.pause(ctx, OutOfBudget("steps")),
    "abort": finish.abort,
    "fail": lambda ctx: finish.fail(ctx, Failed(ErrorInfo(code="INTERNAL", message="x"))),
}


@pytest.mark.parametrize("second", ENDS)
@pytest.mark.parametrize("first", ENDS)
def test_the_door_is_passed_once(first: str, second: str) -> None:
    ctx = context()
    ENDS[first](ctx)
    before = ctx.state.to_json()
    with pytest.raises(RuntimeError, match="once"):
        ENDS[second](ctx)
    assert ctx.state.output == before["output"]
    assert ctx.state.status == before["status"]


@pytest.mark.parametrize("end", ENDS)
def test_every_end_has_its_status_source_and_step(end: str) -> None:
    ctx = context()
    ENDS[end](ctx)
    last = ctx.state.steps[-1]
    assert last.type.startswith("run-")
    assert ctx.state.final_answer_source == last.detail["source"]
    assert (ctx.state.output is None) == (end in ("abort", "fail"))
    assert (ctx.state.error is None) == (end != "fail")


#: a text -> how it leaves
TEXTS = [
    ("a", "a"),
    ("\n\n  a\r\nb  \r\n\r\n", "  a\nb  "),
    ("a\rb", "a\nb"),
    ("a\n\n\n\nb", "a\n\n\n\nb"),
    ("```\n\n\n```", "```\n\n\n```"),
    ("", ""),
    ("\n \n", ""),
]


@pytest.mark.parametrize(("given_", "leaves"), TEXTS)
def test_line_ends_and_outer_blank_lines(given_: str, leaves: str) -> None:
    assert finish.compose(context(), Answer(text=given_, source="planner_final")).output["text"] == leaves


SOURCES: list[Any] = [
    "planner_final",
    "runtime_finalize",
    "plan_synthesize",
    "direct_final",
    "action",
    "workspace_publish",
]


@settings(deadline=None, max_examples=60)
@given(st.text(), st.sampled_from(SOURCES))
def test_nothing_the_model_wrote_is_deleted(text: str, source: Any) -> None:
    ctx = context(requested_citations={"minUrlCount": 2})
    add_read(ctx.state.research_context, PAGE)
    composed = finish.compose(ctx, Answer(text=text, source=source))
    lines = iter(composed.output["text"].split("\n"))
    for line in text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n"):
        if line.strip():
            assert line in lines
    again = finish.compose(ctx, Answer(text=text, source=source))
    assert (again.output, again.notes) == (composed.output, composed.notes)


@pytest.mark.parametrize("source", SOURCES)
def test_only_written_answers_get_sources_and_disclosure(source: Any) -> None:
    ctx = context(requested_citations={"minUrlCount": 2})
    add_read(ctx.state.research_context, PAGE)
    composed = finish.compose(ctx, Answer(text="text", source=source))
    written = source in ("planner_final", "runtime_finalize", "plan_synthesize")
    assert ("Sources:" in composed.output["text"]) == written
    assert (composed.output["text"] == "text") != written
    assert composed.output["citations"] == [PAGE["url"]]
    assert composed.output["citationsStatus"] == "verified"
    assert composed.notes["citationGap"] == {"have": 0, "need": 2}


def test_sources_stand_before_the_blocks_that_end_a_text() -> None:
    ctx = context()
    add_read(ctx.state.research_context, PAGE)
    block = '```g3-followups\n["more"]\n```'
    text = finish.compose(ctx, Answer(text=f"text\n\n{block}", source="plan_synthesize")).output["text"]
    assert text == f"text\n\nSources:\n- [A]({PAGE['url']})\n\n{block}"


@pytest.mark.parametrize("key", ["kind", "text", "citations", "citationsStatus"])
def test_fields_of_an_action_do_not_hide_the_outputs_own(key: str) -> None:
    composed = finish.compose(context(), Answer(text="text", source="action", fields={key: "mine", "seal": 7}))
    assert composed.output[key] != "mine"
    assert composed.output["seal"] == 7


def test_what_was_written_when_a_run_failed_or_was_stopped_is_kept() -> None:
    for end in ("abort", "fail"):
        ctx = context()
        ctx.state.partial_text = "half a sent"
        ENDS[end](ctx)
        assert ctx.state.diagnostics["partialText"] == "half a sent"
