"""langgraph's prebuilt agent, with langchain-openai, on the fake server."""

import warnings

from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from tests.bench.subjects.conversation import API_KEY, base_url, time_conversation


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def converse(prompt: str) -> str:
    state = await graph.ainvoke({"messages": [("user", prompt)]}, {"recursion_limit": 100_000})
    return str(state["messages"][-1].content)


with warnings.catch_warnings(action="ignore"):  # it says that the prebuilt agent moves to another package
    graph = create_react_agent(ChatOpenAI(model="fake", base_url=base_url(), api_key=API_KEY), [add])
time_conversation(converse)
