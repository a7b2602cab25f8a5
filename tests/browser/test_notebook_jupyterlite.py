"""The real JupyterLite: its kernel, its package installer, its output cells. Everything comes from one origin."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.chat import shot
from tests.browser.jupyterlite_site import POLICY, add_notebooks, build_jupyterlite_site
from tests.browser.serving import DIST, Site, served
from tests.browser.test_notebook import blocks

#: a kernel that starts downloads Pyodide, IPython and jedi first
FIRST_MS = 150_000
NEXT_MS = 60_000
INDEX = """
import micropip
micropip.set_index_urls(["{origin}/simple"])
"""
#: a call that lasts until the test has seen the run in progress
HELD = """
from pyodide.http import pyfetch

@action(tier=0)
async def multiply(context, a: int, b: int) -> int:
    "Multiply two integers a and b."
    await pyfetch("{origin}/go")
    return a * b

async with Runtime(provider="offline", actions=[multiply]).stream("multiply a=6 and b=7") as run:
    display(run)
    await run.result()
"""
BLOCKED = """
@action(tier=2)
async def pay(context, amount: int) -> str:
    "Pay an amount."
    return "paid"

await Runtime(provider="offline", actions=[pay]).run("pay amount=5")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (DIST / "wheels").exists():
        pytest.fail("web/dist/wheels is not there; `python build.py web` makes it")
    folder = tmp_path_factory.mktemp("jupyterlite")
    try:
        build_jupyterlite_site(folder)
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode()[-300:] if error.stderr else ""
        if "No matching distribution" in words or "connection" in words.lower():
            pytest.skip(f"JupyterLite's packages cannot be had here: {words}")
        raise
    return folder


@pytest.fixture(scope="module")
def lite(folder: Path) -> Iterator[Site]:
    with served(folder, POLICY) as site:
        install, run, _watch = blocks("docs/notebooks.md", "python")
        own = [HELD.format(origin=site.origin), BLOCKED]
        cells = [INDEX.format(origin=site.origin), install, run, *own]
        add_notebooks(folder, {"agrun.ipynb": [cell.strip() for cell in cells]})
        yield site


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def notebook(browser: Browser, lite: Site) -> AsyncIterator[Page]:
    """The open notebook with agrun-wasm installed; the tests run one cell each, in the order of the cells."""
    context = await browser.new_context(viewport={"width": 1000, "height": 1100})
    foreign: list[str] = []
    context.on("request", lambda request: _note_foreign(foreign, lite, request.url))
    page = await context.new_page()
    await page.goto(f"{lite.origin}/lite/notebooks/index.html?path=agrun.ipynb")
    for number in (0, 1):  # one after the other: on a busy machine, what comes before the kernel is there is lost
        await run_until_done(page, number)
    yield page
    assert foreign == []
    await context.close()


async def run_until_done(page: Page, number: int) -> None:
    for _ in range(3):
        await run_cell(page, number)
        try:
            return await expect(prompt(page, number)).to_have_text(re.compile(r"\[\d+\]:"), timeout=FIRST_MS / 3)
        except AssertionError:
            continue
    raise AssertionError(f"cell {number} does not come to its end")


def _note_foreign(foreign: list[str], lite: Site, url: str) -> None:
    if url.startswith("http") and not url.startswith(lite.origin):
        foreign.append(url)


def cell(page: Page, number: int) -> Locator:
    return page.locator(".jp-CodeCell").nth(number)


def prompt(page: Page, number: int) -> Locator:
    return cell(page, number).locator(".jp-InputPrompt").first


def view(page: Page, number: int) -> Locator:
    """The run that the cell shows."""
    return cell(page, number).locator(".jp-OutputArea-output .agrun-run")


async def run_cell(page: Page, number: int) -> None:
    await cell(page, number).locator(".cm-content").click(timeout=NEXT_MS)
    await page.keyboard.press("Shift+Enter")


async def test_a_result_shows_as_html_in_the_output_cell(notebook: Page, lite: Site) -> None:
    await run_cell(notebook, 2)
    shown = view(notebook, 2)
    await expect(shown).to_have_attribute("data-status", "completed", timeout=NEXT_MS)
    await expect(shown.locator(".agrun-answer")).to_contain_text("5")
    call = shown.locator("details", has_text="add")
    await expect(call.locator("pre").first).to_be_hidden()
    await call.locator("summary").click()
    await expect(call.locator("pre").first).to_contain_text('"a": 2')
    assert any(path.startswith("/packages/agrun_wasm-") for path in lite.requested)
    await shot(notebook, "jupyterlite-result")


async def test_a_run_in_progress_is_followed_in_one_output(notebook: Page, lite: Site) -> None:
    go = threading.Event()

    def answer(handler: Any) -> bool:
        go.wait(NEXT_MS / 1000)
        handler.send_response(204)
        handler.end_headers()
        return True

    lite.answers["/go"] = answer
    await run_cell(notebook, 3)
    shown = view(notebook, 3)
    await expect(shown).to_have_attribute("data-status", "running", timeout=NEXT_MS)
    await expect(shown.locator("details")).to_contain_text("multiply", timeout=NEXT_MS)
    await shot(notebook, "jupyterlite-running")
    go.set()
    await expect(shown).to_have_attribute("data-status", "completed", timeout=NEXT_MS)
    await expect(shown.locator(".agrun-answer")).to_have_text("Result of multiply: 42")
    assert await cell(notebook, 3).locator(".jp-OutputArea-child").count() == 1
    await shot(notebook, "jupyterlite-followed")


async def test_a_run_that_waits_says_how_to_go_on(notebook: Page) -> None:
    await run_cell(notebook, 4)
    shown = view(notebook, 4)
    await expect(shown).to_have_attribute("data-status", "blocked", timeout=NEXT_MS)
    call = shown.locator(".agrun-ask pre").last
    await expect(call).to_contain_text("runtime.resume(result")
    await expect(call).to_have_css("border-top-width", "1px")  # ours wins over JupyterLab's own
    await shot(notebook, "jupyterlite-blocked")
