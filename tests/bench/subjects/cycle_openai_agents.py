"""openai-agents on the fake server."""

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from tests.bench.subjects.conversation import API_KEY, base_url, time_conversation


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def converse(prompt: str) -> str:
    return str((await Runner.run(agent, prompt, max_turns=100_000)).final_output)


set_tracing_disabled(True)
model = OpenAIChatCompletionsModel(model="fake", openai_client=AsyncOpenAI(base_url=base_url(), api_key=API_KEY))
agent = Agent(name="adder", instructions="Add.", tools=[add], model=model)
time_conversation(converse)
