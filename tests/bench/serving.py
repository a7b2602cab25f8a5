"""M9: a server under 500 runs of 5 cycles at once: none lost, what a waiting run weighs, and CPU beside one by one."""

from __future__ import annotations

from tests.bench.figures import Finding, Series
from tests.bench.session import Session

ROUNDS = 3
RUNS = 500


def cost(session: Session) -> list[Finding]:
    taken = [session.subject("serve_agrun", RUNS) for _ in range(session.rounds(ROUNDS))]
    lost = Series.of(one["lost"] for one in taken)
    weight = Series.of(one["kb_per_run"] for one in taken)
    at_once = Series.of(one["at_once_ms"] for one in taken)
    alone = Series.of(one["sequential_ms"] for one in taken)
    return [
        Finding("M9", f"{RUNS} runs at once, lost", "runs", lost, {}, lost, 0, "none"),
        Finding("M9", "memory of a waiting run", "KB", weight, {}, weight, 150, "150 KB"),
        Finding(
            "M9",
            "CPU of a run among them",
            "ms",
            at_once,
            {"one by one": alone},
            at_once / alone,
            1.3,
            "1.3 of one by one",
        ),
    ]
