"""One request through the fetch port within two limits: so many bytes, so much time. Rules: 2.10.

Owned here: the race with the clock, where reading stops, and that the connection is closed whatever happens. Must not
know what the bytes mean or who asked for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agrun_wasm.contracts.ports import Clock, Fetch, FetchError, FetchRequest, FetchResponse
from agrun_wasm.text.shorten import one_line

#: characters of a server's own words in a head: they go to a model, which is no place for 100 KB of a reason phrase
_MOST_WORDS = 200


class Head(NamedTuple):
    """What stands before a body. Header names are lower case; `url` is the final one, "" where the port has none."""

    status: int
    status_text: str
    headers: Mapping[str, str]
    url: str

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").strip()[:_MOST_WORDS]


@dataclass(slots=True)
class Download:
    """What came until the end, a limit or a fault. With a `fault` the body is incomplete and worth nothing.

    A body that is longer than was wanted was not read to its end; the rest of its last chunk is kept, for a cut
    between characters. `screenshot` is `(data URL, MIME type)` where the port offers a picture of the page.
    """

    head: Head | None = None
    body: bytearray = field(default_factory=bytearray)
    screenshot: tuple[str, str | None] | None = None
    fault: FetchError | None = None


async def download(
    fetch: Fetch, clock: Clock, request: FetchRequest, *, timeout_ms: float, take: Callable[[Head], int]
) -> Download:
    """The answer to `request`, never a FetchError raised.

    `take` says how many bytes of the body are wanted once the head is known (0: the body is not read). `timeout_ms`
    bounds everything together.
    """
    result = Download()
    reading = asyncio.ensure_future(_read(fetch, request, take, result))
    timer = asyncio.ensure_future(clock.sleep(timeout_ms))
    try:
        await asyncio.wait({reading, timer}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
        else:
            result.fault = FetchError("timeout", f"no complete answer within {timeout_ms:.0f} ms", url=request.url)
    finally:
        reading.cancel()
        timer.cancel()
        await asyncio.gather(reading, timer, return_exceptions=True)
    return result


async def _read(fetch: Fetch, request: FetchRequest, take: Callable[[Head], int], result: Download) -> None:
    try:
        async with fetch.open(request) as response:
            reason = one_line(response.status_text, _MOST_WORDS)
            result.head = Head(response.status, reason, response.headers, response.url)
            result.screenshot = _screenshot(response)
            wanted = take(result.head)
            if wanted > 0:
                await _fill(result.body, response, wanted)
    except FetchError as fault:
        result.fault = fault


async def _fill(body: bytearray, response: FetchResponse, wanted: int) -> None:
    chunks = response.chunks()
    try:
        async for chunk in chunks:
            body += chunk
            if len(body) > wanted:
                return
    finally:
        close = getattr(chunks, "aclose", None)  # an iterator need not be a generator
        if close is not None:
            await close()


def _screenshot(response: FetchResponse) -> tuple[str, str | None] | None:
    # Optional extras of a port; the protocol does not ask for them.
    data_url = getattr(response, "screenshot_data_url", None)
    mime_type = getattr(response, "screenshot_mime_type", None)
    if not isinstance(data_url, str) or not data_url:
        return None
    return data_url, mime_type if isinstance(mime_type, str) and mime_type else None
