"""M1 and M2: the client's CPU time for one cycle of a conversation of N tool calls, and how it grows with N.

One fake server answers everyone (`fake_openai`); a cycle is one model call with what it leads to, N + 1 in a
conversation. Every figure is a new process: a warm-up conversation of 10, then the one that counts. The subjects take
turns within a round. Ours streams, as it always does; the peers do not, which is the cheaper way.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from build_tasks.steps import ROOT, say
from tests.bench.figures import Finding, Series, against_peers
from tests.bench.session import Session

OURS = "cycle_agrun"
PEERS = {
    "pydantic-ai": "cycle_pydantic_ai",
    "openai-agents": "cycle_openai_agents",
    "langgraph": "cycle_langgraph",
}
ROUNDS = 3
LENGTHS = (10, 50, 200)
#: tool calls -> reach against the best peer, and its words
REACHES = {50: (1 / 8, "1/8 of best peer"), 200: (1 / 20, "1/20 of best peer")}
GROWTH_REACH = 1.5


def cost(session: Session) -> list[Finding]:
    """M1 at each length; the shortest conversation has no reach of its own and is told with M2."""
    _take(session, (OURS, *PEERS.values()), LENGTHS)
    return [
        against_peers(
            "M1",
            f"CPU per cycle, N = {cycles}",
            "ms",
            ours=session.series[OURS, cycles],
            peers={name: session.series[subject, cycles] for name, subject in PEERS.items()},
            reach=reach,
            reach_text=text,
        )
        for cycles, (reach, text) in REACHES.items()
    ]


def growth(session: Session) -> list[Finding]:
    """M2, of ours, and of the peers where M1 has been taken in this run."""
    short, long = LENGTHS[0], LENGTHS[-1]
    _take(session, (OURS,), (short, long))
    grown = {
        name: session.series[subject, long] / session.series[subject, short]
        for name, subject in {"agrun_wasm": OURS, **PEERS}.items()
        if (subject, long) in session.series
    }
    notes = {
        name: f"{session.series[subject, short].median:.2f} ms at N = {short}"
        for name, subject in {"agrun_wasm": OURS, **PEERS}.items()
        if (subject, short) in session.series
    }
    ours = grown.pop("agrun_wasm")
    what = f"CPU per cycle at {long} / at {short}"
    return [Finding("M2", what, "x", ours, grown, ours, GROWTH_REACH, f"{GROWTH_REACH}", notes=notes)]


def _take(session: Session, subjects: Sequence[str], lengths: Sequence[int]) -> None:
    """Adds to the session the series that it has not got yet."""
    missing = [(s, n) for n in lengths for s in subjects if (s, n) not in session.series]
    if not missing:
        return
    figures: dict[tuple[str, int], list[float]] = {pair: [] for pair in missing}
    pythons = {subject: session.python if subject == OURS else session.peers_python for subject, _ in missing}
    with _server(session) as port:
        for number in range(session.rounds(ROUNDS)):
            say(f"    round {number + 1} of {session.rounds(ROUNDS)}")
            for subject, cycles in missing:
                taken = session.subject(subject, port, cycles, python=pythons[subject])
                figures[subject, cycles].append(taken["cpu_ms"])
    for (subject, cycles), values in figures.items():
        session.series[subject, cycles] = Series.of(values)


@contextmanager
def _server(session: Session) -> Iterator[int]:
    """The fake server in a process of its own; gives its port."""
    command = [str(session.python), "-m", "tests.bench.fake_openai"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()
