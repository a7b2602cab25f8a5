"""Spans of runs: what encloses what, under the conventions' names, without a word of anybody unless asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.trace import StatusCode

from agrun_host import Runtime
from agrun_host.telemetry import instrument
from agrun_wasm import RunInput, StateInvalid, action
from tests.fakes.providers import FakeProviders
from tests.kit import adder

SECRET = "the-word-nobody-may-see"
TWO = {"toolCalls": [{"name": "add", "args": {"a": 1, "b": 2}}, {"name": "add", "args": {"a": 3, "b": 4}}]}
READ = {"toolCalls": [{"name": "read_url", "args": {"url": "https://pages.invalid/a"}}]}


class Traces:
    """A tracer of its own, and what it made."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test")

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    def named(self, begin: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(begin)]

    def above(self, span: ReadableSpan) -> ReadableSpan | None:
        if span.parent is None:
            return None
        return next(s for s in self.spans if s.context.span_id == span.parent.span_id)

    def written(self) -> str:
        return "".join(span.to_json() for span in self.spans)


def runtime(server: FakeProviders, traces: Traces, *, capture: bool = False, **keys: Any) -> Runtime:
    provider = {"name": "openai", "model": "m", "baseUrl": server.url, "apiKey": "sk-abcdefgh"}
    keys = {"actions": [adder()], **keys}
    return instrument(Runtime(provider=provider, **keys), tracer=traces.tracer, capture_content=capture)


async def test_a_run_encloses_its_cycles_and_these_their_calls() -> None:
    traces = Traces()
    async with FakeProviders([TWO, {"text": "Done."}]) as server, runtime(server, traces) as traced:
        result = await traced.run("add")
    [run] = traces.named("invoke_agent m")
    assert run.parent is None
    assert run.attributes["agrun.run.id"] == result.run_id  # type: ignore[index]
    assert run.attributes[gen_ai.GEN_AI_CONVERSATION_ID] == result.session_id  # type: ignore[index]
    cycles = traces.named("cycle")
    assert [traces.above(cycle) for cycle in cycles] == [run, run]
    assert [traces.above(call) for call in traces.named("chat m")] == cycles
    tools = traces.named("execute_tool add")
    assert [traces.above(tool) for tool in tools] == [cycles[0], cycles[0]]
    assert all(span.end_time >= span.start_time for span in traces.spans)  # type: ignore[operator]
    assert tools[0].attributes[gen_ai.GEN_AI_TOOL_NAME] == "add"  # type: ignore[index]


async def test_every_name_is_one_of_the_conventions_or_our_own() -> None:
    traces = Traces()
    async with FakeProviders([TWO, {"text": "Done."}]) as server, runtime(server, traces, capture=True) as traced:
        await traced.run("add")
    known = {value for name, value in vars(gen_ai).items() if name.startswith("GEN_AI_")}
    for span in traces.spans:
        for name in span.attributes or {}:
            assert name in known or name == "error.type" or name.startswith("agrun."), name


@pytest.mark.parametrize("capture", [False, True])
async def test_content_is_in_them_only_when_asked_for(capture: bool) -> None:
    traces = Traces()
    call = {"toolCalls": [{"name": "say", "args": {"word": SECRET}}]}

    @action(tier=0)
    async def say(word: str) -> str:
        """Says a word.

        Args:
            word: the word
        """
        return word

    replies = [call, {"text": SECRET}]
    async with FakeProviders(replies) as server, runtime(server, traces, capture=capture, actions=[say]) as traced:
        await traced.run(SECRET)
    assert (SECRET in traces.written()) is capture


async def test_a_failure_is_told_by_its_type_and_not_by_its_words() -> None:
    traces = Traces()
    failure = {"error": {"status": 401, "body": SECRET}}
    async with FakeProviders([failure]) as server, runtime(server, traces) as traced:
        await traced.run("hi")
    for span in (*traces.named("invoke_agent"), *traces.named("chat")):
        assert span.status.status_code is StatusCode.ERROR
        assert span.attributes["error.type"] == "PROVIDER_AUTH"  # type: ignore[index]
    assert SECRET not in traces.written()


async def test_a_run_that_goes_on_links_to_where_it_began() -> None:
    traces = Traces()
    async with FakeProviders([READ, {"text": "Done."}]) as server, runtime(server, traces) as traced:
        waits = await traced.run("read")
        await traced.resume(waits, {approval["approvalId"]: "deny" for approval in waits.approvals})
    first, second = traces.named("invoke_agent")
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert first.attributes["agrun.run.status"] == "blocked"  # type: ignore[index]


async def test_runs_at_once_share_no_span() -> None:
    traces = Traces()
    async with FakeProviders([{"text": "Done."}] * 8) as server, runtime(server, traces) as traced:
        await asyncio.gather(*(traced.run("hi") for _ in range(8)))
    runs = traces.named("invoke_agent")
    assert len({run.context.trace_id for run in runs}) == 8
    assert all(len([s for s in traces.spans if s.context.trace_id == run.context.trace_id]) == 3 for run in runs)


async def test_a_stopped_run_leaves_no_span_open() -> None:
    traces = Traces()
    stalls = {"text": "Hello there.", "stallAfter": 2}
    async with FakeProviders([stalls]) as server, runtime(server, traces) as traced, traced.stream("hi") as run:
        async for event in run:
            if event.type == "text-delta":
                run.stop()
    assert sorted(span.name for span in traces.spans) == ["chat m", "cycle", "invoke_agent m"]
    assert traces.named("invoke_agent")[0].attributes["agrun.run.status"] == "aborted"  # type: ignore[index]


async def test_usage_stands_on_the_run() -> None:
    from agrun_wasm import Finished, TextDelta, TokenUsage

    class Counting:
        async def stream(self, _request: Any) -> Any:
            yield TextDelta(text="Done.")
            yield Finished(reason="stop", usage=TokenUsage(input_tokens=7, output_tokens=2))

    traces = Traces()
    own = Runtime(provider="own", providers={"own": Counting()})
    async with instrument(own, tracer=traces.tracer) as traced:
        assert instrument(traced) is traced
        await traced.run("hi")
    [run] = traces.named("invoke_agent")
    assert run.attributes[gen_ai.GEN_AI_USAGE_INPUT_TOKENS] == 7  # type: ignore[index]
    assert run.attributes[gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS] == 2  # type: ignore[index]


async def test_usage_stands_on_each_call_and_a_call_from_a_journal_is_none() -> None:
    traces = Traces()
    counted = {"usage": {"inputTokens": 7, "outputTokens": 2}}

    class Kept:
        recorded: dict[str, Any] = {}

        async def once(self, key: str, call: Any) -> Any:
            if key not in self.recorded:
                self.recorded[key] = await call()
            return self.recorded[key]

    replies = [{**TWO, **counted}, {"text": "Done.", **counted}]
    async with FakeProviders(replies) as server, runtime(server, traces, journal=Kept()) as traced:
        state = traced.first_state(RunInput(prompt="add"))
        await traced.resume(state.to_json())
        calls = len(traces.named("chat"))
        await traced.resume(state.to_json())
    assert [call.attributes[gen_ai.GEN_AI_USAGE_INPUT_TOKENS] for call in traces.named("chat")] == [7, 7]  # type: ignore[index]
    assert calls == 2
    assert len(traces.named("invoke_agent")) == 2


async def test_what_an_action_traces_by_itself_is_part_of_the_run() -> None:
    traces = Traces()

    @action(tier=0)
    async def look() -> str:
        """Looks."""
        with traces.tracer.start_as_current_span("own"):
            return "seen"

    replies = [{"toolCalls": [{"name": "look", "args": {}}]}, {"text": "Done."}]
    async with FakeProviders(replies) as server, runtime(server, traces, actions=[look]) as traced:
        await traced.run("look")
    [own], [run] = traces.named("own"), traces.named("invoke_agent")
    assert traces.above(own) is run


async def test_a_run_that_may_not_begin_is_told_by_its_code() -> None:
    traces = Traces()
    async with FakeProviders([{"text": "Done."}]) as server, runtime(server, traces) as traced:
        over = await traced.run("hi")
        with pytest.raises(StateInvalid):
            await traced.resume(over)
    refused = traces.named("invoke_agent")[-1]
    assert refused.attributes["error.type"] == "STATE_INVALID"  # type: ignore[index]


@pytest.mark.parametrize("where", ["start_span", "set_attributes", "end"])
async def test_a_broken_tracer_harms_no_run(where: str) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            if name == where:
                raise RuntimeError("broken")
            return lambda *_, **__: self

    async with FakeProviders([TWO, {"text": "Done."}]) as server:
        provider = {"name": "openai", "model": "m", "baseUrl": server.url, "apiKey": "sk-abcdefgh"}
        broken: Any = Broken()
        async with instrument(Runtime(provider=provider, actions=[adder()]), tracer=broken) as traced:
            assert (await traced.run("add")).text == "Done."
