"""The pages that are measured in Chromium, and Chromium itself: our bundle, Pyodide alone, and pydantic-ai in Pyodide.

All come from one server of web/dist, with Pyodide's files from there, so that no side has other files than another. A
page sets `window.ready` to the milliseconds since its navigation, or to the text of what went wrong.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, Playwright, sync_playwright

from build_tasks.steps import ROOT
from tests.browser.conftest import BROWSERS, FLAGS
from tests.browser.serving import DIST, Answer, Site, served

PYODIDE = ROOT / "web" / "node_modules" / "pyodide"
TIMEOUT_MS = 120_000

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
PEER = """<script src="peer.js"></script>"""
PEER_JS = """
const worker = new Worker("peer_worker.js", {type: "module"});
worker.onmessage = ({data}) => void (window.ready = data === "imported" ? performance.now() : data);
"""
#: wheels by address: no index is asked and nothing is resolved, which is the cheapest way in
PEER_WORKER_JS = """
import { loadPyodide } from "./%s/pyodide.mjs";
const wheels = %s;
try {
  globalThis.pyodide = await loadPyodide();
  const addresses = wheels.map((name) => new URL(`peer/${name}`, location.href).href);
  await pyodide.loadPackage(addresses, {messageCallback: () => {}});
  pyodide.runPython("from pydantic_ai import Agent");
  postMessage("imported");
} catch (error) {
  postMessage(String(error));
}
"""


@contextmanager
def pages(wheels: Path | None = None) -> Iterator[tuple[Site, Playwright]]:
    """The served pages and a Playwright; the peer's page only with the folder of its wheels."""
    with served() as site, sync_playwright() as playwright:
        site.answers.update(_answers(wheels))
        yield site, playwright


def chromium() -> dict[str, Any]:
    """What Chromium is launched with."""
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    return {"executable_path": program, "args": FLAGS}


def open_ready(context: BrowserContext, site: Site, address: str) -> tuple[Page, float]:
    """The page at `address` once it is ready, and the milliseconds that took."""
    page = context.new_page()
    page.goto(f"{site.origin}/{address}")
    found = page.wait_for_function("() => window.ready", timeout=TIMEOUT_MS).json_value()
    if not isinstance(found, int | float):
        raise SystemExit(f"{address}: {found}")
    return page, float(found)


def _answers(wheels: Path | None) -> dict[str, Answer]:
    folder = json.loads((DIST / "manifest.json").read_text(encoding="utf-8"))["pyodide"]
    texts = {
        "/ours.html": OURS,
        "/ours.js": OURS_JS,
        "/bare.html": BARE,
        "/bare.js": BARE_JS % folder,
        f"/{folder}/pyodide.mjs": (PYODIDE / "pyodide.mjs").read_text(encoding="utf-8"),
        f"/{folder}/pyodide-lock.json": (PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"),
    }
    files = sorted(wheels.glob("*.whl")) if wheels else []
    if wheels:
        names = json.dumps([file.name for file in files])
        texts |= {"/peer.html": PEER, "/peer.js": PEER_JS, "/peer_worker.js": PEER_WORKER_JS % (folder, names)}
    data = {path: text.encode() for path, text in texts.items()} | {f"/peer/{f.name}": f.read_bytes() for f in files}
    return {path: _answer(content, path) for path, content in data.items()}


_KINDS = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json"}


def _answer(data: bytes, path: str) -> Answer:
    kind = _KINDS.get(Path(path).suffix, "application/octet-stream")

    def answer(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("Cache-Control", "max-age=3600")  # a second visit has them, as it has the files of web/dist
        handler.end_headers()
        handler.wfile.write(data)
        return True

    return answer
