# ruff: noqa: E501 (JS stands in the strings)
"""What the tests of `<agrun-chat>` share: actions of the page, an element with a scripted model, ways to ask and to look."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.paths import SHOTS

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


async def ask(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Message")
    await box.fill(text)
    await box.press("Enter")


async def answered(page: Page, count: int = 1, seconds: float = 30) -> None:
    await expect(page.locator('.turn.agent[aria-busy="false"]')).to_have_count(count, timeout=seconds * 1000)


async def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    (SHOTS / ".gitignore").write_text("*\n", encoding="utf-8")
    await page.screenshot(path=SHOTS / f"{name}.png")
