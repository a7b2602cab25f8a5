"""Makes web/dist/snapshot.bin.gz, the memory of a Python that has started, in Chromium; run by .venv's Python.

In a browser, since a snapshot fits only where there is JSPI as where it was made, and Node 20 has none. What is in it
is the page's own affair (web/src/boot/snapshot_maker.js).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

from build_tasks.environment import BROWSERS, CHROMIUM

NAME = "snapshot.bin.gz"
MAKE = """async () => {
    const manifest = await (await fetch("manifest.json")).json();
    const { makeSnapshot } = await import("/worker.mjs");
    const made = await makeSnapshot(new URL("/", location.href).href, manifest);
    await fetch("/made", { method: "POST", body: made });
}"""


class Exchange(SimpleHTTPRequestHandler):
    """Serves the page's files, and takes what the page has made."""

    made: bytes = b""

    def do_POST(self) -> None:
        Exchange.made = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def make(dist: Path) -> bytes:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Exchange, directory=str(dist)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = next((found for name in (str(CHROMIUM), *BROWSERS) if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/manifest.json")
        page.evaluate(MAKE)
        browser.close()
    server.shutdown()
    return Exchange.made


def main(dist: Path) -> None:
    packed = gzip.compress(make(dist), compresslevel=9, mtime=0)
    (dist / NAME).write_bytes(packed)
    manifest = json.loads((dist / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"][NAME] = {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}
    (dist / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"    {NAME}  {len(packed) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
