"""M10: a plan of 8 actions of 100 ms each, from plan-executing to plan-executed, on a real and on a virtual clock.

Judged against one bare wait of 100 ms in the same process: 130 ms is 1.3 of it. In virtual time nothing but waiting
takes time, so that more than one such wait shows actions that ran one after another.
"""

from __future__ import annotations

from tests.bench.figures import Finding, Series, against_peers
from tests.bench.session import Session

ACTIONS, EACH_MS = 8, 100
#: kind of time -> rounds
CLOCKS = {"real": 5, "virtual": 1}
REACH = 1.3


def time(session: Session) -> list[Finding]:
    return [_finding(session, clock, session.rounds(rounds)) for clock, rounds in CLOCKS.items()]


def _finding(session: Session, clock: str, rounds: int) -> Finding:
    taken = [session.subject("plan_agrun", clock, ACTIONS, EACH_MS) for _ in range(rounds)]
    return against_peers(
        "M10",
        f"{ACTIONS} actions of {EACH_MS} ms, {clock} time",
        "ms",
        ours=Series.of(one["plan_ms"] for one in taken),
        peers={"one bare wait": Series.of(one["one_ms"] for one in taken)},
        reach=REACH,
        reach_text=f"{REACH * EACH_MS:.0f} ms ({REACH} waits)",
    )
