"""BrowserClock: the clock port on the page's event loop."""

from __future__ import annotations

import asyncio
import time


class BrowserClock:
    def now(self) -> float:
        return time.time() * 1000

    async def sleep(self, ms: float) -> None:
        await asyncio.sleep(ms / 1000)
