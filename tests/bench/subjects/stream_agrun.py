"""10 000 text deltas from bytes to the border: provider, loop and iterator, each event written as JSON.

Arguments: deltas, events a chunk. The fetch port is in this process, and gives the loop one turn for each chunk as a
socket would. Latency is from handing over a chunk to having the JSON of a delta that was in it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median, quantiles
from typing import Literal

from agrun_wasm import Runtime
from agrun_wasm.contracts.ports import FetchRequest
from tests.bench.fake_openai import text_frames
from tests.bench.subjects.conversation import API_KEY


class CannedResponse:
    """The FetchResponse port over chunks that are there; `sent` are the times at which each was handed over."""

    status = 200
    status_text = "OK"
    headers = {"content-type": "text/event-stream"}

    def __init__(self, url: str, body: Sequence[bytes]) -> None:
        self.url = url
        self.sent: list[float] = []
        self._body = body

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._body:
            await asyncio.sleep(0)
            self.sent.append(time.perf_counter())
            yield chunk


class CannedFetch:
    """The Fetch port that answers every request with the same body."""

    platform: Literal["browser", "host"] = "host"

    def __init__(self, body: Sequence[bytes]) -> None:
        self._body = body
        self.response = CannedResponse("", body)

    @asynccontextmanager
    async def open(self, request: FetchRequest) -> AsyncIterator[CannedResponse]:
        self.response = CannedResponse(request.url, self._body)
        yield self.response


async def _stream(deltas: int, per_chunk: int) -> dict[str, float]:
    """CPU time and latencies in microseconds."""
    frames = list(text_frames(deltas))
    fetch = CannedFetch([b"".join(frames[at : at + per_chunk]) for at in range(0, len(frames), per_chunk)])
    provider = {"name": "openai-compatible", "model": "fake", "baseUrl": "http://127.0.0.1/v1", "apiKey": API_KEY}
    runtime = Runtime(provider=provider, fetch=fetch)
    came: list[float] = []
    cpu = time.process_time()
    async with runtime.stream("Tell me a long story") as run:
        async for event in run:
            event.to_json_text()
            if event.type == "text-delta":
                came.append(time.perf_counter())
        result = await run.result()
    cpu = time.process_time() - cpu
    if result.status != "completed" or len(came) != deltas:
        raise SystemExit(f"the run is {result.status} after {len(came)} of {deltas} deltas")
    waits = [(at - fetch.response.sent[number // per_chunk]) * 1e6 for number, at in enumerate(came)]
    return {
        "cpu_us": cpu / deltas * 1e6,
        "latency_median_us": median(waits),
        "latency_p99_us": quantiles(waits, n=100)[98],
    }


async def _main(deltas: int, per_chunk: int) -> None:
    await _stream(200, per_chunk)
    print(json.dumps(await _stream(deltas, per_chunk)))


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2])))
