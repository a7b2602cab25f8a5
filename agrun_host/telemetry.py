"""OpenTelemetry spans of runs, made from their events: run, cycles in it, model calls and tool calls in those.

Owned here: which event opens and closes which span, under the names of the GenAI semantic conventions. No words of a
person, a model or a tool leave without `capture_content`. Must not know: exporters, how a run works. Needs the extra
`telemetry`; without an SDK in the process OpenTelemetry's own spans do nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, Tracer

from agrun_wasm import Run, RunEvent, RunResult, Runtime

__all__ = ["RunSpans", "instrument"]

AnyRuntime = TypeVar("AnyRuntime", bound=Runtime)

#: provider -> `gen_ai.provider.name` where the conventions have a name of their own for it
_PROVIDER_NAMES = {"openai-responses": "openai", "gemini": "gcp.gemini"}
#: what asks the model -> what ends that call
_MODEL_CALLS = {
    "planner-requested": ("planner-responded", "planner-invalid-decision"),
    "planner-repair-requested": ("planner-repair-completed",),
    "finalize-requested": ("finalize-completed",),
}
_MODEL_ENDS = frozenset(end for ends in _MODEL_CALLS.values() for end in ends)
_ACTION_ENDS = frozenset({"action-executed", "action-failed", "action-timeout"})
_RUN_ENDS = frozenset({"run-completed", "run-blocked", "run-continuation", "run-failed", "run-aborted"})
#: so many runs are remembered, so that one that goes on links to where it began
_REMEMBERED = 1_000


class RunSpans:
    """The spans of one drive of a run: `take` each event in order, then `end`."""

    def __init__(self, tracer: Tracer, runtime: Runtime, *, first: SpanContext | None, capture_content: bool) -> None:
        provider = runtime.provider_config
        self._tracer = tracer
        self._clock = runtime.clock
        self._capture = capture_content
        self._model = {
            "gen_ai.provider.name": _PROVIDER_NAMES.get(provider.name, provider.name),
            "gen_ai.request.model": provider.model,
        }
        self._links = [Link(first)] if first is not None else []
        self._run: Span | None = None
        self._cycle: Span | None = None
        self._call: Span | None = None
        self._actions: dict[tuple[str, Any], Span] = {}
        self._parent: Context = Context()
        self._at = 0

    def begin(self, run: Run) -> SpanContext:
        """Opens the run's span inside the caller's."""
        name = f"invoke_agent {self._model['gen_ai.request.model']}".strip()
        attributes = {"gen_ai.operation.name": "invoke_agent", **self._model, "agrun.run.id": run.id}
        attributes["gen_ai.conversation.id"] = run.session_id
        self._at = round(self._clock.now() * 1_000_000)
        self._run = self._tracer.start_span(name, attributes=attributes, links=self._links, start_time=self._at)
        self._parent = trace.set_span_in_context(self._run)
        return self._run.get_span_context()

    def take(self, event: RunEvent) -> None:
        self._at = round(event.at * 1_000_000)
        detail = event.detail
        if event.type == "cycle-started":
            self._close_cycle()
            self._cycle = self._open("cycle", self._parent, {"agrun.cycle": event.cycle})
        elif event.type == "cycle-completed":
            self._close_cycle({"agrun.cycle.outcome": str(detail.get("outcome", ""))})
        elif event.type in _MODEL_CALLS:
            self._close_call()
            self._call = self._open(
                f"chat {self._model['gen_ai.request.model']}".strip(),
                self._within(),
                {"gen_ai.operation.name": "chat", **self._model},
                SpanKind.CLIENT,
            )
        elif event.type in _MODEL_ENDS:
            finish = detail.get("finish")
            self._close_call({"gen_ai.response.finish_reasons": [str(finish)]} if finish else {})
        elif event.type == "model-retry" and self._call is not None:
            told = {"error.type": str(detail["code"]), "agrun.retry.attempt": detail["attempt"]}
            self._call.add_event("retry", told, self._at)
        elif event.type == "action-executing":
            self._open_action(detail)
        elif event.type in _ACTION_ENDS:
            self._close_action(event)
        elif event.type in _RUN_ENDS and self._run is not None:
            self._run.set_attribute("agrun.run.status", event.type.removeprefix("run-"))

    def end(self, result: RunResult | None) -> None:
        """Closes what is open. A run without a result failed by itself."""
        run = self._run
        if run is None:
            return
        self._run = None
        code = "INTERNAL" if result is None else result.error.code if result.error else None
        for span in self._actions.values():
            _fail(span, "aborted")
            span.end(self._at)
        self._actions.clear()
        self._close_call(failed=code)
        self._close_cycle(failed=code)
        if result is not None:
            usage = result.usage
            counts = {
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
                "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            }
            run.set_attributes({name: count for name, count in counts.items() if count is not None})
            if self._capture:
                run.set_attribute("gen_ai.output.messages", _message("assistant", result.text))
                run.set_attribute("gen_ai.input.messages", _message("user", str(result.state["request"]["prompt"])))
        if code is not None:
            _fail(run, code)
        run.end(self._at)

    def _within(self) -> Context:
        return self._parent if self._cycle is None else trace.set_span_in_context(self._cycle, self._parent)

    def _open(self, name: str, within: Context, attributes: Any, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        return self._tracer.start_span(name, within, kind, attributes, start_time=self._at)

    def _close_call(self, attributes: dict[str, Any] | None = None, *, failed: str | None = None) -> None:
        span, self._call = self._call, None
        _close(span, attributes, failed, self._at)

    def _close_cycle(self, attributes: dict[str, Any] | None = None, *, failed: str | None = None) -> None:
        self._close_call(failed=failed)
        span, self._cycle = self._cycle, None
        _close(span, attributes, failed, self._at)

    def _open_action(self, detail: dict[str, Any]) -> None:
        name = str(detail["actionName"])
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
        }
        if self._capture:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(detail["args"], ensure_ascii=False)
        self._actions[_place(detail)] = self._open(f"execute_tool {name}", self._within(), attributes)

    def _close_action(self, event: RunEvent) -> None:
        span = self._actions.pop(_place(event.detail), None)
        if span is None:
            return
        if self._capture and "result" in event.detail:
            span.set_attribute("gen_ai.tool.call.result", str(event.detail["result"]))
        if event.type != "action-executed" or event.detail.get("ok") is False:
            _fail(span, "timeout" if event.type == "action-timeout" else str(event.detail.get("code") or "tool_error"))
        span.end(self._at)


class _Telemetry:
    """What the runs of one runtime share."""

    def __init__(self, runtime: Runtime, tracer: Tracer, *, capture_content: bool) -> None:
        self._runtime = runtime
        self._tracer = tracer
        self._capture = capture_content
        self._firsts: OrderedDict[str, SpanContext] = OrderedDict()
        meter = metrics.get_meter("agrun")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}")

    def begin(self, run: Run) -> RunSpans:
        first = self._firsts.get(run.id)
        spans = RunSpans(self._tracer, self._runtime, first=first, capture_content=self._capture)
        begun = spans.begin(run)
        self._firsts.setdefault(run.id, begun)
        while len(self._firsts) > _REMEMBERED:
            self._firsts.popitem(last=False)
        return spans

    async def follow(self, run: Run, spans: RunSpans) -> None:
        result: RunResult | None = None
        try:
            async for event in run:
                spans.take(event)
            result = await run.result()
        finally:
            spans.end(result)
        provider = self._runtime.provider_config
        for kind, count in (("input", result.usage.input_tokens), ("output", result.usage.output_tokens)):
            if count is not None:
                told = {"gen_ai.token.type": kind, "gen_ai.request.model": provider.model}
                self._tokens.record(count, told)


class _TracedStart:
    """A run's start whose events are followed beside whoever else reads them."""

    def __init__(self, start: Any, telemetry: _Telemetry) -> None:
        self._start = start
        self._telemetry = telemetry
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Run:
        run: Run = await self._start.__aenter__()
        self._following = asyncio.create_task(self._telemetry.follow(run, self._telemetry.begin(run)))
        return run

    async def __aexit__(self, *fault: object) -> None:
        try:
            await self._start.__aexit__(*fault)
        finally:
            if self._following is not None:
                # What broke the run is told to whoever asks for its result, not to the one who leaves the block.
                await asyncio.gather(self._following, return_exceptions=True)

    def __aiter__(self) -> Any:
        return self._start.__aiter__()

    def __await__(self) -> Any:
        return self._start.__await__()


def instrument(runtime: AnyRuntime, *, tracer: Tracer | None = None, capture_content: bool = False) -> AnyRuntime:
    """Makes spans of every run of this runtime from now on; gives the same runtime.

    `tracer` is the process's own unless given. `capture_content` lets prompts, answers, arguments and results into the
    spans. A second call changes nothing.
    """
    if getattr(runtime, "_telemetry", None) is not None:
        return runtime
    telemetry = _Telemetry(runtime, tracer or trace.get_tracer("agrun"), capture_content=capture_content)
    runtime._telemetry = telemetry  # type: ignore[attr-defined]
    for name in ("stream", "stream_resume", "stream_abort"):
        setattr(runtime, name, _wrapped(getattr(runtime, name), telemetry))
    return runtime


def _wrapped(made: Callable[..., Any], telemetry: _Telemetry) -> Callable[..., _TracedStart]:
    def start(*args: Any, **options: Any) -> _TracedStart:
        return _TracedStart(made(*args, **options), telemetry)

    return start


def _place(detail: dict[str, Any]) -> tuple[str, Any]:
    """Which call of a cycle is meant: actions of one plan run at once."""
    return str(detail["actionName"]), detail.get("planIndex", detail.get("batchIndex"))


def _close(span: Span | None, attributes: dict[str, Any] | None, failed: str | None, at: int) -> None:
    if span is None:
        return
    span.set_attributes(attributes or {})
    if failed is not None:
        _fail(span, failed)
    span.end(at)


def _fail(span: Span, kind: str) -> None:
    """An error by its type: its words could be anybody's."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)
