# ruff: noqa: E501 (JS stands in the strings)
"""Who plans: chosen in a dialog, with a key that is nowhere but in memory; and what the element says beside the talk."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chat import MOUNT, answered, ask, shot
from tests.browser.conftest import FAKES
from tests.browser.serving import ROOT, Site
from tests.fakes.providers import FakeProviders

KEY = "secret-2718281828"
#: every place of the page where a key could have been left
PLACES = """(key) => {
    const told = [location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), JSON.stringify(history.state)];
    const walk = (node) => {
        if (node instanceof Element) told.push(...node.getAttributeNames().map((name) => node.getAttribute(name)));
        if (node instanceof HTMLInputElement) told.push(node.value);
        if (node instanceof Text) told.push(node.data);
        node.childNodes.forEach(walk);
        if (node.shadowRoot) walk(node.shadowRoot);
    };
    walk(document);
    told.push(window.heard ?? "");
    return told.filter((text) => text?.includes(key)).length;
}"""


async def choose(page: Page, provider: str, **fields: str) -> None:
    await page.get_by_role("button", name="Provider:").click()
    await page.get_by_label("Provider", exact=True).select_option(provider)
    for label, text in fields.items():
        await page.get_by_label(label.replace("_", " ")).fill(text)
    await page.get_by_role("button", name="Use this").click()


#: provider, fields, and what the dialog says of them
WRONG: list[tuple[str, dict[str, str], str]] = [
    ("openai", {}, "Paste a key; OpenAI gives one at platform.openai.com/api-keys."),
    ("openai", {"API_key": "sk-ant-1"}, "does not look like a key of OpenAI"),
    ("anthropic", {"API_key": "sk-1"}, "does not look like a key of Anthropic"),
    ("gemini", {"API_key": "AIza x"}, "no blanks or line breaks"),
    ("openai", {"Model": "", "API_key": "sk-1"}, "for example gpt-5-mini"),
    ("openai-compatible", {"Model": "m"}, "for example http://localhost:11434/v1"),
    ("openai-compatible", {"Address": "localhost", "Model": "m"}, "begin with http:// or https://"),
    ("openai-compatible", {"Address": "https://a.example/v1?key=1", "Model": "m"}, "a key belongs into its own field"),
]


@pytest.mark.parametrize(("provider", "fields", "words"), WRONG)
async def test_a_wrong_entry_says_what_to_do(demo: Page, provider: str, fields: dict[str, str], words: str) -> None:
    await demo.evaluate(MOUNT, [])
    await choose(demo, provider, **fields)
    dialog = demo.get_by_role("dialog")
    await expect(dialog.locator(".fault:visible")).to_contain_text(words)
    invalid = dialog.locator('input[aria-invalid="true"]:visible')
    await expect(invalid).to_be_focused()
    if provider == "openai" and "API_key" in fields and "Model" not in fields:
        await shot(demo, "key-dialog-wrong")
    await demo.keyboard.press("Escape")


async def test_another_provider_keeps_the_conversation_and_the_key_is_nowhere(demo: Page) -> None:
    script: list[Any] = [{"text": "Hello from **another** model."}]
    await demo.evaluate("""() => {
        window.heard = "";
        for (const name of ["agrun-step", "agrun-result"]) addEventListener(name, (event) => { heard += JSON.stringify(event.detail); });
    }""")
    python = demo.workers[0]  # another one may be making a snapshot
    async with FakeProviders(script) as model:
        await demo.evaluate(MOUNT, [{"text": "Nice to meet you, Ada."}])
        await ask(demo, "I am Ada.")
        await answered(demo)
        await demo.get_by_role("button", name="Provider:").click()
        await demo.get_by_label("Provider", exact=True).select_option("openai-compatible")
        await demo.get_by_label("Address").fill(model.url)
        await demo.get_by_label("Model").fill("m")
        await demo.get_by_label("API key").fill(KEY)
        await shot(demo, "key-dialog")
        await demo.get_by_role("button", name="Use this").click()
        await expect(demo.get_by_role("dialog")).to_be_hidden()
        await expect(demo.get_by_role("button", name="Provider:")).to_have_text("OpenAI-compatible server · m")
        await ask(demo, "Who am I?")
        await answered(demo, 2)
        await expect(demo.locator(".turn.agent").first).to_contain_text("Nice to meet you, Ada.")
        await expect(demo.locator(".turn.agent").last).to_contain_text("Hello from another model.")
        (seen,) = model.seen
        assert KEY in str(seen.headers), "the provider was given it"
        told = str(seen.body["messages"])
        assert "I am Ada." in told
        assert "Nice to meet you, Ada." in told
        assert KEY not in str(seen.body)
    assert await demo.evaluate(PLACES, KEY) == 0
    assert python in demo.workers, "Python stays"


async def test_a_provider_without_a_key_asks_for_one_before_it_is_asked(demo: Page) -> None:
    await demo.evaluate(MOUNT, [])
    await demo.evaluate("""() => {
        document.querySelector("agrun-chat").remove();
        const chat = document.createElement("agrun-chat");
        chat.setAttribute("provider", "openai:gpt-5-mini");
        document.querySelector("main").append(chat);
    }""")
    await expect(demo.locator(".notice")).to_contain_text("OpenAI needs a key")
    await ask(demo, "hello")
    await expect(demo.get_by_role("dialog")).to_contain_text("OpenAI needs a key before it can answer.")
    await expect(demo.get_by_label("API key")).to_be_focused()
    await demo.keyboard.press("Escape")
    await expect(demo.get_by_role("textbox", name="Message")).to_have_value("hello")
    assert await demo.locator(".turn").count() == 0


async def test_notices_are_shown_replaced_acted_on_and_dismissed(demo: Page) -> None:
    await demo.evaluate(MOUNT, [])
    await demo.evaluate("""async () => {
        const chat = document.querySelector("agrun-chat");
        await chat.notice("Storage was refused: this conversation is gone when you leave.", {id: "store", kind: "warning", hint: "Allow storage for this page to keep it."});
        await chat.notice("The provider answers slowly.", {id: "slow", action: {label: "Change", run: () => { window.acted.push("changed"); }}});
    }""")
    await expect(demo.locator(".notice")).to_have_count(2)
    await shot(demo, "notices")
    await demo.evaluate("document.querySelector('agrun-chat').notice('Storage works again.', {id: 'store'})")
    await expect(demo.locator(".notice").first).to_contain_text("works again")
    await demo.get_by_role("button", name="Change", exact=True).click()
    assert (await demo.evaluate("acted")).pop() == "changed"
    await demo.get_by_role("button", name="Dismiss").first.click()
    await expect(demo.locator(".notice")).to_have_count(1)


async def test_a_refused_storage_is_told_of_and_what_there_is_can_be_saved(
    browser: Browser, site: Site, snapshot: str
) -> None:
    """In a page of its own, since the refusal stays."""
    page = await browser.new_page(viewport={"width": 900, "height": 700}, color_scheme="light")
    await page.goto(f"{site.origin}/index.html")
    await page.evaluate(FAKES)
    await page.evaluate(
        """(snapshot) => {
        document.querySelector("agrun-chat").remove();
        IDBFactory.prototype.open = () => { throw new DOMException("refused", "SecurityError"); };
        const chat = document.createElement("agrun-chat");
        chat.setAttribute("provider", "fake:test");
        window.told = [];
        chat.options = {providers: {fake: T.model([{text: "Noted."}])}, store: "indexeddb", snapshot, onStorage: (status) => told.push(status.kind)};
        document.querySelector("main").append(chat);
    }""",
        snapshot,
    )
    notice = page.locator(".notice")
    await expect(notice).to_contain_text("The browser keeps nothing for this page", timeout=30_000)
    await ask(page, "remember this")
    await answered(page)
    await shot(page, "refused-storage")
    async with page.expect_download() as download:
        await notice.get_by_role("button", name="Export").click()
    saved = await (await download.value).path()
    assert "remember this" in saved.read_text(encoding="utf-8")
    assert await page.evaluate("told") == ["memory"], "the page that set onStorage is told too"
    await page.close()


async def test_two_elements_share_one_python(browser: Browser, site: Site) -> None:
    page = await browser.new_page(viewport={"width": 1100, "height": 800})
    await page.goto(f"{site.origin}/index.html")
    await page.evaluate("document.querySelector('main').append(document.createElement('agrun-chat'))")
    await expect(page.locator(".boot.done")).to_have_count(2, timeout=60_000)
    assert len(page.workers) == 1
    await page.close()


async def test_a_missing_file_says_what_to_do(browser: Browser, site: Site) -> None:
    def gone(handler: Any) -> bool:
        handler.send_error(404)
        return True

    for path, words in {
        "/chat.mjs": "chat.mjs could not be loaded",
        "/agrun.js": "agrun.js could not be loaded",
        "/worker.mjs": "worker.mjs",
    }.items():
        site.answers[path] = gone
        page = await browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
        try:
            await page.goto(f"{site.origin}/index.html")
            alert = page.get_by_role("alert")
            await expect(alert.first).to_contain_text(words, timeout=20_000)
            await expect(alert.first).to_contain_text("erve the whole folder")
            await shot(page, f"error-{path[1:]}")
        finally:
            del site.answers[path]
            await page.close()


async def test_a_page_opened_as_a_file_says_what_to_do(browser: Browser) -> None:
    page = await browser.new_page(viewport={"width": 390, "height": 700}, color_scheme="dark")
    await page.goto((ROOT / "web" / "dist" / "index.html").as_uri())
    await expect(page.get_by_role("alert")).to_contain_text("opened as a file")
    await expect(page.get_by_role("alert")).to_contain_text("http.server")
    await shot(page, "error-file")
    await page.close()
