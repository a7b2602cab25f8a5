"""agrun_wasm on the fake server, through agrun_host's transport."""

from agrun_host.transport import HttpFetch
from agrun_wasm import Runtime, action
from tests.bench.subjects.conversation import API_KEY, base_url, time_conversation


@action(tier=0)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def converse(prompt: str) -> str:
    output = (await runtime.run(prompt)).output
    return str(output and output["text"])


runtime = Runtime(
    provider={"name": "openai-compatible", "model": "fake", "baseUrl": base_url(), "apiKey": API_KEY},
    actions=[add],
    max_steps=100_000,
    fetch=HttpFetch(),
)
time_conversation(converse)
