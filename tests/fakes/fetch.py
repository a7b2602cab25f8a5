"""A fetch port that serves what a test says: chunks as given, failures where asked, a count of what was left open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from agrun_wasm.contracts.ports import FetchError, FetchRequest


@dataclass
class FakeResponse:
    """`then` is what follows the chunks: the end, a failure, or nothing ever."""

    body: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    then: FetchError | Literal["eof", "hang"] = "eof"
    status_text: str = ""
    url: str = ""

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self.body:
            await asyncio.sleep(0)
            yield chunk
        if isinstance(self.then, FetchError):
            raise self.then
        if self.then == "hang":
            await asyncio.Event().wait()


@dataclass
class FakeFetch:
    """Answers each request with the next response (the last one repeats); a FetchError is raised instead."""

    responses: Sequence[FakeResponse | FetchError]
    platform: Literal["browser", "host"] = "host"
    requests: list[FetchRequest] = field(default_factory=list)
    open_now: int = 0

    @asynccontextmanager
    async def _opened(self, request: FetchRequest) -> AsyncIterator[FakeResponse]:
        self.requests.append(request)
        response = self.responses[min(len(self.requests), len(self.responses)) - 1]
        if isinstance(response, FetchError):
            raise response
        self.open_now += 1
        try:
            yield response
        finally:
            self.open_now -= 1

    def open(self, request: FetchRequest) -> Any:
        return self._opened(request)
