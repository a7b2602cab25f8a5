"""BrowserClock: the clock port on the browser's timers."""

from __future__ import annotations

import time

import js


class BrowserClock:
    def now(self) -> float:
        return time.time() * 1000

    async def sleep(self, ms: float) -> None:
        """On a timer that is cleared when the wait is cancelled; the event loop's own would stay to its end."""
        waiting = js.Promise.withResolvers()
        timer = js.setTimeout(waiting.resolve, ms)
        try:
            await waiting.promise
        finally:
            js.clearTimeout(timer)
            waiting.resolve()
