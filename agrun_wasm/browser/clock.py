"""BrowserClock: the clock port on the browser's timers."""

from __future__ import annotations

import time

import js


class BrowserClock:
    def now(self) -> float:
        return time.time() * 1000

    async def sleep(self, ms: float) -> None:
        """A timer of the event loop would hold on to Python until its time comes, cancelled or not; this one is cleared."""
        waiting = js.Promise.withResolvers()
        timer = js.setTimeout(waiting.resolve, ms)
        try:
            await waiting.promise
        finally:
            js.clearTimeout(timer)
            waiting.resolve()
