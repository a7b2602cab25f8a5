"""M5: one cycle in the browser, with a model that only plays a script: the runtime's own cost and nothing else's.

Ours runs in the worker of our page, on the bundle that pages get; pydantic-ai with its FunctionModel in a worker's
Pyodide of the same files, in the same Chromium; ours on CPython in a process beside them. They take turns in a round.
"""

from __future__ import annotations

from tests.bench import peers
from tests.bench.figures import Finding, against_each
from tests.bench.session import Session

ROUNDS = 3
CYCLES = 50
#: the peer of a finding -> its figure, the reach, its words
PEERS: dict[str, tuple[str, float, str]] = {
    "pydantic-ai in Pyodide": ("peer_ms", 1 / 8, "1/8 of pydantic-ai"),
    "agrun_wasm on CPython": ("cpython_ms", 6.0, "6 times CPython"),
}


def cost(session: Session) -> list[Finding]:
    peers.ensure_pyodide()
    taken = [session.subject("cycle_in_browser", CYCLES) for _ in range(session.rounds(ROUNDS))]
    return against_each("M5", f"cycle in the browser against {{peer}}, N = {CYCLES}", taken, "ours_ms", PEERS)
