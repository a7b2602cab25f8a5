"""One round of M3 or M4: milliseconds from navigation to `ready`, for both sides of the measure."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from build_tasks.steps import ROOT
from tests.browser.conftest import BROWSERS, FLAGS
from tests.browser.serving import DIST, Answer, Site, served

PYODIDE = ROOT / "web" / "node_modules" / "pyodide"
OURS = """<script src="agrun.js"></script><script src="ours.js"></script>"""
OURS_JS = """
const snapshot = location.hash.slice(1);
Agrun.createRuntime({provider: "offline", snapshot}).then((agent) => void (window.ready = performance.now()), (error) => void (window.ready = String(error)));
"""  # noqa: E501
BARE = """<script type="module" src="bare.js"></script>"""
BARE_JS = """
import { loadPyodide } from "./%s/pyodide.mjs";
loadPyodide().then(() => void (window.ready = performance.now()), (error) => void (window.ready = String(error)));
"""
MADE = "() => caches.open('agrun-snapshots').then((cache) => cache.keys()).then((keys) => keys.length > 0)"


def main(number: str) -> dict[str, float]:
    with served() as site, sync_playwright() as playwright:
        site.answers.update(_extra())
        program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
        options: dict[str, Any] = {"executable_path": program, "args": FLAGS}
        if number == "M4":
            browser = playwright.chromium.launch(**options)
            return {"bare_ms": _first(browser, site, "bare.html"), "first_ms": _first(browser, site, "ours.html#off")}
        with tempfile.TemporaryDirectory() as profile:
            context = playwright.chromium.launch_persistent_context(profile, **options)
            _ready(context, site, "ours.html#auto", until=MADE)
            for snapshot in ("off", "auto"):  # once each, so that the browser's caches are filled on both sides
                _ready(context, site, f"ours.html#{snapshot}")
            figures = {
                "cold_ms": _ready(context, site, "ours.html#off"),
                "warm_ms": _ready(context, site, "ours.html#auto"),
            }
            context.close()
            return figures


def _first(browser: Browser, site: Site, address: str) -> float:
    context = browser.new_context()
    try:
        return _ready(context, site, address)
    finally:
        context.close()


def _ready(context: BrowserContext, site: Site, address: str, until: str = "") -> float:
    page = context.new_page()
    page.goto(f"{site.origin}/{address}")
    found = page.wait_for_function("() => window.ready", timeout=120_000).json_value()
    if not isinstance(found, int | float):
        raise SystemExit(f"{address}: {found}")
    while until and not page.evaluate(until):
        page.wait_for_timeout(200)
    page.close()
    return float(found)


def _extra() -> dict[str, Answer]:
    folder = json.loads((DIST / "manifest.json").read_text(encoding="utf-8"))["pyodide"]
    texts = {
        "/ours.html": OURS,
        "/ours.js": OURS_JS,
        "/bare.html": BARE,
        "/bare.js": BARE_JS % folder,
        f"/{folder}/pyodide.mjs": (PYODIDE / "pyodide.mjs").read_text(encoding="utf-8"),
        f"/{folder}/pyodide-lock.json": (PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"),
    }
    return {path: _answer(text.encode(), path) for path, text in texts.items()}


def _answer(data: bytes, path: str) -> Answer:
    kind = "text/html" if path.endswith(".html") else "text/javascript" if "js" in path[-4:] else "application/json"

    def answer(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        return True

    return answer


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
