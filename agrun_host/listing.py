"""The command `runs`: which runs a database keeps, where each one stands, and what it waits for.

It looks and changes nothing. Must not know: how a run is driven.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agrun_host.options import DatabaseUrl, database_url, refuse
from agrun_wasm import AgrunError

if TYPE_CHECKING:
    from agrun_host.store.run_table import RunRow

__all__ = ["runs"]


def runs(
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="So many at most, the latest first.")] = 20,
    database: DatabaseUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON, a line each.")] = False,
) -> None:
    """List the runs that are kept in the database: their ids, how they stand, what they wait for.

    \b
      agrun runs
      agrun runs --database sqlite:///kept.db --json
      agrun resume run-0123456789abcdef --approve-all
    """
    from agrun_host.terminal import Screen

    try:
        rows = asyncio.run(_rows(database_url(database), limit))
    except AgrunError as error:
        refuse(Screen(), error.message, error.hint)
    if as_json:
        for row in rows:
            print(json.dumps(_shown(row)))
        return
    if not rows:
        Screen().note("no run is kept here; `agrun run ... --keep` keeps one")
        return
    from agrun_host.tables import show_runs

    show_runs([_shown(row) for row in rows])


async def _rows(url: str | None, limit: int) -> list[RunRow]:
    from agrun_host.store.database import Database
    from agrun_host.store.run_table import RunTable

    async with await Database.open(url) as database:
        return await RunTable(database).latest(limit)


def _shown(row: RunRow) -> dict[str, Any]:
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row.created_at))
    return {"runId": row.id, "sessionId": row.session_id, "status": row.status, "created": created, "says": _says(row)}


def _says(row: RunRow) -> str:
    """What it waits for, or what came of it."""
    result = row.result or {}
    output, error = result.get("output") or {}, result.get("error") or {}
    approvals = [f"{each['actionName']} ({each['approvalId']})" for each in output.get("approvals") or []]
    if approvals:
        return f"approve {', '.join(approvals)}"
    return str(error.get("message") or output.get("text") or "")
