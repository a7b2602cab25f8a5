"""pydantic-ai on the fake server."""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from tests.bench.subjects.conversation import API_KEY, base_url, time_conversation

agent = Agent(OpenAIChatModel("fake", provider=OpenAIProvider(base_url=base_url(), api_key=API_KEY)))


@agent.tool_plain
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def converse(prompt: str) -> str:
    return (await agent.run(prompt, usage_limits=UsageLimits(request_limit=100_000))).output


time_conversation(converse)
