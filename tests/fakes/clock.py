"""The virtual clock of all tests, with a record of what was waited for."""

from __future__ import annotations

from tests.clock import FakeClock


class RecordingClock(FakeClock):
    """`waits` are the sleeps asked for, in ms."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, ms: float) -> None:
        self.waits.append(ms)
        await super().sleep(ms)
