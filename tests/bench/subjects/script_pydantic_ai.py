"""pydantic-ai with a FunctionModel that plays the same script, in a worker's Pyodide."""

import json
import time
from collections.abc import Callable

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits


def script(cycles: int) -> Callable[[list[ModelMessage], AgentInfo], ModelResponse]:
    replies = iter(
        [
            *(ModelResponse(parts=[ToolCallPart("add", {"a": number, "b": 1})]) for number in range(cycles)),
            ModelResponse(parts=[TextPart(f"done after {cycles}")]),
        ]
    )
    return lambda _messages, _info: next(replies)


async def time_cycles(cycles: int) -> str:
    """JSON: milliseconds per model call of a conversation of so many tool calls."""
    agent = Agent(FunctionModel(script(cycles)))

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    begun = time.perf_counter()
    result = await agent.run("Please add numbers", usage_limits=UsageLimits(request_limit=100_000))
    taken = time.perf_counter() - begun
    if result.output != f"done after {cycles}":
        raise SystemExit(f"the conversation of {cycles} cycles ended with {result.output!r}")
    return json.dumps({"wall_ms": taken / (cycles + 1) * 1000})
