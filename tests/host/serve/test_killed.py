"""The whole server is killed with clients reading along, who come back: no run, event or finished call is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.host.durable.test_killed import lines, recorded
from tests.host.serve.process import Client, Process
from tests.host.serve.program import ACTIONS
from tests.host.zygote import Zygote

#: database -> runs, and how many calls have begun when it is killed
SIZES = {"sqlite": (30, (40, 80)), "postgresql": (8, (12,))}


async def begun(folder: Path, count: int) -> None:
    async with asyncio.timeout(60):
        while len(lines(folder / "calls")) < count:  # noqa: ASYNC110 (another process writes it)
            await asyncio.sleep(0.005)


async def test_a_server_killed_again_and_again_loses_nothing(
    database_url: str, tmp_path: Path, zygote: Zygote, request: pytest.FixtureRequest
) -> None:
    count, kills = SIZES[database_url.partition(":")[0]]
    chance = random.Random(request.node.name)
    counted: list[tuple[Counter[str], set[str]]] = []
    with Process(zygote, database_url, tmp_path, pause=0.15) as server:
        clients = [Client(server, f"key-{number}") for number in range(count)]
        reading = asyncio.gather(*(client.follow() for client in clients))
        for least in kills:
            await begun(tmp_path, least + chance.randrange(count // 2))
            await asyncio.sleep(chance.random() * 0.3)
            await asyncio.to_thread(server.end)
            counted.append((Counter(lines(tmp_path / "calls")), recorded(database_url)))
            await asyncio.to_thread(server.start)
        async with asyncio.timeout(60):
            await reading
    calls = Counter(lines(tmp_path / "calls"))
    assert len({client.run_id for client in clients}) == count
    assert len(calls) == count * ACTIONS
    for before, finished in counted:
        again = {key for key in before if calls[key] > before[key]}
        assert not again & finished, "what was recorded is not done again"
    cut = sum(len(client.ends) > 1 for client in clients)
    assert cut > count / 2, "it was killed in the middle"
    for client in clients:
        assert client.result is not None
        assert client.result["status"] == "completed"
        client.check()
