"""One round of M3 or M4: milliseconds from navigation to `ready`, for all sides of the measure."""

from __future__ import annotations

import json
import sys
import tempfile

from playwright.sync_api import BrowserContext

from tests.bench.peers import PYODIDE_WHEELS
from tests.bench.subjects.pages import chromium, open_ready, pages
from tests.browser.serving import Site

MADE = "() => caches.open('agrun-snapshots').then((cache) => cache.keys()).then((keys) => keys.length > 0)"
#: the figure's name -> the page; the sides of a round in their order
WARM = {"cold_ms": "ours.html#off", "warm_ms": "ours.html#auto", "peer_ms": "peer.html"}
FIRST = {"bare_ms": "bare.html", "first_ms": "ours.html#off"}


def warm() -> dict[str, float]:
    """Second visits in one profile: the first ones fill the browser's caches on every side, and make our snapshot."""
    with pages(PYODIDE_WHEELS) as (site, playwright), tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(profile, **chromium())
        _ready(context, site, WARM["warm_ms"], until=MADE)
        for address in WARM.values():
            _ready(context, site, address)
        figures = {name: _ready(context, site, address) for name, address in WARM.items()}
        context.close()
        return figures


def first() -> dict[str, float]:
    """First visits, each in a profile that has never been here."""
    with pages() as (site, playwright):
        browser = playwright.chromium.launch(**chromium())
        figures = {}
        for name, address in FIRST.items():
            context = browser.new_context()
            figures[name] = _ready(context, site, address)
            context.close()
        return figures


def _ready(context: BrowserContext, site: Site, address: str, until: str = "") -> float:
    page, milliseconds = open_ready(context, site, address)
    while until and not page.evaluate(until):
        page.wait_for_timeout(200)
    page.close()
    return milliseconds


if __name__ == "__main__":
    print(json.dumps(warm() if sys.argv[1] == "warm" else first()))
