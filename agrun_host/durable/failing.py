"""The end of a run that could not come to one of its own, for a fault of ours.

It ends as failed all the same: nobody would wait for a run that stands still, and its session would stand still with
it. Must not know: what the fault was; its words may hold anything, and are in the log alone.
"""

from __future__ import annotations

import time
from typing import Any

from agrun_host.durable.places import Places
from agrun_host.runs import BROKEN, failed_result
from agrun_wasm.contracts.events import RunEvent

__all__ = ["fail"]


async def fail(places: Places, run_id: str, number: int) -> None:
    """Ends the drive as failed: tells its readers, releases its session. Nothing happens to one that is over."""
    row = await places.runs.get(run_id)
    if row is None or row.is_over or row.drive != number:
        return
    steps: list[dict[str, Any]] = []
    while page := await places.events.read(run_id, steps[-1]["seq"] if steps else 0):
        steps += page
    seq = max(row.reserved, steps[-1]["seq"] if steps else 0) + 1  # above every number that anybody may have seen
    cycle = steps[-1]["cycle"] if steps else 0
    detail = {"source": "failed", "code": BROKEN.code, "message": BROKEN.message}
    last = RunEvent.made(seq, "run-failed", run_id, cycle, time.time() * 1000, detail).to_json()
    if row.session_id is not None:
        await places.sessions.give_turn(row.session_id, run_id, [])
    shown = failed_result(run_id, row.session_id, BROKEN).to_json() | {"steps": [*steps, last]}
    del shown["state"]
    await places.runs.end(run_id, number, "failed", shown, None, seq, last=last)
