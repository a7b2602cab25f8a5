"""A PostgreSQL of the tests' own: on loopback, without a password, as a user without rights, gone with the session.

Debian's package (build.py test installs it where it can). Where there is none, the tests on it are skipped; under CI
that is a failure.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/bin", "/usr/bin")
_OPTIONS = {"fsync": "off", "synchronous_commit": "off", "max_connections": "200", "unix_socket_directories": "''"}


def binaries() -> Path | None:
    """The folder with initdb and postgres."""
    found = [Path("/") / match for place in _PLACES for match in sorted(Path("/").glob(place[1:]))]
    return next((folder for folder in found if (folder / "initdb").exists()), None)


class Postgres:
    """A running server."""

    def __init__(self, port: int, program: Path) -> None:
        self.port = port
        self._program = program
        self._numbers = itertools.count(1)

    def new_database(self) -> str:
        """The URL of a database with nothing in it."""
        name = f"test_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name}", "postgres")
        return f"postgresql://tests@127.0.0.1:{self.port}/{name}"

    def sql(self, statement: str, database: str) -> str:
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "tests", "-d", database]
        return self._output("psql", *where, "-Atc", statement)

    def dump(self, url: str) -> str:
        """Everything that is in a database, as text."""
        return self._output("pg_dump", url)

    def _output(self, program: str, *arguments: str) -> str:
        command = [str(self._program / program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextmanager
def running() -> Iterator[Postgres]:
    program = binaries()
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("there is no PostgreSQL; `apt-get install postgresql` brings it")
        pytest.skip("there is no PostgreSQL here; `apt-get install postgresql` brings it")
    folder = Path(tempfile.mkdtemp(prefix="agrun-postgres-"))
    user = _user(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    command: list[str | Path] = [
        program / "initdb",
        "-D",
        data,
        "-U",
        "tests",
        "-A",
        "trust",
        "-N",
        "--no-locale",
        "-E",
        "UTF8",
    ]
    subprocess.run(command, check=True, capture_output=True, user=user, cwd=folder, env={**os.environ, "LC_ALL": "C"})
    options = [part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}".replace("''", ""))]
    with (folder / "log").open("wb") as log:
        command = [program / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), *options]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, user=user, cwd=folder)
    try:
        ready: list[str | Path] = [program / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-t", "1"]
        for _ in range(300):
            if subprocess.run(ready, capture_output=True, check=False).returncode == 0:
                break
            if server.poll() is not None:
                pytest.fail(f"PostgreSQL did not start: {(folder / 'log').read_text()}")
        yield Postgres(port, program)
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: what it holds is thrown away
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _user(folder: Path) -> int | None:
    """PostgreSQL refuses to run as root: then another user has the folder."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, found.pw_uid, found.pw_gid)
        return found.pw_uid
    return None
