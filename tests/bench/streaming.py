"""M7: CPU per text delta from the provider's bytes to the JSON of its event at the border, and the time it takes.

The reach is in microseconds on CPython, as document 5 has it, so the lowest round counts: other work on the machine
only adds. Beside it stands what the same stream costs when nothing is done but cutting, reading and writing JSON.
"""

from __future__ import annotations

from tests.bench.figures import Finding, Series
from tests.bench.session import Session

DELTAS = 10_000
ROUNDS = 5
REACH_US = 50.0
#: events that come in one chunk -> how that is called
CHUNKS = {1: "one event a chunk", 10: "ten events a chunk"}


def cost(session: Session) -> list[Finding]:
    bare: list[float] = []
    ours: dict[int, list[dict[str, float]]] = {per_chunk: [] for per_chunk in CHUNKS}
    for _ in range(session.rounds(ROUNDS)):
        bare.append(session.subject("stream_bare", DELTAS)["cpu_us"])
        for per_chunk, taken in ours.items():
            taken.append(session.subject("stream_agrun", DELTAS, per_chunk))
    return [_finding(name, ours[per_chunk], Series.of(bare)) for per_chunk, name in CHUNKS.items()]


def _finding(name: str, taken: list[dict[str, float]], bare: Series) -> Finding:
    cpu = Series.of(one["cpu_us"] for one in taken)
    middle = Series.of(one["latency_median_us"] for one in taken)
    late = Series.of(one["latency_p99_us"] for one in taken)
    notes = {"byte to event": f"median {middle.median:.0f} µs, p99 {late.median:.0f} µs"}
    what = f"CPU per delta, {name}"
    reach_text = f"{REACH_US:g} µs (lowest)"
    return Finding("M7", what, "µs", cpu, {"bare JSON": bare}, cpu, REACH_US, reach_text, lowest=True, notes=notes)
