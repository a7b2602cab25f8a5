# ruff: noqa: E501 (JS stands in the strings)
"""After the first visit the page starts without a network, by a service worker that touches nothing else."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page

from tests.browser.serving import DIST, Site, served
from tests.browser.test_boot import body

CACHED = "() => caches.open('agrun-offline').then((cache) => cache.keys()).then((keys) => keys.map(({url}) => url))"
PAGE = b"""<!doctype html><title>own</title><script src="agrun.js"></script><script src="own.js"></script>"""
START = """async (options) => {
    const agent = await Agrun.createRuntime({provider: "offline", skills: "skills.json", snapshot: "snapshot.bin", ...options});
    return (await agent.run("How many kilometres are 26.2 miles?")).output.text;
}"""


@pytest.fixture
def place(site: Site, snapshot: str) -> Iterator[Site]:
    """A site of its own, which can go away."""
    made = site.answers[urlsplit(snapshot).path]
    with served() as site:
        site.answers["/snapshot.bin"] = made
        site.answers["/own.html"] = body(PAGE, "text/html")
        site.answers["/own.js"] = body(b"window.own = 1;", "text/javascript")
        site.answers["/data"] = body(b'{"private": true}', "application/json")
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await Browser.new_context(browser)
    yield context
    await context.close()


async def kept(page: Page, name: str, seconds: float = 60) -> list[str]:
    """The addresses that are kept, once one of this name is and no more come."""
    before: list[str] = []
    for _ in range(int(seconds * 2)):
        found = sorted(await page.evaluate(CACHED))
        if found == before and any(name in url for url in found):
            return found
        before = found
        await asyncio.sleep(0.5)
    raise AssertionError(f"{name} is not kept")


def unreachable(site: Site) -> None:
    """From now on every connection is closed unanswered, as by a network that is gone."""

    def gone(request: Any) -> bool:
        request.close_connection = True
        return True

    for path in [*site.requested, *site.answers, "/", "/index.html"]:
        site.answers[path] = gone


async def test_the_second_visit_needs_no_network(visitor: BrowserContext, place: Site) -> None:
    page = await visitor.new_page()
    await page.goto(f"{place.origin}/own.html?from=mail")
    assert "42.16" in await page.evaluate(START, {})
    assert await page.evaluate("fetch('data').then((answer) => answer.json())") == {"private": True}
    files = await kept(page, "own.html")
    assert not [url for url in files if url.endswith("/data")], "what an application fetches is not kept"
    await page.close()
    unreachable(place)
    page = await visitor.new_page()
    await page.goto(f"{place.origin}/own.html")
    assert await page.evaluate("own") == 1
    assert "42.16" in await page.evaluate(START, {})
    with pytest.raises(Exception, match="Failed to fetch"):
        await page.evaluate("fetch('data')")


async def test_the_demo_page_answers_without_a_network(visitor: BrowserContext, place: Site) -> None:
    page = await visitor.new_page()
    await page.goto(f"{place.origin}/")
    await page.evaluate("document.querySelector('agrun-chat').ask('How many kilometres are 26.2 miles?')")
    await page.locator("text=42.16 >> visible=true").first.wait_for(timeout=60_000)
    await kept(page, "chat.mjs")
    unreachable(place)
    await page.reload()
    await page.evaluate("document.querySelector('agrun-chat').ask('How many kilometres are 26.2 miles?')")
    await page.locator("text=42.16 >> visible=true").first.wait_for(timeout=60_000)


async def test_off_keeps_nothing_and_takes_away_what_was_there(visitor: BrowserContext, place: Site) -> None:
    page = await visitor.new_page()
    await page.goto(f"{place.origin}/own.html")
    await page.evaluate(START, {"serviceWorker": "off"})
    registrations = "navigator.serviceWorker.getRegistrations().then((all) => all.length)"
    assert await page.evaluate(registrations) == 0
    await page.reload()
    await page.evaluate(START, {})
    await kept(page, "own.html")
    assert await page.evaluate(registrations) == 1
    await page.reload()
    await page.evaluate(START, {"serviceWorker": "off"})
    assert await page.evaluate(registrations) == 0
    assert await page.evaluate("caches.has('agrun-offline')") is False


async def test_a_new_build_is_seen_at_once_and_takes_the_place_of_the_old(visitor: BrowserContext, place: Site) -> None:
    page = await visitor.new_page()
    await page.goto(f"{place.origin}/own.html")
    await page.evaluate(START, {})
    before = await kept(page, "own.html")
    place.answers["/own.js"] = body(b"window.own = 2;", "text/javascript")
    manifest = json.loads((DIST / "manifest.json").read_text(encoding="utf-8"))
    worker = (DIST / "worker.mjs").read_bytes() + b"\n"
    other = "0123456789abcdef"
    shim = (DIST / "agrun.js").read_text(encoding="utf-8").replace(manifest["build"], other)
    entry = {"bytes": len(worker), "sha256": hashlib.sha256(worker).hexdigest()}
    changed = {**manifest, "build": other, "files": {**manifest["files"], "worker.mjs": entry}}
    place.answers["/worker.mjs"] = body(worker, "text/javascript")
    place.answers["/agrun.js"] = body(shim.encode(), "text/javascript")
    place.answers["/manifest.json"] = body(json.dumps(changed).encode(), "application/json")
    await page.reload()
    assert await page.evaluate("own") == 2
    await page.evaluate(START, {})
    after = await kept(page, f"worker.mjs?{entry['sha256'][:12]}")
    assert next(url for url in before if "worker.mjs" in url) not in after
    assert len(after) == len(before)


async def test_somebody_elses_service_worker_is_left_alone(visitor: BrowserContext, place: Site) -> None:
    place.answers["/theirs.js"] = body(b"onfetch = () => {};", "text/javascript")
    page = await visitor.new_page()
    await page.goto(f"{place.origin}/own.html")
    await page.evaluate(
        "navigator.serviceWorker.register('theirs.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
    )
    for setting in ("auto", "off"):
        await page.evaluate(START, {"serviceWorker": setting})
        await page.wait_for_timeout(300)
        scripts = await page.evaluate(
            "navigator.serviceWorker.getRegistrations().then((all) => all.map((one) => one.active.scriptURL))"
        )
        assert scripts == [f"{place.origin}/theirs.js"]
        await page.reload()


async def test_a_wrong_setting_is_refused_by_name(visitor: BrowserContext, place: Site) -> None:
    page = await visitor.new_page()
    await page.goto(f"{place.origin}/own.html")
    with pytest.raises(Exception, match="serviceWorker"):
        await page.evaluate(START, {"serviceWorker": True})
