"""A collector on this machine: takes OTLP over HTTP as a real one does, and keeps what it was sent."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Collector", "collecting"]


class Collector:
    """What was sent: spans as dicts of name, id, parent, attributes, error; metrics as points by name."""

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[bytes] = []
        self.spans: list[dict[str, Any]] = []
        self.points: dict[str, list[dict[str, Any]]] = {}
        self.services: set[str] = set()

    def named(self, begin: str) -> list[dict[str, Any]]:
        return [span for span in self.spans if span["name"].startswith(begin)]

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.services.add(_attributes(resource.resource.attributes)["service.name"])
                for scope in resource.scope_spans:
                    self.spans += [_span(span) for span in scope.spans]
        elif path == "/v1/metrics":
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                    self.points.setdefault(metric.name, []).extend(
                        {"sum": point.sum, "count": point.count, "bounds": list(point.explicit_bounds)}
                        | _attributes(point.attributes)
                        for point in metric.histogram.data_points
                    )


@contextmanager
def collecting(*, status: int = 200, delay: float = 0.0) -> Iterator[Collector]:
    """A collector that answers with `status` after `delay` seconds."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            time.sleep(delay)
            if status == 200:
                collector.take(self.path, body)
            try:
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()
            except OSError:  # whoever sent it has left
                pass

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _span(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "failed": span.status.code == 2,
        "events": [event.name for event in span.events],
        **_attributes(span.attributes),
    }


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
