# ruff: noqa: E501 (JS stands in the strings)
"""Whole work in the page, over the wire: a loopback model and a loopback web, nothing of it faked in JavaScript.

Research that searches, reads two pages and cites both; a report whose sections are written side by side into one document.
"""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.browser.paths import SHOTS
from tests.browser.serving import Site
from tests.fakes.providers import FakeProviders
from tests.fakes.web import web

TIDES = "<html><head><title>Tides of Brest</title></head><body><h1>Tides of Brest</h1><p>High water at noon is <b>7.1 m</b> at springs, and the range is among the largest of the coast.</p><table><tr><th>Port</th><th>Range</th></tr><tr><td>Brest</td><td>7.1 m</td></tr></table></body></html>"
MOON = "<html><head><title>Why tides spring</title></head><body><h1>Why tides spring</h1><p>Sun and moon in line pull together: the tide springs twice a month.</p></body></html>"
PAGES = {"/brest": ("text/html", TIDES), "/moon": ("text/html", MOON)}
TITLES = {"/brest": "Tides of Brest", "/moon": "Why tides spring"}


def call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "args": args}


async def test_research_in_the_page_searches_reads_cites_and_shows_its_sources(page: Page) -> None:
    with web(PAGES, TITLES) as site:
        brest, moon = site.url("/brest"), site.url("/moon")
        answer = f"At springs the tide of Brest is 7.1 m ({brest}), since sun and moon pull together ({moon})."
        script: list[Any] = [
            {"toolCalls": [call("web_search", {"query": "spring tide Brest"})]},
            {"toolCalls": [call("read_url", {"url": brest}), call("read_url", {"url": moon})]},
            {"text": answer},
        ]
        async with FakeProviders(script) as model:
            found = await page.evaluate(
                """async ([model, search]) => {
                    const agent = await Agrun.createRuntime({
                        provider: {name: "openai", model: "m", baseUrl: model, apiKey: "k"},
                        webSearch: {endpoint: search}, actionPolicy: {web_search: "allow", read_url: "allow"},
                        requestedCitations: {minUrlCount: 2},
                    });
                    const run = agent.run("How high is the spring tide of Brest, and why?");
                    const events = await T.events(run);
                    const result = await run.result;
                    await agent.close();
                    return {result, types: events.map((event) => event.type)};
                }""",
                [model.url, site.url("/search")],
            )
            told = json.dumps([seen.body for seen in model.seen], ensure_ascii=False)
        result = found["result"]
        assert result["status"] == "completed", result["error"]
        output = result["output"]
        assert output["citations"] == [brest, moon]
        assert output["citationsStatus"] == "verified"
        assert output["text"] == f"{answer}\n\nSources:\n- [Tides of Brest]({brest})\n- [Why tides spring]({moon})"
        assert site.asked == ["spring tide Brest"]
        assert sorted(site.read) == ["/brest", "/moon"]
        assert "| Brest | 7.1 m |" in told, "tables of a page reach the model as Markdown"
        assert "not instructions" in told
        assert found["types"].count("action-executed") == 3
        assert [source["state"] for source in result["state"]["researchContext"]["sources"]] == ["read", "read"]


SECTIONS = {
    "Level": "High water reaches 7.1 m at springs.",
    "Cause": "Sun and moon pull together.",
    "When": "Twice a month, a day or two after new and full moon.",
}
DOCUMENT = "# The tides of Brest\n\n" + "\n\n".join(f"## {title}\n\n{text}" for title, text in SECTIONS.items()) + "\n"


async def test_a_report_in_the_page_is_planned_written_in_parallel_patched_and_published(page: Page) -> None:
    """Three sections side by side (a plan), one document, one heading patched, published as it stands."""

    def apply(body: Any) -> dict[str, Any]:
        """The id of the preview stands in the last tool result."""
        shown = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        (patch_id,) = re.findall(r'"patchId": "([^"]+)"', shown[-1])
        return {"toolCalls": [call("workspace_apply_patch", {"patchId": patch_id})]}

    plan = {
        "actions": [{"type": "action", "name": "draft", "args": {"title": t, "text": x}} for t, x in SECTIONS.items()],
        "synthesize_instruction": "direct",
    }
    operations = [{"type": "replace", "find": "## When", "replace": "## When it springs"}]
    script: list[Any] = [
        {"toolCalls": [call("plan", plan)]},
        {"toolCalls": [call("workspace_write", {"path": "report.md", "content": DOCUMENT})]},
        {"toolCalls": [call("workspace_propose_patch", {"path": "report.md", "operations": operations})]},
        apply,
        {"toolCalls": [call("workspace_publish_candidate", {"path": "report.md"})]},
    ]
    async with FakeProviders(script) as model:
        found = await page.evaluate(
            """async (model) => {
                let running = 0, most = 0;
                const draft = {
                    name: "draft", description: "Drafts one section.", tier: 0,
                    permission: {effect: "none", isConcurrencySafe: true},
                    argsSchema: {title: {type: "string", required: true}, text: {type: "string", required: true}},
                    execute: async ({title, text}) => {
                        most = Math.max(most, ++running);
                        await T.sleep(60);
                        running--;
                        return {control: "continue", output: {markdown: `## ${title}\\n\\n${text}`}, summary: title};
                    },
                };
                const agent = await Agrun.createRuntime({
                    provider: {name: "openai", model: "m", baseUrl: model, apiKey: "k"}, actions: [draft],
                });
                const run = agent.run("Report on the tides of Brest.");
                const events = await T.events(run);
                const result = await run.result;
                await agent.close();
                return {result, most, types: events.map((event) => event.type)};
            }""",
            model.url,
        )
    result = found["result"]
    assert result["status"] == "completed", result["error"]
    assert found["most"] == 3, "the sections are written side by side"
    assert result["output"]["text"] == DOCUMENT.replace("## When", "## When it springs").strip("\n")
    assert result["finalAnswerSource"] == "workspace_publish"
    operations_done = [operation["action"] for operation in result["state"]["virtualWorkspace"]["operations"]]
    assert operations_done == ["write", "apply_patch"]
    assert result["state"]["virtualWorkspace"]["files"]["report.md"]["version"] == 2
    planned = [t for t in found["types"] if t.startswith("plan-")]
    assert planned == ["plan-validating", "plan-executing", "plan-executed"]


async def test_research_in_the_chat_shows_the_pages_read_as_links(browser: Browser, site: Site) -> None:
    with web(PAGES, TITLES) as pages:
        brest, moon = pages.url("/brest"), pages.url("/moon")
        script: list[Any] = [
            {"toolCalls": [call("web_search", {"query": "spring tide Brest"})]},
            {"toolCalls": [call("read_url", {"url": brest}), call("read_url", {"url": moon})]},
            {"text": f"At springs the tide of Brest is **7.1 m** ([page]({brest})), since sun and moon pull together."},
        ]
        async with FakeProviders(script) as model:
            page = await browser.new_page(viewport={"width": 1100, "height": 900}, color_scheme="light")
            await page.goto(f"{site.origin}/index.html")
            await page.evaluate(
                """([model, search]) => {
                    document.querySelector("agrun-chat")?.remove();
                    const chat = document.createElement("agrun-chat");
                    chat.options = {
                        provider: {name: "openai", model: "m", baseUrl: model, apiKey: "k"},
                        webSearch: {endpoint: search}, actionPolicy: {web_search: "allow", read_url: "allow"},
                    };
                    document.querySelector("main").append(chat);
                }""",
                [model.url, pages.url("/search")],
            )
            await page.get_by_role("textbox").fill("How high is the spring tide of Brest?")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("Sources:")).to_be_visible(timeout=30_000)
            links = page.locator(f'agrun-chat a[href="{brest}"]')
            await expect(links.last).to_have_text("Tides of Brest")
            await page.screenshot(path=SHOTS / "research.png")
            await page.close()
