"""A server process of tests/host/serve/program.py, and a client of it that comes back until its run is over."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tests.host.zygote import Forked, Zygote

Event = dict[str, Any]


class Process:
    """The server; a killed one is started again on the same port."""

    def __init__(self, zygote: Zygote, url: str, folder: Path, *, pause: float = 0.0, **settings: Any) -> None:
        self._zygote = zygote
        self._told = {"url": url, "folder": str(folder), "pause": pause, "settings": settings}
        self._folder = folder
        self.port = 0
        self._process: Forked | None = None

    def start(self) -> None:
        self._told["settings"]["port"] = self.port
        log = self._folder / "log"
        said = len(log.read_text()) if log.exists() else 0
        self._process = self._zygote.run("tests.host.serve.program", self._told, log)
        end = time.monotonic() + 30
        while "\n" not in (address := log.read_text()[said:] if log.exists() else ""):
            assert time.monotonic() < end, address
            time.sleep(0.02)
        self.port = urlsplit(address.splitlines()[0]).port or 0
        assert self.port, address

    def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        assert self._process is not None
        self._process.send(how)
        return self._process.wait()

    def resident_kb(self) -> int:
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.end()


class Client:
    """Starts a run under its key, and reads along; `seen` are the events with a number, in the order they came."""

    def __init__(self, server: Process, key: str, prompt: str = "note it") -> None:
        self._server = server
        self._key = key
        self._prompt = prompt
        self.run_id = ""
        self.seen: list[Event] = []
        self.result: Event | None = None
        #: how streams ended that brought no result: True where their end was told, False where they broke off
        self.ends: list[bool] = []

    async def start(self) -> None:
        body = json.dumps({"input": self._prompt})
        while not self.run_id:
            try:
                async with asyncio.timeout(10):
                    answer = await self._ask("POST", "/v1/runs", {"idempotency-key": self._key}, body)
            except (OSError, EOFError, TimeoutError):
                await asyncio.sleep(0.1)
                continue
            self.run_id = json.loads(answer)["runId"]

    async def follow(self) -> None:
        """Until the result is there."""
        await self.start()
        while self.result is None:
            try:
                self.ends.append(await self.read())
            except (OSError, EOFError):
                self.ends.append(False)
                await asyncio.sleep(0.1)

    async def read(self) -> bool:
        """Reads one stream to its end. Was that end told?"""
        headers = {"last-event-id": str(self.seen[-1]["seq"])} if self.seen else {}
        found: dict[str, str] = {}
        lines = self._lines(f"/v1/runs/{self.run_id}/events", headers)
        async for line in lines:
            name, _, value = line.partition(": ")
            if name in ("event", "id", "data"):
                found[name] = value
            elif not line and found:
                if "id" in found:
                    self.seen.append(json.loads(found["data"]))
                elif found["event"] == "result":
                    self.result = json.loads(found["data"])["result"]
                found = {}
        return True

    async def _lines(self, path: str, headers: dict[str, str]) -> AsyncIterator[str]:
        """The whole lines of a chunked answer. Raises EOFError where it breaks off."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port, limit=2**26)
        try:
            writer.write(self._head("GET", path, headers))
            await reader.readuntil(b"\r\n\r\n")
            rest = b""
            while size := int(await reader.readuntil(b"\r\n"), 16):
                rest += (await reader.readexactly(size + 2))[:-2]
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    yield line.decode().rstrip("\r")
        finally:
            writer.transport.abort()

    async def _ask(self, method: str, path: str, headers: dict[str, str], body: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        try:
            more = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
            writer.write(self._head(method, path, headers | more) + body.encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].split(b"\r")[0])
            answer = await reader.readexactly(length)
            assert b" 202 " in head.splitlines()[0], answer
            return answer
        finally:
            writer.transport.abort()

    def _head(self, method: str, path: str, headers: dict[str, str]) -> bytes:
        lines = [f"{name}: {value}" for name, value in {"host": "127.0.0.1", **headers}.items()]
        return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()

    def check(self) -> None:
        """Every event came once, in order, and none is missing."""
        assert self.result is not None
        numbers = [event["seq"] for event in self.seen]
        assert numbers == sorted(set(numbers)), "every number once, and rising"
        steps = [event for event in self.seen if not event["type"].endswith("-delta") and event["type"] != _SUPERSEDED]
        assert steps == self.result["steps"], "no step is lost, none is there twice"
        text = ""
        for event in self.seen:
            if event["type"] == "text-delta":
                text += event["detail"]["text"]
            elif event["type"] == _SUPERSEDED:
                text = ""
        answer = self.result["output"]["text"]
        assert answer.endswith(text), "who was not there while it was streamed has it from the result"


_SUPERSEDED = "answer-superseded"
