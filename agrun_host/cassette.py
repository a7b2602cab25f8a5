"""Cassettes in files: `async with Cassette("asked.jsonl") as cassette: Runtime(fetch=cassette.fetch, ...)`.

Owned here: the file, when it is written, and what ends a test. What a cassette holds is the core's
(`agrun_wasm.providers.cassette`). Must not know: any provider.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.ports import Fetch
from agrun_wasm.providers.cassette import CassetteMiss, RecordingFetch, ReplayingFetch
from agrun_wasm.providers.cassette_text import CassetteInvalid, read_text
from agrun_wasm.runtime.default_ports import SystemClock

__all__ = ["Cassette", "CassetteInvalid", "CassetteMiss", "Mode"]

#: auto records where there is no file yet, and replays where there is one
Mode = Literal["record", "replay", "auto"]


class Cassette:
    """A file of recorded calls, as an async context manager; `fetch` is the port for `Runtime(fetch=...)`.

    `secrets` are taken out beside those that the requests carry. `delays` keeps, or keeps to, the waits between
    chunks. `fetch` is what records (this host's transport unless given). A recording is written call by call, and put
    in order when the block is left. Leaving it raises CASSETTE_MISS where a replay was asked for what it does not hold.
    Entering raises CASSETTE_INVALID and CASSETTE_VERSION_UNSUPPORTED.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "auto",
        *,
        secrets: Iterable[str] = (),
        delays: bool = False,
        fetch: Fetch | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigInvalid(f"Cassette: mode must be record, replay or auto, not {mode!r}")
        self.path = Path(path)
        found = self.path.exists() if mode == "auto" else mode == "replay"
        self.mode: Literal["record", "replay"] = "replay" if found else "record"
        self._secrets = tuple(secrets)
        self._clock = SystemClock() if delays else None
        self._given = fetch
        self._transport: HttpFetch | None = None
        self._port: RecordingFetch | ReplayingFetch | None = None

    @property
    def fetch(self) -> RecordingFetch | ReplayingFetch:
        """The port of the open cassette."""
        if self._port is None:
            raise ConfigInvalid("Cassette: `fetch` is there inside `async with Cassette(...)` only")
        return self._port

    @property
    def misses(self) -> list[CassetteMiss]:
        return self._port.misses if isinstance(self._port, ReplayingFetch) else []

    def open(self) -> None:
        """What entering does: reads the file of a replay, looks whether a recording can be written."""
        if self.mode == "replay":
            self._port = ReplayingFetch(
                read_text(self._read(), str(self.path)), secrets=self._secrets, clock=self._clock
            )
            return
        if not self.path.parent.is_dir():
            raise CassetteInvalid(f"{self.path}: there is no folder {self.path.parent} to record into")
        if self._given is None:
            self._transport = HttpFetch()
        self._port = RecordingFetch(
            self._given or self._transport,  # type: ignore[arg-type]
            secrets=self._secrets,
            clock=self._clock,
            on_end=self._keep,
        )

    def _keep(self, text: str, is_whole: bool) -> None:
        """Each call is in the file when it is over: a process that is killed loses the calls in progress alone. A file
        that cannot be written is told when the recording ends; it is nothing to the call."""
        with contextlib.suppress(OSError):
            if is_whole:
                self._replace(text)
            else:
                with self.path.open("a", encoding="utf-8", newline="\n") as file:
                    file.write(text)

    def _replace(self, text: str) -> None:
        """The file anew, whole or not at all; an earlier recording stays until the first call of this one is over."""
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            beside.write_text(text, encoding="utf-8", newline="\n")
            beside.replace(self.path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise

    async def aclose(self) -> None:
        """Writes the recording once more, its calls in the order in which they began, and closes the transport that was
        made for it."""
        try:
            if isinstance(self._port, RecordingFetch):
                self._replace(self._port.text())
        except OSError as fault:
            raise CassetteInvalid(f"{self.path} cannot be written: {fault.strerror}") from None
        finally:
            if self._transport is not None:
                await self._transport.aclose()

    async def __aenter__(self) -> Self:
        self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
        if kind is None and self.misses:
            raise self.misses[0]

    def _read(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except OSError as fault:
            raise CassetteInvalid(
                f"{self.path} cannot be read: {fault.strerror}", hint="Record it first: agrun run ... --record FILE"
            ) from None
        except UnicodeDecodeError:
            raise CassetteInvalid(f"{self.path} is not UTF-8 text, so it is no cassette") from None
