"""The conversation that every agent runtime is timed on. Standard library only: the peers' environment runs it too."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

from tests.bench.fake_openai import final_answer, prompt

WARM_UP = 10
#: as long as real ones, for runtimes that keep keys out of what they tell
API_KEY = "sk-bench-0123456789abcdefghij"

#: runs one conversation from a prompt to its answer
Converse = Callable[[str], Awaitable[str]]


def base_url() -> str:
    """Where the fake server listens: the first argument of the process is its port."""
    return f"http://127.0.0.1:{sys.argv[1]}/v1"


def time_conversation(converse: Converse) -> None:
    """Prints the CPU time (ms) per model call of a conversation of N tool calls, N the second argument, once warm."""
    asyncio.run(_time(converse, int(sys.argv[2])))


async def _time(converse: Converse, cycles: int) -> None:
    await _check(converse, WARM_UP)
    cpu, wall = time.process_time(), time.perf_counter()
    await _check(converse, cycles)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"cpu_ms": cpu / (cycles + 1) * 1000, "wall_ms": wall / (cycles + 1) * 1000}))


async def _check(converse: Converse, cycles: int) -> None:
    answer = await converse(prompt(cycles))
    if answer.strip() != final_answer(cycles):
        raise SystemExit(f"the conversation of {cycles} cycles ended with {answer!r}")
