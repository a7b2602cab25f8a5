"""The ports of a runtime whose host gave none: the page's in a browser, plain time and random ids elsewhere.

The one place of the core that looks at where it runs. There is no default transport outside a browser: `agrun_host`
has one.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Literal

from agrun_wasm.contracts.ports import Clock, Fetch, Ids

IN_BROWSER = sys.platform == "emscripten"


class SystemClock:
    """The Clock port on the running event loop."""

    def now(self) -> float:
        return time.time() * 1000

    async def sleep(self, ms: float) -> None:
        await asyncio.sleep(ms / 1000)


class RandomIds:
    """The Ids port from the system's randomness."""

    def new(self, kind: Literal["run", "session"]) -> str:
        import secrets

        return f"{kind}-{secrets.token_hex(8)}"


def default_fetch() -> Fetch | None:
    """The page's fetch inside a browser, else none."""
    if not IN_BROWSER:
        return None
    from agrun_wasm.browser.fetch import JsFetch

    return JsFetch()


def default_clock() -> Clock:
    """The page's timers inside a browser (they can be cleared), else the system's."""
    if not IN_BROWSER:
        return SystemClock()
    from agrun_wasm.browser.clock import BrowserClock

    return BrowserClock()


def default_ids() -> Ids:
    return RandomIds()
