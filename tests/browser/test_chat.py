# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""`<agrun-chat>` as a person meets it. Pictures of what was seen go to tests/shots/."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import FAKES, SHOTS, without_workers
from tests.browser.serving import Site

ACTIONS = """
    window.acted = [];
    window.actions = [
        {name: "find_stock", description: "Finds stock.", tier: 0,
         argsSchema: {sku: {type: "string", required: true}, warehouse: {type: "string"}},
         execute: async ({sku}) => ({control: "continue", output: {sku, units: 40}, summary: "40 units"})},
        {name: "ask_supplier", description: "Asks the supplier.", tier: 0, argsSchema: {},
         execute: async () => { throw new Error("the supplier is closed"); }},
        {name: "place_order", description: "Orders goods.", tier: 1, permission: {effect: "external_write"},
         argsSchema: {sku: {type: "string", required: true}, quantity: {type: "integer"}, deliverTo: {type: "string"}},
         execute: async ({sku}) => { acted.push(sku); return {control: "continue", output: {order: "O-1881"}, summary: "ordered"}; }},
    ];
"""
#: puts an <agrun-chat> of its own onto the page, with a scripted model behind it
MOUNT = """(replies) => {
    document.querySelector("agrun-chat")?.remove();
    window.told = {steps: [], results: []};
    window.model = T.model(replies);
    const chat = document.createElement("agrun-chat");
    chat.setAttribute("provider", "fake:test");
    chat.options = {providers: {fake: model}, actions: window.actions};
    chat.addEventListener("agrun-step", (event) => told.steps.push(event.detail.type));
    chat.addEventListener("agrun-result", (event) => told.results.push(event.detail.status));
    document.querySelector("main").append(chat);
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def demo(browser: Browser, site: Site) -> AsyncIterator[Page]:
    """The demo page, with a Python that stays; its own chat is replaced by those of the tests."""
    page = await browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
    await page.goto(f"{site.origin}/index.html")
    await page.evaluate(FAKES)
    await page.evaluate(ACTIONS + "; undefined")
    await page.evaluate("T.agent([]).then((agent) => void (window.kept = agent))")
    yield page
    await page.close()


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def light_and_wide(demo: Page) -> None:
    await demo.set_viewport_size({"width": 1100, "height": 800})
    await demo.evaluate("document.documentElement.removeAttribute('data-theme')")


async def ask(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Message")
    await box.fill(text)
    await box.press("Enter")


async def answered(page: Page, count: int = 1) -> None:
    await expect(page.locator('.turn.agent[aria-busy="false"]')).to_have_count(count, timeout=30_000)


async def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    (SHOTS / ".gitignore").write_text("*\n", encoding="utf-8")
    await page.screenshot(path=SHOTS / f"{name}.png")


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
    await expect(page.locator(".notice")).to_contain_text("not a language model")
    await page.locator(".tool").last.locator("summary").click()
    await shot(page, "offline")
    await page.close()


async def test_a_starter_asks_its_prompt(browser: Browser, site: Site, demo: Page) -> None:
    page = await browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
    await page.goto(f"{site.origin}/index.html")
    await page.get_by_role("textbox", name="Message").wait_for()
    starters = page.locator('[slot="starter"]')
    assert await starters.count() == 3
    await shot(page, "welcome")
    for number in range(3):
        await starters.nth(number).evaluate("(element) => element.click()")
        await answered(page, number + 1)
        turn = page.locator(".turn.agent").nth(number)
        await expect(turn.locator(".failure")).to_have_count(0)
        await expect(turn.locator('.tool[data-state="ok"]').first).to_be_visible()
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


INERT = r"""Look: <script>window.hit = 1</script> <img src=x onerror="window.hit = 2"> <b onclick="window.hit=3">bold</b>

[one](javascript:window.hit=4) [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>alert(1)</script>) [four](vbscript:x)
![pixel](https://evil.example/x.png) ![bad](javascript:alert(1)) <javascript:alert(1)>

<iframe src="https://evil.example"></iframe><style>*{display:none}</style><svg onload="window.hit=5"></svg>

[five](/relative) [ok](https://example.org/?q="><img src=x onerror=window.hit=6>) [mail](mailto:a@example.org)
"""


async def test_what_a_model_writes_stays_inert(demo: Page) -> None:
    asked: list[str] = []
    demo.on("request", lambda request: asked.append(request.url))
    await demo.evaluate("window.hit = 0")
    await demo.evaluate(MOUNT, [{"text": INERT}])
    await ask(demo, "<img src=x onerror='window.hit = 7'>")
    await answered(demo)
    turn = demo.locator(".turn.agent")
    for tag in ("script", "img", "iframe", "style", "svg:not(.icon)", "b"):
        assert await turn.locator(f".markdown {tag}").count() == 0, tag
    links = await turn.locator(".markdown a").evaluate_all("(links) => links.map((link) => link.href)")
    assert [link.partition("?")[0] for link in links] == [
        "https://evil.example/x.png",  # a picture is a link
        "https://evil.example/",  # an address in what is plain text
        "https://example.org/",
        "mailto:a@example.org",
    ]
    await expect(turn).to_contain_text("<script>window.hit = 1</script>")
    await expect(turn).to_contain_text("[one](javascript:window.hit=4)")
    for link in await turn.locator(".markdown a").all():
        assert await link.evaluate("(element) => element.getAttributeNames().sort().join()") == "href,rel,target"
    await expect(demo.locator(".turn.user")).to_have_text("<img src=x onerror='window.hit = 7'>")
    assert await demo.evaluate("window.hit") == 0
    assert [url for url in asked if "evil.example" in url] == []


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


async def test_an_approval_card_shows_what_would_be_done_and_takes_a_decision(demo: Page) -> None:
    call = {"name": "place_order", "args": {"sku": "A-17", "quantity": 40, "deliverTo": "Gate 3"}}
    await demo.evaluate("acted.length = 0")
    await demo.evaluate(MOUNT, [{"calls": [call]}, {"text": "Ordered: O-1881."}])
    await ask(demo, "order 40 of A-17")
    await answered(demo)
    card = demo.locator(".approval")
    await expect(card).to_contain_text("place_order")
    await expect(card.locator("dl")).to_contain_text("Gate 3")
    await expect(card).to_contain_text("Changes something outside this page")
    assert await demo.evaluate("acted") == []
    await shot(demo, "approval")
    await demo.get_by_role("button", name="Approve").click()
    await answered(demo)
    await expect(demo.locator(".turn.agent")).to_contain_text("Ordered: O-1881.")
    assert await demo.evaluate("acted") == ["A-17"]
    await expect(card).to_contain_text("Approved")
    await expect(demo.get_by_role("button", name="Approve")).to_be_hidden()
    assert await demo.evaluate("told.results") == ["blocked", "completed"]
    await shot(demo, "approved")


async def test_a_denied_call_does_not_run(demo: Page) -> None:
    await demo.evaluate("acted.length = 0")
    await demo.evaluate(MOUNT, [{"calls": [{"name": "place_order", "args": {"sku": "B"}}]}, {"text": "Left alone."}])
    await ask(demo, "order B")
    await answered(demo)
    await demo.get_by_role("button", name="Deny").click()
    await expect(demo.locator(".turn.agent")).to_contain_text("Left alone.")
    assert await demo.evaluate("acted") == []


async def test_two_approvals_are_decided_together(demo: Page) -> None:
    await demo.evaluate("acted.length = 0")
    calls = [{"name": "place_order", "args": {"sku": "A"}}, {"name": "place_order", "args": {"sku": "B"}}]
    await demo.evaluate(MOUNT, [{"calls": calls}, {"text": "One of two."}])
    await ask(demo, "order A and B")
    await answered(demo)
    await demo.locator(".approval").first.get_by_role("button", name="Approve").click()
    assert await demo.evaluate("acted") == []
    await demo.locator(".approval").last.get_by_role("button", name="Deny").click()
    await expect(demo.locator(".turn.agent")).to_contain_text("One of two.")
    assert await demo.evaluate("acted") == ["A"]


@pytest.mark.parametrize("how", ["button", "key"])
async def test_stop_cuts_the_answer(demo: Page, how: str) -> None:
    await demo.evaluate(MOUNT, [{"text": "This goes on and on. " * 50, "pause": 20, "hang": True}])
    await ask(demo, "talk")
    await expect(demo.locator(".markdown")).to_contain_text("This goes on")
    if how == "button":
        await demo.get_by_role("button", name="Stop").click()
    else:
        await demo.get_by_role("textbox", name="Message").press("Escape")
    await answered(demo)
    await expect(demo.locator(".note")).to_contain_text("Stopped")
    assert await demo.evaluate("model.seen.aborted") == 1
    await expect(demo.get_by_role("button", name="Send")).to_be_visible()


async def test_a_failure_says_what_to_do_and_can_be_tried_again(demo: Page) -> None:
    limited = {"throw": {"message": "too many requests", "code": "PROVIDER_AUTH"}}
    await demo.evaluate(MOUNT, [limited, {"text": "Better now."}])
    await ask(demo, "x")
    await answered(demo)
    await expect(demo.locator(".failure")).to_contain_text("too many requests")
    await expect(demo.locator(".failure")).to_contain_text("PROVIDER_AUTH")
    await shot(demo, "failure")
    await demo.get_by_role("button", name="Try again").click()
    await expect(demo.locator(".turn.agent")).to_contain_text("Better now.")
    assert await demo.locator(".failure").count() == 0


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
    await expect(demo.locator(".notice")).to_be_hidden()
    await demo.evaluate("""async () => {
        document.querySelector("agrun-chat").remove();
        const chat = document.createElement("agrun-chat");
        chat.runtime = await Agrun.createRuntime({provider: "offline"});
        document.querySelector("main").append(chat);
    }""")
    await expect(demo.locator(".notice")).to_be_visible()
