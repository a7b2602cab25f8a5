"""Readers over real sockets: those whose server ends in order, and those who take nothing."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from pathlib import Path

from tests.host.durable.test_killed import lines
from tests.host.serve.process import Client, Process
from tests.host.serve.test_killed import begun
from tests.host.zygote import Zygote

#: kilobytes of one answer, and how many readers take nothing of it
SIZE, IDLE = 4_000, 20


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder / 'test.db'}"


async def test_a_server_told_to_end_ends_its_streams_and_goes_on_in_the_next_one(
    tmp_path: Path, zygote: Zygote
) -> None:
    with Process(zygote, url_in(tmp_path), tmp_path, pause=0.4) as server:
        clients = [Client(server, f"key-{number}") for number in range(6)]
        reading = [asyncio.create_task(client.follow()) for client in clients]
        await begun(tmp_path, 6)
        told = time.monotonic()
        ending = asyncio.create_task(asyncio.to_thread(server.end, signal.SIGTERM))
        async with asyncio.timeout(10):
            while not all(client.ends for client in clients):  # noqa: ASYNC110 (the readers are other tasks)
                await asyncio.sleep(0.01)
        assert [client.ends[0] for client in clients] == [True] * 6, "the end is told, no stream breaks off"
        assert await ending in (0, -signal.SIGTERM)
        assert time.monotonic() - told < 8
        assert "Traceback" not in (tmp_path / "log").read_text()
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(30):
            await asyncio.gather(*reading)
        for client in clients:
            client.check()
        assert len(set(lines(tmp_path / "calls"))) == 6 * 4


def idle_reader(server: Process, run_id: str) -> socket.socket:
    """Asks for the events, and takes nothing."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.connect(("127.0.0.1", server.port))
    line.sendall(f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return line


async def test_readers_who_take_nothing_cost_little_and_can_come_back(tmp_path: Path, zygote: Zygote) -> None:
    settings = {"events_waiting": 100, "lag_seconds": 1.0, "send_seconds": 2.0}
    with Process(zygote, url_in(tmp_path), tmp_path, **settings) as server:

        async def take(key: str, idle: int) -> tuple[float, list[socket.socket], Client]:
            """How long a reader takes for the whole answer beside the idle ones."""
            client = Client(server, key, f"say {SIZE}")
            await client.start()
            sockets = [idle_reader(server, client.run_id) for _ in range(idle)]
            begin = time.monotonic()
            async with asyncio.timeout(60):
                await client.follow()
            client.check()
            return time.monotonic() - begin, sockets, client

        alone, _, _ = await take("alone", 0)
        before = server.resident_kb()
        beside, sockets, client = await take("beside", IDLE)
        grown = server.resident_kb() - before
        print(f"alone {alone:.2f} s, beside {beside:.2f} s, grown by {grown} KB, idle buffers {IDLE * SIZE} KB")
        assert grown < IDLE * SIZE / 2, f"it grew by {grown} KB"
        assert beside < 4 * alone + 2
        for line in sockets:
            line.close()
        late = Client(server, "beside", f"say {SIZE}")
        async with asyncio.timeout(30):
            await late.follow()
        late.check()
        assert late.result == client.result
