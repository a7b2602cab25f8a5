"""Waits that grow, for what is tried again until it works."""

from __future__ import annotations

import asyncio

__all__ = ["Backoff"]


class Backoff:
    """Each wait is `factor` times as long as the one before, from `first_s` to `most_s` seconds."""

    def __init__(self, first_s: float = 0.1, most_s: float = 5.0, factor: float = 2.0) -> None:
        self._next_s = first_s
        self._most_s = most_s
        self._factor = factor

    async def wait(self) -> None:
        await asyncio.sleep(self._next_s)
        self._next_s = min(self._next_s * self._factor, self._most_s)
