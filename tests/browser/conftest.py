"""One Chromium for all tests of the page, one booted Python for those that do not test the boot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.serving import DIST, Site, SlowPeer, served, slow_peer

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
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    if not (DIST / "manifest.json").exists():
        pytest.fail("web/dist is not there; `python build.py web` makes it")
    with served() as site:
        yield site


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A fresh page with agrun.js loaded and nothing booted."""
    page = browser.new_page()
    open_blank(page, site)
    yield page
    page.close()


@pytest.fixture
def peer() -> Iterator[SlowPeer]:
    with slow_peer() as peer:
        yield peer


def open_blank(page: Page, site: Site) -> None:
    page.goto(f"{site.origin}/licenses.txt")
    page.add_script_tag(url=f"{site.origin}/agrun.js")
