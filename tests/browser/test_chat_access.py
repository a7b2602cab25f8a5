# ruff: noqa: E501 (JS stands in the strings)
"""The element for everyone: axe finds nothing, the keyboard reaches all, and what happens is told to a screen reader."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chat import MOUNT, answered, ask, shot
from tests.browser.serving import ROOT, Site

AXE = (ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
TEXT = "# Stock\n\nThere are **40** of [A-17](https://example.org/a).\n\n| item | units |\n|---|---:|\n| A-17 | 40 |\n\n```python\nprint(40)\n```\n\n> quoted\n"


async def violations(page: Page) -> list[str]:
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE + "; undefined")
    found = await page.evaluate("axe.run(document)")
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


async def theme(page: Page, name: str) -> None:
    await page.evaluate(
        "(name) => { document.documentElement.dataset.theme = name; document.querySelector('agrun-chat').setAttribute('theme', name); }",
        name,
    )


@pytest.mark.parametrize("name", ["light", "dark"])
async def test_axe_finds_nothing_in_a_conversation(demo: Page, name: str) -> None:
    calls = [{"name": "find_stock", "args": {"sku": "A-17"}}, {"name": "ask_supplier", "args": {}}]
    order = {"calls": [{"name": "place_order", "args": {"sku": "A-17", "quantity": 4}}]}
    failure = {"throw": {"message": "too many requests", "code": "PROVIDER_AUTH"}}
    await demo.evaluate(MOUNT, [{"text": "Let me look.", "calls": calls}, {"text": TEXT}, failure, order])
    await theme(demo, name)
    for count, prompt in enumerate(["stock?", "again?", "order"], 1):
        await ask(demo, prompt)
        await answered(demo, count)
    for summary in await demo.locator(".tool summary").all():
        await summary.click()
    await demo.get_by_role("button", name="Trace").first.click()
    await expect(demo.locator(".trace-sections details").first).to_be_visible()
    await demo.evaluate(
        "document.querySelector('agrun-chat').notice('Storage was refused.', {kind: 'warning', hint: 'Allow it.'})"
    )
    assert await violations(demo) == []


@pytest.mark.parametrize("name", ["light", "dark"])
async def test_axe_finds_nothing_on_the_welcome_page_and_in_the_dialog(browser: Browser, site: Site, name: str) -> None:
    page = await browser.new_page(viewport={"width": 1100, "height": 800})
    await page.goto(f"{site.origin}/index.html")
    await page.locator(".boot.done").wait_for(state="attached", timeout=60_000)
    await theme(page, name)
    await shot(page, f"welcome-{name}")
    assert await violations(page) == []
    await page.get_by_role("button", name="Provider:").click()
    await page.get_by_label("Provider", exact=True).select_option("openai")
    await page.get_by_role("button", name="Use this").click()
    assert await violations(page) == []
    await page.goto(f"{site.origin}/about.html")
    assert await violations(page) == []
    await page.close()


async def focused(page: Page) -> str:
    return str(
        await page.evaluate("""() => {
            let element = document.activeElement;
            while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
            return element?.getAttribute("aria-label") ?? element?.textContent?.trim() ?? "";
        }""")
    )


async def tab_to(page: Page, name: str, most: int = 25, key: str = "Tab") -> None:
    seen = []
    for _ in range(most):
        seen.append(await focused(page))
        if seen[-1].startswith(name):
            return
        await page.keyboard.press(key)
    pytest.fail(f"{name!r} was not reached: {seen}")


async def test_a_conversation_with_the_keyboard_alone(demo: Page) -> None:
    """Ask, approve, unfold a row, open the trace, choose a provider and leave it, ask again, stop: no pointer at all."""
    call = {"name": "place_order", "args": {"sku": "A-17", "quantity": 40}}
    await demo.evaluate("acted.length = 0")
    await demo.evaluate(
        MOUNT, [{"calls": [call]}, {"text": "Ordered."}, {"text": "on and on " * 90, "pause": 20, "hang": True}]
    )
    await demo.get_by_role("textbox", name="Message").wait_for()
    await demo.evaluate("document.activeElement?.blur()")
    await tab_to(demo, "Message")
    await demo.keyboard.type("order 40")
    await demo.keyboard.press("Enter")
    await answered(demo)
    await tab_to(demo, "Approve", key="Shift+Tab")
    await demo.keyboard.press("Space")
    await expect(demo.locator(".turn.agent")).to_contain_text("Ordered.")
    assert await demo.evaluate("acted") == ["A-17"]
    assert await focused(demo) == "Message", "the focus is not lost with the button"
    await tab_to(demo, "place_order", key="Shift+Tab")
    await demo.keyboard.press("Enter")
    await expect(demo.locator(".tool[open] pre").first).to_be_visible()
    await tab_to(demo, "Trace")
    await demo.keyboard.press("Space")
    await expect(demo.locator(".trace")).to_be_visible()
    await tab_to(demo, "Provider:", most=40)
    await demo.keyboard.press("Enter")
    await expect(demo.get_by_role("dialog", name="Who plans?")).to_be_visible()
    await demo.keyboard.press("Escape")
    await expect(demo.locator("dialog")).to_be_hidden()
    assert (await focused(demo)).startswith("Provider:"), "the dialog gives the focus back"
    await tab_to(demo, "Message", key="Shift+Tab")
    await demo.keyboard.type("talk")
    await demo.keyboard.press("Enter")
    await expect(demo.locator(".markdown").last).to_contain_text("on and on")
    await demo.keyboard.press("Escape")
    await expect(demo.locator(".note")).to_contain_text("Stopped")


async def test_what_happens_is_told_to_a_screen_reader(demo: Page) -> None:
    await demo.evaluate(
        MOUNT, [{"throw": {"message": "no such key", "code": "PROVIDER_AUTH"}}, {"text": "Fine.", "pause": 100}]
    )
    await ask(demo, "x")
    await expect(demo.get_by_role("alert")).to_contain_text("no such key")
    log = demo.get_by_role("log", name="Conversation")
    await expect(log.get_by_role("article", name="Your message")).to_have_text("x")
    await ask(demo, "y")
    await expect(demo.locator('.turn.agent[aria-busy="true"]')).to_have_count(1)  # nothing is read out piece by piece
    await answered(demo, 2)
    await expect(log.get_by_role("article", name="Answer").last).to_contain_text("Fine.")


async def test_motion_stops_for_those_who_ask_for_it(demo: Page) -> None:
    await demo.emulate_media(reduced_motion="reduce")
    await demo.evaluate(MOUNT, [{"text": "slow", "pause": 300}])
    await ask(demo, "x")
    await expect(demo.locator(".pulse")).to_have_css("animation-duration", "3s")
    await answered(demo)
    await demo.emulate_media(reduced_motion="no-preference")
