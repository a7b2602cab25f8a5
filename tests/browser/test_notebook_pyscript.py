"""A PyScript page: a script tag of type "py" whose configuration names the package, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.async_api import Browser

from tests.browser.notebook_site import build_notebook_site
from tests.browser.serving import served

PAGE = """<!doctype html>
<meta charset="utf-8">
<link rel="stylesheet" href="/pyscript/core.css">
<script type="module" src="/pyscript/core.js"></script>
<main id="out"></main>
<script type="py" src="/cell.py" config="/pyscript.json" target="out"></script>
"""
CELL = """
from pyscript import display
from agrun_wasm import Runtime, action

@action(tier=0)
async def add(context, a: int, b: int) -> int:
    "Add two integers a and b."
    return a + b

result = await Runtime(provider="offline", actions=[add]).run("add a=2 and b=3")
display(result, target="out")
"""


async def test_a_pyscript_page_installs_the_package_and_shows_a_run(browser: Browser, tmp_path: Path) -> None:
    build_notebook_site(tmp_path)
    (tmp_path / "pyscript.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "cell.py").write_text(CELL, encoding="utf-8")
    with served(tmp_path) as site:
        config = {
            "interpreter": f"{site.origin}/pyodide/pyodide.mjs",
            "packages": ["agrun-wasm"],
            "index_urls": [f"{site.origin}/simple"],
            "packages_cache": "never",
        }
        (tmp_path / "pyscript.json").write_text(json.dumps(config), encoding="utf-8")
        context = await browser.new_context(bypass_csp=True)  # PyScript itself evaluates strings as JavaScript
        page = await context.new_page()
        foreign: list[str] = []
        page.on("request", lambda request: None if request.url.startswith(site.origin) else foreign.append(request.url))
        await page.goto(f"{site.origin}/pyscript.html")
        view = page.locator("#out .agrun-run")
        await view.wait_for(timeout=30_000)
        assert await view.get_attribute("data-status") == "completed"
        assert "5" in await view.locator(".agrun-answer").inner_text()
        assert [url for url in foreign if url.startswith("http")] == []
        await context.close()
