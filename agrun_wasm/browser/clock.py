"""BrowserClock: the clock port on the browser's timers."""

from __future__ import annotations

import asyncio
import time

import js


class BrowserClock:
    def now(self) -> float:
        return time.time() * 1000

    async def sleep(self, ms: float) -> None:
        """Nothing stays in the browser when the wait is cancelled.

        Our own event loop keeps its timers to itself; any other's would stay to their end, so there it is a timer of
        the browser that is cleared. That costs a tenth of a cycle, which has one for its call.
        """
        if getattr(asyncio.get_running_loop(), "keeps_timers", False):
            await asyncio.sleep(ms / 1000)
            return
        waiting = js.Promise.withResolvers()
        timer = js.setTimeout(waiting.resolve, ms)
        try:
            await waiting.promise
        finally:
            js.clearTimeout(timer)
            waiting.resolve()
