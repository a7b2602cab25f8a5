"""Bringing a database to the newest tables, by Alembic, when it is opened. Several processes may open it at once."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError

from agrun_wasm.contracts.errors import ConfigInvalid

__all__ = ["FOLDER", "migrate"]

FOLDER = Path(__file__).parent / "migrations"
#: PostgreSQL's lock of whoever migrates; on SQLite the write lock of the transaction is one
_LOCK = 0x6167_7275_6E5F_6462


def migrate(connection: sa.Connection) -> None:
    """Runs every migration that is still to be run, in the connection's transaction. Raises ConfigInvalid for a
    database that a newer version has made."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    newest = ScriptDirectory.from_config(config).get_current_head()
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise ConfigInvalid(
            f"database: its tables are not of this version of agrun-host, which knows them up to {newest} ({error})",
            hint="Update agrun-host, or give another database.",
        ) from None
