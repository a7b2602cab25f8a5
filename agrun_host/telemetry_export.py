"""Telemetry of a command, switched on by OpenTelemetry's own environment variables: what is sent where, and its end.

Owned here: the exporters of this process, how long its end waits for them, and what is said where telemetry is asked
for and cannot be. A collector that is away, slow or broken is told once and harms nothing. Must not know: spans.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agrun_host.options import refuse
from agrun_wasm import Runtime

if TYPE_CHECKING:
    from agrun_host.terminal import Screen

__all__ = ["asked_for", "telemetry"]

Instrument = Callable[[Runtime], Runtime]

#: any of these asks for telemetry
_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")
#: OpenTelemetry's own switch for words of people and models
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
#: how long the end of a command waits for what is still to be sent
_FLUSH_S = 5.0
_MISSING = "telemetry needs OpenTelemetry"
_INSTALL = "pip install 'agrun-host[telemetry]'"


def asked_for(environment: Mapping[str, str]) -> bool:
    """Do the variables ask for telemetry?"""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporters = [environment.get(name, "").strip() for name in _EXPORTERS]
    if exporters == ["none", "none"]:
        return False
    return any(environment.get(name, "").strip() for name in _ENDPOINTS) or any(
        exporter not in ("", "none") for exporter in exporters
    )


@contextmanager
def telemetry(screen: Screen, *, wanted: bool = False) -> Iterator[Instrument]:
    """Within the block: what makes spans and metrics of a runtime's runs, where they are `wanted` or the environment
    asks for them; else what gives a runtime back as it is. Leaving it sends the rest.

    What is wanted on the command line and cannot be ends the command; what only the environment asks for is told.
    """
    exporting: _Exporting | None = None
    instrument: Instrument = _as_it_is
    if wanted or asked_for(os.environ):
        try:
            exporting, instrument = _opened(os.environ)
        except ImportError as missing:
            if wanted:
                refuse(screen, f"--otel: {_MISSING} ({missing.name} is not installed)", _INSTALL)
            screen.problem(f"OTEL_* asks for telemetry, and {_MISSING}; going on without it", _INSTALL)
    try:
        yield instrument
    finally:
        if exporting is not None and (trouble := exporting.close()):
            screen.note(f"telemetry: {trouble}")


def _opened(environment: Mapping[str, str]) -> tuple[_Exporting | None, Instrument]:
    """Exporters of our own, unless whoever started this process has set up theirs (`opentelemetry-instrument`)."""
    from opentelemetry import metrics, trace

    from agrun_host.telemetry import instrument

    tracers: Any = trace.get_tracer_provider()
    meters: Any = metrics.get_meter_provider()
    ours = _Exporting.of(environment) if isinstance(tracers, trace.ProxyTracerProvider) else None
    if ours is not None:
        tracers, meters = ours.tracer_provider, ours.meter_provider
    tracer, meter = tracers.get_tracer("agrun"), meters.get_meter("agrun")
    capture = environment.get(_CAPTURE, "").strip().lower() in ("true", "span_only", "span_and_event")
    return ours, lambda runtime: instrument(runtime, tracer=tracer, meter=meter, capture_content=capture)


def _as_it_is(runtime: Runtime) -> Runtime:
    return runtime


class _Exporting:
    """The tracer and meter providers of this process, and what went wrong with them."""

    def __init__(self, tracer_provider: Any, meter_provider: Any) -> None:
        self.tracer_provider = tracer_provider
        self.meter_provider = meter_provider
        self._heard = _Heard()
        log = logging.getLogger("opentelemetry")
        log.addHandler(self._heard)
        log.propagate = False

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> _Exporting:
        """Raises ImportError where a package is missing."""
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        named = "service.name" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "") or "OTEL_SERVICE_NAME" in environment
        resource = Resource.create({} if named else {"service.name": "agrun"})
        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        if (exporter := _exporter(environment, "traces")) is not None:
            traces.add_span_processor(BatchSpanProcessor(exporter))
        exporter = _exporter(environment, "metrics")
        readers = [] if exporter is None else [PeriodicExportingMetricReader(exporter)]
        return cls(traces, MeterProvider(readers, resource=resource, shutdown_on_exit=False))

    def close(self) -> str:
        """Sends what is left, for a while; what went wrong, or nothing."""
        # In a thread that ends with the process: an exporter may try for longer than anybody waits.
        ending = threading.Thread(target=self._shut_down, daemon=True)
        ending.start()
        ending.join(_FLUSH_S)
        logging.getLogger("opentelemetry").removeHandler(self._heard)
        if ending.is_alive():
            return f"the collector took longer than {_FLUSH_S:.0f} s; what was not sent is lost"
        return self._heard.first

    def _shut_down(self) -> None:
        for provider in (self.tracer_provider, self.meter_provider):
            try:
                provider.shutdown()
            except Exception as fault:
                self._heard.first = self._heard.first or str(fault)


class _Heard(logging.Handler):
    """Keeps the first complaint of the exporters, which would repeat it at every batch."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record.getMessage().splitlines()[0]


#: protocol of OTLP, or console -> module and class, for spans and for metrics
_CLASSES = {
    ("traces", "console"): ("opentelemetry.sdk.trace.export", "ConsoleSpanExporter"),
    ("metrics", "console"): ("opentelemetry.sdk.metrics.export", "ConsoleMetricExporter"),
    ("traces", "grpc"): ("opentelemetry.exporter.otlp.proto.grpc.trace_exporter", "OTLPSpanExporter"),
    ("metrics", "grpc"): ("opentelemetry.exporter.otlp.proto.grpc.metric_exporter", "OTLPMetricExporter"),
    ("traces", "http"): ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "OTLPSpanExporter"),
    ("metrics", "http"): ("opentelemetry.exporter.otlp.proto.http.metric_exporter", "OTLPMetricExporter"),
}


def _exporter(environment: Mapping[str, str], signal: str) -> Any:
    """The exporter that the variables name for traces or metrics: otlp (the default), console or none."""
    name = environment.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip() or "otlp"
    if name == "none":
        return None
    own = environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
    protocol = own or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
    kind = "console" if name == "console" else "grpc" if protocol == "grpc" else "http"
    module, made = _CLASSES[signal, kind]
    # The answer alone is on standard output.
    return getattr(import_module(module), made)(**({"out": sys.stderr} if kind == "console" else {}))
