"""One Chromium for all tests of the page, one booted Python for those that do not test the boot.

Playwright's async API on one event loop for the whole folder: its sync API would keep a loop running under every other
test of the session.
"""

from __future__ import annotations

import asyncio
import inspect
import shutil
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, Worker, async_playwright

from build_tasks.make_snapshot import MAKE
from tests.browser.chat import ACTIONS
from tests.browser.paths import HERE
from tests.browser.serving import DIST, Site, SlowPeer, Upload, served, slow_peer

FAKES = (HERE / "page_fakes.js").read_text(encoding="utf-8")
BROWSERS = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
    "--host-resolver-rules=MAP *.example.org 127.0.0.1",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        # A service worker answers beside the test's own server, so only the tests of it let one in.
        for door in ("new_context", "new_page"):
            setattr(browser, door, partial(getattr(browser, door), service_workers="block"))
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    if not (DIST / "manifest.json").exists():
        pytest.fail("web/dist is not there; `python build.py web` makes it")
    with served() as site:
        yield site


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def snapshot(browser: Browser, site: Site) -> str:
    """The URL of a memory snapshot, for tests that start Python over and over and are not about its start."""
    made = Upload()
    site.answers["/made"] = made.take
    site.answers["/snapshot.bin"] = made.give
    page = await open_page(browser, site)
    await page.evaluate(MAKE)
    await page.close()
    return f"{site.origin}/snapshot.bin"


@pytest_asyncio.fixture(loop_scope="session")
async def fresh(browser: Browser, site: Site) -> AsyncIterator[Page]:
    """A page with agrun.js loaded and nothing booted."""
    page = await open_page(browser, site)
    yield page
    await page.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def booted(browser: Browser, site: Site) -> AsyncIterator[Page]:
    """A page whose Python has started and stays: every runtime of it shares that one."""
    page = await open_page(browser, site)
    await page.evaluate("T.agent([]).then((agent) => void (window.kept = agent))")
    yield page
    await page.close()


@pytest.fixture
def page(booted: Page) -> Page:
    return booted


@pytest.fixture
def worker(booted: Page) -> Worker:
    """The worker of that Python: `pyodide` is a global there."""
    return booted.workers[0]


@pytest.fixture
def peer() -> Iterator[SlowPeer]:
    with slow_peer() as peer:
        yield peer


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def demo_page(browser: Browser, site: Site) -> AsyncIterator[Page]:
    """The demo page, with a Python that stays; its own chat is replaced by those of the tests."""
    page = await browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
    await page.goto(f"{site.origin}/index.html")
    await page.evaluate(FAKES)
    await page.evaluate(ACTIONS + "; undefined")
    await page.evaluate("T.agent([]).then((agent) => void (window.kept = agent))")
    yield page
    await page.close()


@pytest_asyncio.fixture(loop_scope="session")
async def demo(demo_page: Page) -> Page:
    """That page, light and wide again."""
    await demo_page.set_viewport_size({"width": 1100, "height": 800})
    await demo_page.evaluate("document.documentElement.removeAttribute('data-theme')")
    return demo_page


async def open_page(browser: Browser | BrowserContext, site: Site) -> Page:
    """A page of the site with agrun.js and the fakes, and nothing else on it."""
    page = await browser.new_page()
    await page.goto(f"{site.origin}/skills.json")
    await page.add_script_tag(url=f"{site.origin}/agrun.js")
    await page.evaluate(FAKES)
    return page


async def without_workers(page: Page, seconds: float = 10) -> bool:
    """Have all workers of the page ended, within the time?"""
    for _ in range(int(seconds * 20)):
        if not page.workers:
            return True
        await asyncio.sleep(0.05)
    return False
