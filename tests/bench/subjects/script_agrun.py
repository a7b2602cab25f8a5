"""agrun_wasm with a scripted provider: no network, no server. The text runs on CPython and in the worker of a page."""

import json
import time
from typing import Any

from agrun_wasm import Runtime, action
from agrun_wasm.providers.scripted import ScriptedProvider


@action(tier=0)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def script(cycles: int) -> list[dict[str, Any]]:
    calls = [{"toolCalls": [{"name": "add", "args": {"a": number, "b": 1}}]} for number in range(cycles)]
    return [*calls, {"text": f"done after {cycles}"}]


async def time_cycles(cycles: int) -> str:
    """JSON: milliseconds per model call of a conversation of so many tool calls."""
    provider = ScriptedProvider(script(cycles))
    runtime = Runtime(provider="script:m", providers={"script": provider}, actions=[add], max_steps=100_000)
    begun = time.perf_counter()
    result = await runtime.run("Please add numbers")
    taken = time.perf_counter() - begun
    if result.text != f"done after {cycles}":
        raise SystemExit(f"the conversation of {cycles} cycles ended with {result.text!r}")
    return json.dumps({"wall_ms": taken / (cycles + 1) * 1000})
