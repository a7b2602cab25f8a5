"""A run of 1,000 cycles: within the context budget, its state small, and a cycle costs the same at its end."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from agrun_wasm import Action, RunResult
from agrun_wasm.providers.scripted import ScriptedProvider
from agrun_wasm.session.saved import load_state, save_state
from tests.clock import FakeClock
from tests.kit import CountedIds, calls, scripted
from tests.stores import MemoryStore

CYCLES = 1_000
WINDOW = 200
MAX_STATE = 1_000_000
#: how much more a cycle may cost at the end of the run than at its beginning; the machine is noisy
GROWTH = 2.0
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "rain", "falls", "at", "noon"]


def text(number: int, chars: int) -> str:
    """Words in an order of their own for each number."""
    words = []
    for _ in range(chars // 5):
        number = (number * 1_103_515_245 + 12_345) % (1 << 31)
        words.append(WORDS[number % len(WORDS)])
    return " ".join(words)


class Weighing(MemoryStore):
    """Keeps the run as text, as a file or a database would, and how long that was."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.longest = 0

    async def save_run(self, run_id: str, state: Mapping[str, Any]) -> None:
        self.texts[run_id] = [json.dumps(state, ensure_ascii=False)]
        self.longest = max(self.longest, len(self.texts[run_id][0].encode()))

    async def add_to_run(self, run_id: str, entry: Mapping[str, Any]) -> None:
        self.texts[run_id].append(json.dumps(entry, ensure_ascii=False))


async def long_run(chars: int, **keys: Any) -> tuple[RunResult, ScriptedProvider, list[float]]:
    """The result, the provider, and the CPU seconds of each cycle."""
    at: list[float] = []

    async def execute(context: Any, args: dict[str, Any]) -> Any:
        at.append(time.process_time())
        return {"n": args["n"], "text": text(args["n"], chars)}

    look = Action("look", "Looks.", 0, planner={"argsSchema": {"n": {"type": "integer"}}}, execute=execute)
    replies = [*(calls(("look", {"n": n})) for n in range(CYCLES)), {"text": "done"}]
    runtime, provider = scripted(replies, actions=[look], max_steps=CYCLES + 1, **keys)
    result = await runtime.run("go")
    return result, provider, [after - before for before, after in pairwise(at)]


@pytest.mark.parametrize("stored", [False, True], ids=["unstored", "stored"])
@pytest.mark.parametrize("chars", [40, 600])
async def test_a_thousand_cycles(chars: int, stored: bool) -> None:
    store = Weighing()
    keys = {"store": store} if stored else {}
    result, provider, seconds = await long_run(chars, **keys)
    assert result.status == "completed"
    assert len(result.cycles) == CYCLES + 1
    assert len(result.state["toolContext"]["history"]) < CYCLES

    shown = [sum(message.size() for message in request.messages) for request in provider.requests]
    assert max(shown) <= 120_000
    assert text(CYCLES - 1, chars) in provider.requests[-1].messages[-1].text

    saved = json.dumps(result.state, ensure_ascii=False)
    assert len(saved.encode()) <= MAX_STATE
    assert store.longest <= MAX_STATE

    whole = load_state(saved)
    assert [entry.output["n"] for entry in whole.tool_context.history] == list(range(CYCLES))
    assert whole.cycles == result.cycles
    assert whole.steps == result.steps
    assert json.dumps(save_state(whole), ensure_ascii=False) == saved

    first, last = statistics.median(seconds[:WINDOW]), statistics.median(seconds[-WINDOW:])
    assert last <= first * GROWTH, f"a cycle took {first * 1000:.2f} ms, and {last * 1000:.2f} ms at the end"


async def test_a_long_run_goes_on_from_its_state_as_if_it_had_not_been_cut() -> None:
    """The same requests to the model, whether or not the run went through JSON on the way."""

    async def add(context: Any, args: dict[str, Any]) -> Any:
        return {"sum": args["a"] + 1, "text": text(args["a"], 400)}

    schema = {"a": {"type": "integer", "required": True}}
    action = Action("add", "Adds one.", 0, planner={"argsSchema": schema}, execute=add)
    requests = []
    for steps in ([301], [150, 90, 61]):
        keys = {
            "actions": [action],
            "clock": FakeClock(),
            "ids": CountedIds(),
            "max_steps": steps[0],
            "finalize_on_exhaustion": False,
            "context_budget": {"maxChars": 20_000, "keepLastCycles": 4},
        }
        runtime, provider = scripted([*(calls(("add", {"a": n})) for n in range(300)), {"text": "done"}], **keys)
        result = await runtime.run("go")
        for more in steps[1:]:
            assert result.status == "continuation"
            fresh, _ = scripted([], **keys, providers={"scripted": provider})
            result = await fresh.resume(json.loads(json.dumps(result.state)), extend={"maxSteps": more})
        assert result.text == "done"
        requests.append([[m.to_json() for m in request.messages] for request in provider.requests])
    assert requests[0] == requests[1]
