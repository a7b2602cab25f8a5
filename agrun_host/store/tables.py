"""The tables. JSON stands in them as ASCII text: PostgreSQL takes neither NUL nor lone surrogates in a text, and JSON
escapes both.
"""

from __future__ import annotations

import sqlalchemy as sa

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.text.strict_json import without_surrogates

__all__ = [
    "APPROVAL_MOST",
    "approvals",
    "check_id",
    "entries",
    "events",
    "executors",
    "is_id",
    "metadata",
    "runs",
    "sessions",
    "states",
]

ID_MOST, APPROVAL_MOST = 200, 300

metadata = sa.MetaData()

#: one row a run. `drive` counts how often it was set in motion; `revision` rises with each change (compare and set);
#: `reserved` is above every event number that anybody may have seen; `asked` is a digest of what the run was asked for
runs = sa.Table(
    "agrun_runs",
    metadata,
    sa.Column("id", sa.String(ID_MOST), primary_key=True),
    sa.Column("session_id", sa.String(ID_MOST), index=True),
    sa.Column("status", sa.String(20), nullable=False, index=True),
    sa.Column("drive", sa.Integer, nullable=False, default=1),
    sa.Column("decisions", sa.Text),
    sa.Column("stop", sa.String(20)),
    sa.Column("result", sa.Text),
    sa.Column("reserved", sa.BigInteger, nullable=False, default=0),
    sa.Column("revision", sa.Integer, nullable=False, default=1),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("changed_at", sa.Float, nullable=False),
    sa.Column("asked", sa.String(64)),
)
#: the state from which a run's drive begins
states = sa.Table(
    "agrun_states",
    metadata,
    sa.Column("run_id", sa.String(ID_MOST), primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False, default=1),
)
#: what was added to such a state's journal since it was saved whole, in order
entries = sa.Table(
    "agrun_entries",
    metadata,
    sa.Column("run_id", sa.String(ID_MOST), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("entry", sa.Text, nullable=False),
)
events = sa.Table(
    "agrun_events",
    metadata,
    sa.Column("run_id", sa.String(ID_MOST), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("event", sa.Text, nullable=False),
)
#: `holder` is the run that has the session's turn
sessions = sa.Table(
    "agrun_sessions",
    metadata,
    sa.Column("id", sa.String(ID_MOST), primary_key=True),
    sa.Column("history", sa.Text, nullable=False, default="[]"),
    sa.Column("holder", sa.String(ID_MOST)),
    sa.Column("revision", sa.Integer, nullable=False, default=1),
)
#: approvals that were answered: each counts once
approvals = sa.Table(
    "agrun_approvals",
    metadata,
    sa.Column("id", sa.String(APPROVAL_MOST), primary_key=True),
    sa.Column("run_id", sa.String(ID_MOST), nullable=False, index=True),
)
#: processes that drive runs; one that lives holds a lock of its name
executors = sa.Table("agrun_executors", metadata, sa.Column("id", sa.String(ID_MOST), primary_key=True))


def is_id(text: str, most: int = ID_MOST) -> bool:
    """Can it stand in a column of ids, of either database? Nothing has an id that cannot."""
    return 0 < len(text) <= most and "\0" not in text and without_surrogates(text) == text


def check_id(given: str) -> None:
    """Raises ConfigInvalid for what cannot be the id of a run or session."""
    if not is_id(given):
        hint = f"Take 1 to {ID_MOST} characters, none of them NUL."
        raise ConfigInvalid(f"{given[:40]!r} is no id of a run or session", hint=hint)
