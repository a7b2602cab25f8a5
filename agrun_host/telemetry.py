"""OpenTelemetry of runs: spans and metrics under the names of the GenAI semantic conventions.

Owned here: what is put between a runtime and whoever uses it, and that nothing of telemetry ever reaches a run. Must
not know: which event makes which span (`telemetry_spans`), exporters (`telemetry_export`). Needs the extra
`telemetry`; without an SDK in the process OpenTelemetry's own spans do nothing.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.metrics import Meter
from opentelemetry.trace import SpanContext, Tracer

from agrun_host.telemetry_spans import RunSpans, model_attributes
from agrun_host.telemetry_usage import UsageMetrics
from agrun_wasm import Finished, ProviderError, Run, RunResult, Runtime
from agrun_wasm.contracts.model import ModelEvent, ModelRequest

__all__ = ["instrument"]

AnyRuntime = TypeVar("AnyRuntime", bound=Runtime)

#: so many runs are remembered, so that one that goes on links to where it began
_REMEMBERED = 1_000

#: the run that is driven in this context: its model calls are made there
_driven: ContextVar[RunSpans | None] = ContextVar("agrun_driven", default=None)


def instrument(
    runtime: AnyRuntime, *, tracer: Tracer | None = None, meter: Meter | None = None, capture_content: bool = False
) -> AnyRuntime:
    """Makes spans and metrics of every run of this runtime from now on; gives the same runtime.

    `tracer` and `meter` are the process's own unless given. `capture_content` lets prompts, answers, arguments and
    results into the spans. A second call changes nothing.
    """
    if getattr(runtime, "_telemetry", None) is not None:
        return runtime
    usage = UsageMetrics(meter or metrics.get_meter("agrun"))
    telemetry = _Telemetry(runtime, tracer or trace.get_tracer("agrun"), capture_content=capture_content)
    runtime._telemetry = telemetry  # type: ignore[attr-defined]
    runtime.ports = dataclasses.replace(runtime.ports, provider=_FollowedProvider(runtime, usage))
    for name in ("stream", "stream_resume", "stream_abort"):
        setattr(runtime, name, _wrapped(getattr(runtime, name), telemetry))
    return runtime


class _Telemetry:
    """What the runs of one runtime share."""

    def __init__(self, runtime: Runtime, tracer: Tracer, *, capture_content: bool) -> None:
        self._runtime = runtime
        self._tracer = tracer
        self._capture = capture_content
        self._firsts: OrderedDict[str, SpanContext] = OrderedDict()

    def begin(self) -> RunSpans:
        return RunSpans(self._tracer, self._runtime, capture_content=self._capture)

    def attend(self, spans: RunSpans, run: Run) -> None:
        """The run is there: its spans know it, and see its events as they happen."""
        first = self._firsts.get(run.id)
        if (begun := spans.name(run, first)) is not None:
            self._firsts.setdefault(run.id, begun)
        while len(self._firsts) > _REMEMBERED:
            self._firsts.popitem(last=False)
        run.watch(spans.take)


class _FollowedStart:
    """A run's start whose spans are open from before it is entered until after it is left."""

    def __init__(self, start: Any, telemetry: _Telemetry) -> None:
        self._start = start
        self._telemetry = telemetry
        self._spans: RunSpans | None = None
        self._run: Run | None = None

    async def __aenter__(self) -> Run:
        spans = self._telemetry.begin()
        # The drive begins within, and takes the context with it: what an action traces by itself is part of the run.
        attached, driven = otel_context.attach(spans.context), _driven.set(spans)
        try:
            run: Run = await self._start.__aenter__()
        except BaseException as error:
            spans.refuse(error)
            raise
        finally:
            _driven.reset(driven)
            otel_context.detach(attached)
        self._telemetry.attend(spans, run)
        self._spans, self._run = spans, run
        return run

    async def __aexit__(self, *fault: object) -> None:
        try:
            await self._start.__aexit__(*fault)
        finally:
            if self._spans is not None and self._run is not None:
                self._spans.end(await _result_of(self._run))

    def __aiter__(self) -> Any:
        return self._start.__aiter__()

    def __await__(self) -> Any:
        return self._start.__await__()


class _FollowedProvider:
    """A provider whose calls are spans in the run that makes them. A call that a journal answers is none."""

    def __init__(self, runtime: Runtime, usage: UsageMetrics) -> None:
        self._provider = runtime.ports.provider
        self._clock = runtime.clock
        self._usage = usage
        self._model = model_attributes(runtime.provider_config)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        spans = _driven.get()
        span = None if spans is None else spans.call(request)
        began, first, finished = self._clock.now(), None, None
        failed: str | None = "PROVIDER_BAD_RESPONSE"  # of a stream that ends without its end mark
        events: Any = None
        try:
            events = self._provider.stream(request)
            events = events if isinstance(events, AsyncIterator) else await events
            async for event in events:
                first = self._clock.now() if first is None else first
                if isinstance(event, Finished):
                    finished, failed = event, None
                yield event
        except ProviderError as error:
            failed = error.code
            raise
        except BaseException as error:  # stopped, or cut by a deadline
            failed = "aborted" if not isinstance(error, Exception) else type(error).__name__
            raise
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
            now = self._clock.now()
            if span is not None:
                span.end(now, finished, failed)
            wait = None if first is None else first - began
            self._usage.record(self._model, finished, failed, took_ms=now - began, wait_ms=wait)


async def _result_of(run: Run) -> RunResult | None:
    """None for a run that failed by itself: what broke it is told to whoever asks for its result."""
    try:
        return await run.result()
    except Exception:
        return None


def _wrapped(made: Callable[..., Any], telemetry: _Telemetry) -> Callable[..., _FollowedStart]:
    def start(*args: Any, **options: Any) -> _FollowedStart:
        return _FollowedStart(made(*args, **options), telemetry)

    return start
