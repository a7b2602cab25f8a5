"""The metrics of model calls: how long each took, and how many tokens it cost.

Names, units and buckets are those of the GenAI semantic conventions. Must not know: spans, how a call is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.metrics import Meter

from agrun_host.telemetry_safety import harmless
from agrun_wasm import Finished

__all__ = ["UsageMetrics"]

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_FIRST_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


class UsageMetrics:
    """Histograms of a meter. Every attribute is of few values: no run, no session, no words."""

    def __init__(self, meter: Meter) -> None:
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "How long a model call took.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._first = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            "s",
            "How long the first piece of an answer took.",
            explicit_bucket_boundaries_advisory=_FIRST_SECONDS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of a model call.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )

    @harmless
    def record(
        self,
        model: Mapping[str, Any],
        finished: Finished | None,
        failed: str | None,
        *,
        took_ms: float,
        wait_ms: float | None,
    ) -> None:
        """A call that is over; `wait_ms` passed before its first piece, None where none came."""
        told = {"gen_ai.operation.name": "chat", **model}
        self._seconds.record(took_ms / 1000, {**told, **({"error.type": failed} if failed else {})})
        if wait_ms is not None:
            self._first.record(wait_ms / 1000, told)
        if finished is None:
            return
        for kind, count in (("input", finished.usage.input_tokens), ("output", finished.usage.output_tokens)):
            if count is not None:
                self._tokens.record(count, {**told, "gen_ai.token.type": kind})
