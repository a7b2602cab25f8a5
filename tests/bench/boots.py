"""M3 and M4: from navigation to `ready` in Chromium, with a snapshot, without, and beside others in Pyodide.

M3 compares second visits in one browser profile: ours with a snapshot, ours without, and pydantic-ai in a worker's
Pyodide until it is imported. M4 compares first visits, each in a profile that has never been here: ours to `ready`, and
a bare `loadPyodide()` of the same files. The sides take turns.
"""

from __future__ import annotations

from tests.bench import peers
from tests.bench.figures import Finding, Series, against_each, against_peers
from tests.bench.session import Session

ROUNDS = 5
#: the peer of a finding of M3 -> its figure, the reach, its words
WARM_PEERS: dict[str, tuple[str, float, str]] = {
    "no snapshot": ("cold_ms", 1 / 5, "1/5 of no snapshot"),
    "pydantic-ai in Pyodide": ("peer_ms", 1 / 12, "1/12 of pydantic-ai"),
}


def warm(session: Session) -> list[Finding]:
    peers.ensure_pyodide()
    taken = [session.subject("boot_page", "warm") for _ in range(session.rounds(ROUNDS))]
    return against_each("M3", "warm start against {peer}", taken, "warm_ms", WARM_PEERS)


def first(session: Session) -> list[Finding]:
    taken = [session.subject("boot_page", "first") for _ in range(session.rounds(ROUNDS))]
    return [
        against_peers(
            "M4",
            "first visit, navigation to ready",
            "ms",
            ours=Series.of(one["first_ms"] for one in taken),
            peers={"bare Pyodide": Series.of(one["bare_ms"] for one in taken)},
            reach=1.25,
            reach_text="1.25 of bare Pyodide",
        )
    ]
