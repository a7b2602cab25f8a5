"""Where durable runs are kept: the tables, together."""

from __future__ import annotations

from typing import NamedTuple, Self

from agrun_host.store.database import Database
from agrun_host.store.event_table import EventTable
from agrun_host.store.run_table import RunTable
from agrun_host.store.session_table import SessionTable

__all__ = ["Places"]


class Places(NamedTuple):
    """The tables of one open database."""

    database: Database
    runs: RunTable
    events: EventTable
    sessions: SessionTable

    @classmethod
    def of(cls, database: Database) -> Self:
        return cls(database, RunTable(database), EventTable(database), SessionTable(database))
