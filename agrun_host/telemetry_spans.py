"""The spans of a run: the run, cycles in it, model calls and tool calls in those.

Owned here: which event opens and closes which span, and what stands in it, under the names of the GenAI semantic
conventions. No words of a person, a model or a tool leave without `capture_content`. Must not know: exporters, how a
run works, metrics.
"""

from __future__ import annotations

import json
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, Tracer

from agrun_host.telemetry_safety import harmless
from agrun_wasm import AgrunError, Finished, Run, RunEvent, RunResult, Runtime
from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.model import ModelRequest

__all__ = ["ModelCallSpan", "RunSpans", "model_attributes"]

#: provider -> `gen_ai.provider.name` where the conventions have a name of their own for it
_PROVIDER_NAMES = {"openai-responses": "openai", "gemini": "gcp.gemini"}
#: setting -> attribute
_SETTINGS = {
    "temperature": "gen_ai.request.temperature",
    "topP": "gen_ai.request.top_p",
    "maxTokens": "gen_ai.request.max_tokens",
}
#: token count -> attribute
_USAGE = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_input_tokens": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
_ACTION_ENDS = frozenset({"action-executed", "action-failed", "action-timeout", "action-protocol-error"})
_RUN_ENDS = frozenset({"run-completed", "run-blocked", "run-continuation", "run-failed", "run-aborted"})


def model_attributes(provider: ProviderConfig) -> dict[str, str]:
    """Who is asked, as every span and metric of a model call says it."""
    name = _PROVIDER_NAMES.get(provider.name, provider.name)
    return {"gen_ai.provider.name": name, "gen_ai.request.model": provider.model}


class ModelCallSpan:
    """One call of a model on the wire."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @harmless
    def end(self, at_ms: float, finished: Finished | None, failed: str | None) -> None:
        if finished is not None:
            self._span.set_attribute("gen_ai.response.finish_reasons", [finished.reason])
            self._span.set_attributes(_counts(finished.usage))
        if failed is not None:
            _fail(self._span, failed)
        self._span.end(_nanoseconds(at_ms))


class RunSpans:
    """The spans of one drive of a run: opened with it, named when it is there, then `take` each event, last `end`.

    `context` is what the drive is to run in. Nothing here raises.
    """

    def __init__(self, tracer: Tracer, runtime: Runtime, *, capture_content: bool) -> None:
        self._tracer = tracer
        self._clock = runtime.clock
        self._capture = capture_content
        self._model = model_attributes(runtime.provider_config)
        self._cycle: Span | None = None
        self._actions: dict[tuple[str, Any], Span] = {}
        self._at = _nanoseconds(self._clock.now())
        self.context: Context = get_current()
        self._run: Span | None = None
        self._begin()

    @harmless
    def _begin(self) -> None:
        """Opens the run's span inside the caller's."""
        attributes = {"gen_ai.operation.name": "invoke_agent", **self._model}
        name = f"invoke_agent {self._model['gen_ai.request.model']}".strip()

        self._run = self._tracer.start_span(name, attributes=attributes, start_time=self._at)
        self.context = trace.set_span_in_context(self._run)

    @harmless
    def name(self, run: Run, first: SpanContext | None) -> SpanContext | None:
        """Which run it is; one that goes on links to where it began."""
        if self._run is None:
            return None
        self._run.set_attributes({"agrun.run.id": run.id, "gen_ai.conversation.id": run.session_id})
        if first is not None:
            self._run.add_link(first)
        return self._run.get_span_context()

    @harmless
    def refuse(self, error: BaseException) -> None:
        """The run could not begin."""
        if self._run is not None:
            _fail(self._run, error.code if isinstance(error, AgrunError) else type(error).__name__)
            self._run.end(_nanoseconds(self._clock.now()))

    @harmless
    def call(self, request: ModelRequest) -> ModelCallSpan:
        """A model call begins, where the run is now."""
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", **self._model}
        attributes["agrun.call.purpose"] = request.purpose
        settings = request.settings
        attributes |= {
            to: settings[key] for key, to in _SETTINGS.items() if isinstance(settings.get(key), (int, float))
        }
        name = f"chat {self._model['gen_ai.request.model']}".strip()
        at = _nanoseconds(self._clock.now())
        return ModelCallSpan(self._tracer.start_span(name, self._within(), SpanKind.CLIENT, attributes, start_time=at))

    @harmless
    def take(self, event: RunEvent) -> None:
        self._at = _nanoseconds(event.at)
        detail = event.detail
        if event.type == "cycle-started":
            self._close_cycle()
            self._cycle = self._open("cycle", self.context, {"agrun.cycle": event.cycle})
        elif event.type == "cycle-completed":
            self._close_cycle({"agrun.cycle.outcome": str(detail.get("outcome", ""))})
        elif event.type == "model-retry":
            told = {"error.type": str(detail["code"]), "agrun.retry.attempt": detail["attempt"]}
            self._note("retry", told)
        elif event.type == "planner-invalid-decision":
            self._note("invalid decision", {"error.type": str(detail.get("reason", ""))})
        elif event.type == "action-executing":
            self._open_action(detail)
        elif event.type in _ACTION_ENDS:
            self._close_action(event)
        elif event.type in _RUN_ENDS and self._run is not None:
            self._run.set_attribute("agrun.run.status", event.type.removeprefix("run-"))

    @harmless
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
        self._close_cycle(failed=code)
        if result is not None:
            run.set_attributes(_counts(result.usage))
            if self._capture:
                run.set_attribute("gen_ai.output.messages", _message("assistant", result.text))
                run.set_attribute("gen_ai.input.messages", _message("user", str(result.state["request"]["prompt"])))
        if code is not None:
            _fail(run, code)
        run.end(max(self._at, _nanoseconds(self._clock.now())))

    def _within(self) -> Context:
        return self.context if self._cycle is None else trace.set_span_in_context(self._cycle, self.context)

    def _open(self, name: str, within: Context, attributes: Any) -> Span:
        return self._tracer.start_span(name, within, SpanKind.INTERNAL, attributes, start_time=self._at)

    def _note(self, name: str, told: dict[str, Any]) -> None:
        span = self._cycle or self._run
        if span is not None:
            span.add_event(name, told, self._at)

    def _close_cycle(self, attributes: dict[str, Any] | None = None, *, failed: str | None = None) -> None:
        span, self._cycle = self._cycle, None
        if span is None:
            return
        span.set_attributes(attributes or {})
        if failed is not None:
            _fail(span, failed)
        span.end(self._at)

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


def _counts(usage: Any) -> dict[str, int]:
    """The token counts that are known; None is "the provider did not say", which is not 0."""
    counts = {attribute: getattr(usage, name) for name, attribute in _USAGE.items()}
    return {attribute: count for attribute, count in counts.items() if count is not None}


def _place(detail: dict[str, Any]) -> tuple[str, Any]:
    """Which call of a cycle is meant: actions of one plan run at once."""
    return str(detail["actionName"]), detail.get("planIndex", detail.get("batchIndex"))


def _nanoseconds(ms: float) -> int:
    return round(ms * 1_000_000)


def _fail(span: Span, kind: str) -> None:
    """An error by its type: its words could be anybody's."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)
