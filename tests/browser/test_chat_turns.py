"""How a turn of `<agrun-chat>` can end and go on: approvals, stop, failure, another try."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.chat import MOUNT, answered, ask, shot


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
