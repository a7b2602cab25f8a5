"""The trace of a turn: what ran, how long, what it cost, and what the prompt was made of; opened by button or key."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.chat import MOUNT, answered, ask, shot

CALLS = [{"name": "find_stock", "args": {"sku": "A-17"}}, {"name": "ask_supplier", "args": {}}]


async def opened(page: Page, name: str = "Trace") -> None:
    button = page.get_by_role("button", name=name).last
    await expect(button).to_have_attribute("aria-expanded", "false")
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(button).to_have_attribute("aria-expanded", "true")


async def test_the_trace_tells_steps_times_tokens_and_cycles(demo: Page) -> None:
    await demo.set_viewport_size({"width": 1100, "height": 1000})
    await demo.evaluate(MOUNT, [{"text": "Let me look.", "calls": CALLS}, {"text": "There are **40**."}])
    await ask(demo, "stock of A-17?")
    await answered(demo)
    trace = demo.locator(".trace")
    await expect(trace).to_be_hidden()
    assert await trace.locator("li").count() == 0, "nothing is made before it is opened"
    await opened(demo)
    facts = await trace.locator(".trace-facts").inner_text()
    told = facts.split("\n")
    assert told[told.index("Cycles") + 1] == "2"
    assert told[told.index("Model calls") + 1] == "2"
    assert told[told.index("Tokens in") + 1] == "6"
    assert told[told.index("Tokens out") + 1] == "4"
    await expect(trace.locator(".trace-cycle")).to_have_count(2)
    first = trace.locator(".trace-cycle").first
    await expect(first.locator('li[data-kind="model"]')).to_contain_text("find_stock, ask_supplier")
    await expect(first.locator('li[data-kind="action"][data-state="ok"]')).to_contain_text("40 units")
    await expect(first.locator('li[data-kind="action"][data-state="failed"]')).to_contain_text("the supplier is closed")
    await expect(first.locator(".time").first).to_contain_text("ms")
    await shot(demo, "trace")


async def test_the_trace_shows_the_sections_of_the_prompt_word_for_word(demo: Page) -> None:
    await demo.evaluate(MOUNT, [{"text": "Hi."}])
    await ask(demo, "x")
    await answered(demo)
    await opened(demo)
    sections = demo.locator(".trace-sections details")
    await expect(sections.first).to_be_visible()
    names = await sections.locator(".trace-label").all_text_contents()
    assert names[0] == "role"
    await expect(demo.locator(".trace-prompt")).to_contain_text("fake test")
    await sections.first.locator("summary").focus()
    await demo.keyboard.press("Enter")
    system = await demo.evaluate("model.seen.requests[0].system")
    shown = await sections.first.locator("pre").inner_text()
    assert shown
    assert system.startswith(shown)


async def test_an_approval_is_timed_as_one_and_the_run_goes_on_in_the_same_trace(demo: Page) -> None:
    await demo.evaluate(MOUNT, [{"calls": [{"name": "place_order", "args": {"sku": "B"}}]}, {"text": "Ordered."}])
    await ask(demo, "order B")
    await answered(demo)
    await opened(demo)
    waiting = demo.locator('.trace li[data-kind="approval"]')
    await expect(waiting).to_have_attribute("data-state", "running")
    await demo.get_by_role("button", name="Approve").click()
    await expect(demo.locator(".turn.agent")).to_contain_text("Ordered.")
    await expect(waiting).to_have_attribute("data-state", "ok")
    await expect(demo.locator('.trace li[data-kind="action"]')).to_have_attribute("data-state", "ok")


async def test_an_open_trace_does_not_slow_the_stream(demo: Page) -> None:
    """The elements of an open trace are made a few times a second, however many pieces come."""
    await demo.evaluate(MOUNT, [{"text": "word " * 400, "pause": 5}])
    await ask(demo, "x")
    await expect(demo.locator(".markdown")).to_contain_text("word")
    await demo.get_by_role("button", name="Trace").click()
    await demo.evaluate("""() => {
        window.drawn = 0;
        window.from = performance.now();
        const list = document.querySelector("agrun-chat").shadowRoot.querySelector(".trace-cycles");
        new MutationObserver(() => drawn++).observe(list, {childList: true});
    }""")
    await answered(demo)
    drawn, ms = await demo.evaluate("[drawn, performance.now() - from]")
    assert 1 <= drawn <= ms / 250 + 2


async def test_a_failed_turn_has_a_trace_too(demo: Page) -> None:
    await demo.evaluate(MOUNT, [{"throw": {"message": "no such key", "code": "PROVIDER_AUTH"}}])
    await ask(demo, "x")
    await answered(demo)
    await opened(demo)
    await expect(demo.locator(".trace")).to_contain_text("Run failed")
    await expect(demo.locator(".turn.agent").get_by_role("button", name="Change provider or key")).to_be_visible()
