"""Calls side by side, cut at any point and ended in any order: what was recorded is given back, the rest is called."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

from agrun_host.durable.engine import Engine, workflow_id
from agrun_host.durable.journal import DbosJournal, WorkflowJournal
from agrun_host.store.database import Database

RUNS = 12
WAVES = (4, 1, 5, 3)
CALLS_OF_A_LIFE = 50
LIVES_MOST = 12


class Life:
    """One life of a process: some runs of waves of calls, until so many calls have ended."""

    def __init__(self, database: Database, seed: int, calls_until_death: int) -> None:
        self._engine = Engine(database, "agrun", 100)
        self._chance = random.Random(seed)
        self._left = calls_until_death
        self.dead = asyncio.Event()
        self.over: set[str] = set()
        self.called: Counter[str] = Counter()
        self.given: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._seed = seed

    async def live(self, start: bool) -> None:
        await self._engine.open(self._execute)
        if start:
            for number in range(RUNS):
                await self._engine.start(f"r{number}", 1, here=True)
        await self.dead.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._engine.close()

    async def _execute(self, run_id: str, number: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self.dead.is_set():
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            await WorkflowJournal.begin(workflow_id(run_id, number), lost=task.cancel)
            for wave, count in enumerate(WAVES):
                keys = [f"{run_id}:{wave}:{place}" for place in range(count)]
                self._chance.shuffle(keys)
                await asyncio.gather(*(self._call(key) for key in keys))
            self.over.add(run_id)
            if len(self.over) == RUNS:
                self.dead.set()
        finally:
            self._tasks.discard(task)

    async def _call(self, key: str) -> None:
        async def call() -> str:
            self.called[key] += 1
            for _ in range(self._chance.randrange(6)):
                await asyncio.sleep(0)
            self._left -= 1
            if self._left == 0:
                self.dead.set()
            return f"{key} in life {self._seed}"

        self.given[key] = await DbosJournal().once(key, call)


async def test_calls_cut_in_any_order_are_given_back_or_called_and_no_run_stands_still(tmp_path: Path) -> None:
    async with await Database.open(f"sqlite:///{tmp_path / 'test.db'}") as database:
        kept: dict[str, str] = {}
        over: set[str] = set()
        lives: list[Life] = []
        while len(over) < RUNS:
            assert len(lives) < LIVES_MOST, "a run stands still"
            seed = len(lives)
            life = Life(database, seed, CALLS_OF_A_LIFE)
            life.over |= over
            async with asyncio.timeout(60):
                await life.live(start=seed == 0)
            over |= life.over
            for key, value in life.given.items():
                assert kept.setdefault(key, value) == value, "what was given once is given ever after"
                if value != f"{key} in life {seed}":
                    assert not life.called[key], "what was recorded is not called again"
            lives.append(life)
        assert len(kept) == RUNS * sum(WAVES)
        assert len(lives) > 2, "it was cut in the middle more than once"
