"""One PostgreSQL, and one process to fork others from, for all tests that need them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.postgres import Postgres, running
from tests.host.zygote import Zygote


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Where the processes come from that tests start and kill."""
    forking = Zygote()
    yield forking
    forking.end()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database()
