"""Database URLs as people write them, read into the one form that SQLAlchemy's async engines take.

Owned here too: where the database lies that nobody named. Must not know: tables.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from agrun_wasm.contracts.errors import ConfigInvalid

__all__ = ["database_url", "default_file"]

#: what people write -> the drivers: for our tables, and for DBOS's, whose engine is synchronous
DRIVERS = {"sqlite": ("sqlite+aiosqlite", "sqlite"), "postgresql": ("postgresql+asyncpg", "postgresql+psycopg")}
DRIVERS["postgres"] = DRIVERS["postgresql"]
_HINT = "Write sqlite:///path/to/file.db or postgresql://user:password@host:5432/name."


def default_file() -> Path:
    """agrun.db in the user's data folder: $XDG_DATA_HOME or ~/.local/share, %LOCALAPPDATA%, ~/Library on a Mac."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "agrun" / "agrun.db"


def database_url(given: str | None) -> tuple[URL, URL]:
    """The URL for our tables and the one for DBOS's. Raises ConfigInvalid, which never shows a password."""
    if given is None:
        path = default_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        given = f"sqlite:///{path}"
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise ConfigInvalid("database: this is no database URL", hint=_HINT) from None
    drivers = DRIVERS.get(url.get_backend_name())
    if drivers is None:
        raise ConfigInvalid(f"database: {url.get_backend_name()!r} is no database that this server can use", hint=_HINT)
    if drivers[0].startswith("sqlite") and url.database in (None, "", ":memory:"):
        raise ConfigInvalid("database: SQLite needs a file, since what is in memory is lost", hint=_HINT)
    ours, engine = (url.set(drivername=driver) for driver in drivers)
    return ours, engine
