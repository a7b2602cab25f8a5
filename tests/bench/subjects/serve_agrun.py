"""M9, one round: runs of 5 cycles over HTTP, one after the other and all at once, on one server process.

Arguments: how many runs. The server keeps them in SQLite; its model waits in a first call until the clients say so, so
that all runs wait at once and what they weigh can be seen.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

CYCLES = 5


class Model:
    """Four turns with a call, then a text. A prompt "hold" is answered when there is a file of that name."""

    def __init__(self, folder: Path) -> None:
        self._go = folder / "go"

    async def stream(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn == 0 and "hold" in request.messages[-1].text:
            while not self._go.exists():  # noqa: ASYNC110 (another process makes the file)
                await asyncio.sleep(0.25)
        if turn < CYCLES - 1:
            yield {"type": "tool-call", "id": f"c{turn}", "name": "add", "args": {"a": turn}}
            yield {"type": "finished", "reason": "tool_calls"}
        else:
            yield {"type": "text-delta", "text": "done"}
            yield {"type": "finished", "reason": "stop"}


def server(folder: Path) -> None:
    from agrun_host.durable.runs import DurableRuns
    from agrun_host.serve.app import create_app
    from agrun_host.serve.server import serve
    from agrun_host.serve.settings import ServeSettings
    from agrun_wasm import Action, Runtime

    async def add(_context: Any, args: Any) -> Any:
        return {"sum": args["a"] + 1}

    def make(**ports: Any) -> Runtime:
        schema = {"a": {"type": "integer", "required": True}}
        action = Action("add", "Adds.", 0, planner={"argsSchema": schema}, execute=add)
        return Runtime(provider="fake:m", providers={"fake": Model(folder)}, actions=[action], **ports)

    class Opened:
        async def __aenter__(self) -> Any:
            self._runs = await DurableRuns.open(make, f"sqlite:///{folder / 'runs.db'}")
            return self._runs

        async def __aexit__(self, *_: object) -> None:
            await self._runs.close()

    settings = ServeSettings(port=0, requests_per_client=5_000, requests_at_once=5_000)
    serve(create_app(settings, Opened), settings, lambda address: print(address, flush=True))


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kb(pid: int) -> int:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


async def run(port: int, prompt: str) -> bool:
    """One run, read to its result; did it complete?"""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    body = json.dumps({"input": prompt}).encode()
    head = (
        f"POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    told = await reader.read()
    writer.close()
    return b"event: result" in told and b'"status": "completed"' in told


async def clients(pid: int, port: int, folder: Path, count: int) -> dict[str, float]:
    await asyncio.gather(*(run(port, "warm up") for _ in range(20)))
    begun = cpu_seconds(pid)
    alone = [await run(port, "go") for _ in range(count)]
    one_by_one = cpu_seconds(pid) - begun
    before = resident_kb(pid)
    begun = cpu_seconds(pid)
    runs = [asyncio.create_task(run(port, "hold")) for _ in range(count)]
    await asyncio.sleep(2)
    last = -1.0
    while (now := cpu_seconds(pid)) - last > 0.1:  # until all of them wait
        last = now
        await asyncio.sleep(1)
    weight = (resident_kb(pid) - before) / count
    (folder / "go").touch()
    together = await asyncio.gather(*runs)
    at_once = cpu_seconds(pid) - begun
    return {
        "lost": float(2 * count - sum(alone) - sum(together)),
        "sequential_ms": one_by_one / count * 1e3,
        "at_once_ms": at_once / count * 1e3,
        "kb_per_run": weight,
    }


def main(count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        command = [sys.executable, "-m", "tests.bench.subjects.serve_agrun", "server", name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            threading.Timer(240, process.kill).start()
            port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])  # type: ignore[union-attr]
            return asyncio.run(clients(process.pid, port, folder, count))
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


if __name__ == "__main__":
    if sys.argv[1] == "server":
        server(Path(sys.argv[2]))
    else:
        print(json.dumps(main(int(sys.argv[1]))))
        sys.stdout.flush()
        time.sleep(0)
        os._exit(0)
