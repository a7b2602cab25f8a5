"""M3 and M4: from navigation to `ready` in Chromium, with a snapshot, without, and beside Pyodide alone.

M3 compares the second visits of one browser profile, with a snapshot and without. M4 compares first visits, each in a
profile that has never been here: ours to `ready`, and a bare `loadPyodide()` of the same files. The sides take turns.
"""

from __future__ import annotations

from tests.bench.figures import Finding, Series, against_peers
from tests.bench.session import Session

ROUNDS = 5
#: number -> what, the figure of ours, the peer and its figure, the reach
SIDES: dict[str, tuple[str, str, str, str, float, str]] = {
    "M3": ("warm start", "warm_ms", "no snapshot", "cold_ms", 1 / 5, "1/5 of no snapshot"),
    "M4": ("first visit", "first_ms", "bare Pyodide", "bare_ms", 1.25, "1.25 of bare Pyodide"),
}


def warm(session: Session) -> list[Finding]:
    return [_finding(session, "M3")]


def first(session: Session) -> list[Finding]:
    return [_finding(session, "M4")]


def _finding(session: Session, number: str) -> Finding:
    what, own, peer, other, reach, reach_text = SIDES[number]
    taken = [session.subject("boot_page", number) for _ in range(session.rounds(ROUNDS))]
    return against_peers(
        number,
        f"{what}, navigation to ready",
        "ms",
        ours=Series.of(one[own] for one in taken),
        peers={peer: Series.of(one[other] for one in taken)},
        reach=reach,
        reach_text=reach_text,
    )
