# ruff: noqa: E501 (JS stands in the strings)
"""Every provider's real wire format over HTTP, driven from the page: whole runs, every chunk border, stops on the wire."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from playwright.async_api import Page

from tests.fakes.providers import FakeProviders

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini", "openai-compatible")
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)

SCRIPT: list[dict[str, Any]] = [
    {
        "text": "Ich rechne.",
        "toolCalls": [
            {"id": "k1", "name": "add", "args": {"a": 2, "b": 3}},
            {"id": "k2", "name": "add", "args": {"a": 4, "b": 5}},
        ],
        "usage": {"inputTokens": 7, "outputTokens": 5},
    },
    {"text": "Fünf und neun 🌊", "usage": {"inputTokens": 11, "outputTokens": 4}},
]
AGENT = """
    void (window.adder = (name, baseUrl) => Agrun.createRuntime({
        provider: {name, model: "m", baseUrl, apiKey: "sk-page-key", retry: {maxRetries: 0}},
        actions: [Agrun.defineAction({name: "add", description: "Adds.", tier: 0,
            argsSchema: {a: {type: "integer", required: true}, b: {type: "integer", required: true}},
            execute: ({a, b}) => ({sum: a + b})})],
    }))
"""


@pytest.mark.parametrize("options", [{}, {"split": "every_byte"}], ids=["frames", "every_byte"])
@each_dialect
async def test_a_whole_run(page: Page, dialect: str, options: dict[str, Any]) -> None:
    async with FakeProviders([{**reply, **options} for reply in SCRIPT]) as server:
        await page.evaluate(AGENT)
        found = await page.evaluate(
            """async ([dialect, url]) => {
                const agent = await adder(dialect, url);
                const run = agent.run("2 + 3 und 4 + 5?");
                let shown = "";
                for await (const event of run) {
                    if (event.type === "text-delta") shown += event.detail.text;
                    if (event.type === "answer-superseded") shown = "";
                }
                const result = await run.result;
                await agent.close();
                return {result, shown};
            }""",
            [dialect, server.url],
        )
        result = found["result"]
        assert result["status"] == "completed", result["error"]
        assert found["shown"] == result["output"]["text"] == "Fünf und neun 🌊"
        assert [record["output"] for record in result["state"]["toolContext"]["history"]] == [{"sum": 5}, {"sum": 9}]
        assert (result["usage"]["inputTokens"], result["usage"]["outputTokens"]) == (18, 9)
        assert "sk-page-key" not in str(found)
        assert [request.method for request in server.seen] == ["POST", "POST"]


@pytest.mark.parametrize("how", ["stop", "leave", "close"])
@each_dialect
async def test_the_wire_is_closed_within_a_second(page: Page, dialect: str, how: str) -> None:
    async with FakeProviders([{"text": "one two three four five six", "stallAfter": 6}]) as server:
        await page.evaluate(AGENT)
        await page.evaluate(
            """async ([dialect, url, how]) => {
                window.agent = await adder(dialect, url);
                const run = agent.run("talk");
                for await (const event of run) {
                    if (event.type !== "text-delta") continue;
                    if (how === "leave") break;
                    if (how === "close") { void agent.close(); break; }
                    run.stop("now");
                }
            }""",
            [dialect, server.url, how],
        )
        since = time.monotonic()
        while not server.stats.closed:
            await asyncio.sleep(0.01)
            assert time.monotonic() - since < 5  # a busy machine is no fault; a wire that stays open is
        assert server.stats.bytes_after_close == 0
        await page.evaluate("agent.close()")
