"""Items judged by the same Python inside Pyodide, in a worker of a blank page in Chromium.

Owns the server of that page, the browser and the worker, which is booted once and again only after a hang. The judging
is a module's `judge(item)` coroutine, as on CPython; sources of the tests are shipped, the product comes from web/dist.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.conformance.report import GUARD_SECONDS, Outcome

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DIST = ROOT / "web" / "dist"
BOOT_SECONDS = 120
BROWSERS = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PREFIX = "/__tests__/"
SOURCES = "/__src__/"
PAGES = ROOT / "web" / "src"
PAGE = '<!doctype html><meta charset="utf-8"><title>Tests</title><script type="module" src="page.mjs"></script>'


class ChromiumError(Exception):
    """The page could not be opened or Python could not be had in it."""


def run_in_chromium(module: str, items: Sequence[dict[str, Any]]) -> Iterator[Outcome]:
    """The outcome of each item by `module`'s judge; a hang is a failure of that item and a new worker."""
    if not items:
        return
    with ExitStack() as stack:
        page = stack.enter_context(_page())
        _start(page)
        for item in items:
            answer = page.evaluate(
                "([module, item, seconds]) => ask(module, item, seconds)",
                [module, json.dumps(item), 3 * GUARD_SECONDS],
            )
            if "outcome" in answer:
                yield Outcome(**json.loads(answer["outcome"]))
                continue
            yield Outcome(item["id"], [answer.get("broken") or "hung: the worker gave no answer"])
            page.evaluate("end()")
            _start(page)


def _start(page: Page) -> None:
    answer = page.evaluate("start", BOOT_SECONDS)
    if not answer.get("ready"):
        raise ChromiumError(answer.get("broken") or f"Python was not ready within {BOOT_SECONDS} s")


@contextmanager
def _page() -> Iterator[Page]:
    """A blank page of our own origin, which also serves web/dist."""
    if not DIST.is_dir():
        raise ChromiumError("web/dist is not there; `python build.py web` makes it")
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as profile, _served() as origin, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, executable_path=program, args=FLAGS)
        page = context.pages[0] if context.pages else context.new_page()
        page.goto(f"{origin}{PREFIX}")
        page.wait_for_function("window.start !== undefined")
        try:
            yield page
        finally:
            context.close()


@contextmanager
def _served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(DIST)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Files(SimpleHTTPRequestHandler):
    """web/dist, and the test page's own files under PREFIX, and the page's modules unbundled under SOURCES."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm"}

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].removeprefix(PREFIX)
        if name == "":
            self._send(PAGE, "text/html; charset=utf-8")
        elif name == "sources.json":
            self._send(json.dumps(_sources()), "application/json")
        elif self.path.startswith(SOURCES) and (page := PAGES / self.path.removeprefix(SOURCES)).is_file():
            self._send(page.read_text(encoding="utf-8"), "text/javascript")
        elif self.path.startswith(PREFIX) and (HERE / name).suffix == ".mjs" and (HERE / name).is_file():
            self._send((HERE / name).read_text(encoding="utf-8"), "text/javascript")
        else:
            super().do_GET()

    def _send(self, text: str, content_type: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _sources() -> dict[str, str]:
    """Our own Python below tests/ that a judge may import, by path from the checkout."""
    tests = ROOT / "tests"
    files = [*tests.glob("*.py"), *HERE.glob("*.py"), *(tests / "cases").glob("*.py")]
    return {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
        for file in files
        if not file.name.startswith(("test_", "conftest"))
    }
