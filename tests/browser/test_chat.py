# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""`<agrun-chat>` as a person meets it. Pictures of what was seen go to tests/shots/."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chat import MOUNT, answered, ask, shot
from tests.browser.conftest import without_workers
from tests.browser.serving import Site


async def test_a_person_can_type_and_send_before_python_is_ready(browser: Browser, site: Site) -> None:
    page = await browser.new_page(viewport={"width": 1100, "height": 800})
    await page.goto(f"{site.origin}/index.html")
    box = page.get_by_role("textbox", name="Message")
    await box.wait_for(timeout=5_000)
    await expect(page.locator(".boot")).to_be_visible()
    await shot(page, "booting")
    await ask(page, "How many kilometres are 26.2 miles?")
    await expect(page.locator(".turn.user")).to_have_text("How many kilometres are 26.2 miles?")
    await expect(page.locator(".activity")).to_contain_text("Waiting for Python")
    await answered(page)
    await expect(page.locator(".boot")).to_be_hidden()
    await expect(page.locator(".turn.agent")).to_contain_text("42.16")
    await expect(page.locator(".remark")).to_contain_text("not a language model")
    await page.locator(".tool").last.locator("summary").click()
    await shot(page, "offline")
    await page.close()


async def test_the_starters_show_a_tool_a_plan_and_a_citation(browser: Browser, site: Site) -> None:
    page = await browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
    await page.goto(site.origin.replace("127.0.0.1", "demo.example.org") + "/index.html")  # a public name can be read
    await page.get_by_role("textbox", name="Message").wait_for()
    starters = page.locator('[slot="starter"]')
    assert await starters.count() == 3
    await shot(page, "welcome")
    turns = page.locator(".turn.agent")
    for number in range(2):
        await starters.nth(number).evaluate("(element) => element.click()")
        await answered(page, number + 1)
        await expect(turns.nth(number).locator(".failure")).to_have_count(0)
        await expect(turns.nth(number).locator('.tool[data-state="ok"]').first).to_be_visible()
    await expect(turns.nth(1).locator("h2")).to_have_text(
        ["26.2 miles to kilometres", "150 pounds to kilograms", "350 °F to °C"]
    )
    await starters.nth(2).evaluate("(element) => element.click()")
    await page.get_by_role("button", name="Approve").click()
    await expect(turns.nth(2).locator('.sources a, .markdown a[href$="/about.html"]').first).to_be_attached()
    await answered(page, 3)
    await expect(turns.nth(2)).to_contain_text("How it works")
    await turns.nth(2).get_by_role("button", name="1 source").click()
    await expect(turns.nth(2).locator(".sources li")).to_contain_text("cited")
    await shot(page, "starters")
    await page.close()


async def test_text_streams_as_markdown(demo: Page) -> None:
    text = "# Stock\n\nThere are **40** of [A-17](https://example.org/a).\n\n| item | units |\n|---|---:|\n| A-17 | 40 |\n\n```python\nprint(40)\n```\n"
    await demo.evaluate(MOUNT, [{"text": text}])
    await ask(demo, "stock?")
    await answered(demo)
    turn = demo.locator(".turn.agent")
    await expect(turn.locator("h1")).to_have_text("Stock")
    await expect(turn.locator("strong")).to_have_text("40")
    link = turn.locator("a")
    assert await link.get_attribute("rel") == "noopener noreferrer nofollow"
    assert await link.get_attribute("target") == "_blank"
    await expect(turn.locator("td.align-right")).to_have_text("40")
    await expect(turn.locator("pre")).to_contain_text("print(40)")
    await shot(demo, "markdown")


async def test_tool_calls_are_rows_that_unfold(demo: Page) -> None:
    calls = [
        {"name": "find_stock", "args": {"sku": "A-17", "warehouse": "Bergen"}},
        {"name": "ask_supplier", "args": {}},
    ]
    await demo.evaluate(MOUNT, [{"text": "Let me look.", "calls": calls}, {"text": "There are **40**."}])
    await ask(demo, "stock of A-17?")
    await answered(demo)
    good, bad = demo.locator(".tool").first, demo.locator(".tool").last
    await expect(good).to_have_attribute("data-state", "ok")
    await expect(bad).to_have_attribute("data-state", "failed")
    await expect(good.locator("pre").first).to_be_hidden()
    await good.locator("summary").click()
    await expect(good.locator("pre").first).to_contain_text('"warehouse": "Bergen"')
    await expect(good.locator("pre").last).to_contain_text('"units": 40')
    await bad.locator("summary").focus()
    await demo.keyboard.press("Enter")
    await expect(bad).to_contain_text("the supplier is closed")
    await shot(demo, "tools")


async def test_follow_up_questions_are_buttons_and_no_code(demo: Page) -> None:
    first = {"text": 'Done.\n\n```g3-followups\n["And tomorrow?"]\n```\n'}
    await demo.evaluate(MOUNT, [first, {"text": "Rain."}])
    await ask(demo, "weather?")
    await answered(demo)
    assert await demo.locator(".turn.agent pre").count() == 0
    await demo.get_by_role("button", name="And tomorrow?").click()
    await answered(demo, 2)
    await expect(demo.locator(".turn.user").last).to_have_text("And tomorrow?")


async def test_steps_and_results_are_told_as_events(demo: Page) -> None:
    await demo.evaluate(MOUNT, [{"text": "Hi."}])
    await ask(demo, "x")
    await answered(demo)
    steps = await demo.evaluate("told.steps")
    assert steps[0] == "run-started"
    assert steps[-1] == "run-completed"
    assert await demo.evaluate("told.results") == ["completed"]


async def test_a_long_conversation_stays_at_its_end_until_the_reader_scrolls(demo: Page) -> None:
    lines = "\n\n".join(f"Line {number}." for number in range(60))
    await demo.evaluate(MOUNT, [{"text": lines}])
    await ask(demo, "many lines")
    await answered(demo)
    at_end = "(box) => box.scrollHeight - box.scrollTop - box.clientHeight < 4"
    await expect(demo.locator(".down")).to_be_hidden()
    assert await demo.locator(".scroll").evaluate(at_end)
    await demo.locator(".scroll").evaluate("(box) => { box.scrollTop = 0; }")
    await demo.get_by_role("button", name="Go to the latest message").click()
    assert await demo.locator(".scroll").evaluate(at_end)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390])
async def test_the_page_in_light_and_dark_wide_and_narrow(demo: Page, theme: str, width: int) -> None:
    calls = [{"name": "find_stock", "args": {"sku": "A-17", "warehouse": "Bergen"}}]
    order = {
        "calls": [
            {"name": "place_order", "args": {"sku": "A-17", "quantity": 40, "deliverTo": "Warehouse Bergen, gate 3"}}
        ]
    }
    answer = {"text": "There are **40 units** of A-17 in Bergen:\n\n- 25 in hall 2\n- 15 in hall 5\n"}
    await demo.set_viewport_size({"width": width, "height": 800})
    await demo.evaluate(MOUNT, [{"calls": calls}, answer, order])
    await demo.evaluate(
        "(theme) => { document.documentElement.dataset.theme = theme; document.querySelector('agrun-chat').setAttribute('theme', theme); }",
        theme,
    )
    await ask(demo, "How many A-17 do we have?")
    await answered(demo)
    await ask(demo, "Order 40 more, please")
    await answered(demo, 2)
    await shot(demo, f"{theme}-{width}")
    overflow = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert await demo.evaluate(overflow) is False
    dark = await demo.locator(".chat").evaluate("(chat) => getComputedStyle(chat.getRootNode().host).backgroundColor")
    assert (dark == "rgb(255, 255, 255)") is (theme == "light")


async def test_an_element_taken_off_the_page_ends_its_python(browser: Browser, site: Site) -> None:
    page = await browser.new_page()
    await page.goto(f"{site.origin}/index.html")
    await page.locator(".boot.done").wait_for(state="attached", timeout=60_000)
    assert len(page.workers) == 1
    await page.evaluate("""() => {
        const chat = document.querySelector("agrun-chat");
        document.body.append(chat); // moved: it goes on
    }""")
    await ask(page, "How many kilometres are 26.2 miles?")
    await answered(page)
    await page.evaluate("document.querySelector('agrun-chat').remove()")
    assert await without_workers(page)
    await page.close()


async def test_the_notice_goes_by_what_the_runtime_says(demo: Page) -> None:
    await demo.evaluate(MOUNT, [])
    await expect(demo.locator(".remark")).to_be_hidden()
    await demo.evaluate("""async () => {
        document.querySelector("agrun-chat").remove();
        const chat = document.createElement("agrun-chat");
        chat.runtime = await Agrun.createRuntime({provider: "offline"});
        document.querySelector("main").append(chat);
    }""")
    await expect(demo.locator(".remark")).to_be_visible()
