"""The endpoints of runs: start, look, read along, decide, stop.

A client names a run and an approval; the state of a run never leaves the server and never comes from outside.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agrun_host.runs import Runs
from agrun_host.serve.bodies import Decide, StartRun, StopRun, View, read_body
from agrun_host.serve.problems import Refused
from agrun_host.serve.reading import Lagging, at_its_pace
from agrun_host.serve.settings import ServeSettings
from agrun_wasm.contracts.events import DELTA_TYPES

__all__ = ["run_routes"]

_KEY_MOST = 255
#: what a client that lost its stream waits before it comes back
_RETRY_MS = 1_000
#: how long a stream has for its end when the server ends; less than the server's own grace
_GRACE_S = 3.0


def run_routes(settings: ServeSettings) -> list[Route]:
    """Routes under /v1/runs; `request.app.state.runs` is the Runs behind them."""

    async def start(request: Request) -> Response:
        body = await read_body(request, StartRun)
        asked = {"prompt": body.input} if isinstance(body.input, str) else body.input.to_json()
        view = await _runs(request).start(asked, session=body.session, run_id=_run_id(request))
        if _wants_events(request):
            return _stream(request, view.run_id, 0)
        return JSONResponse(View.of(view), 202, {"location": f"/v1/runs/{view.run_id}"})

    async def look(request: Request) -> Response:
        return JSONResponse(View.of(await _runs(request).view(request.path_params["run_id"])))

    async def events(request: Request) -> Response:
        run_id = request.path_params["run_id"]
        await _runs(request).view(run_id)  # before the stream begins, so that there is an answer to give
        return _stream(request, run_id, _last_seen(request))

    async def decide(request: Request) -> Response:
        body = await read_body(request, Decide)
        shown = body.model_dump(by_alias=True, exclude_none=True)
        view = await _runs(request).decide(
            request.path_params["run_id"], shown["decisions"], extend=shown.get("extend")
        )
        return JSONResponse(View.of(view), 202)

    async def stop(request: Request) -> Response:
        body = await read_body(request, StopRun)
        return JSONResponse(View.of(await _runs(request).stop(request.path_params["run_id"], body.how)))

    def _stream(request: Request, run_id: str, after: int) -> Response:
        ending = anyio.Event()
        return EventSourceResponse(
            _told(_runs(request), run_id, after, settings, ending),
            shutdown_event=ending,
            shutdown_grace_period=_GRACE_S,
            ping=settings.ping_seconds,
            send_timeout=settings.send_seconds,
            headers={"cache-control": "no-store", "x-accel-buffering": "no", "location": f"/v1/runs/{run_id}"},
            sep="\n",
        )

    return [
        Route("/v1/runs", start, methods=["POST"]),
        Route("/v1/runs/{run_id}", look, methods=["GET"]),
        Route("/v1/runs/{run_id}/events", events, methods=["GET"]),
        Route("/v1/runs/{run_id}/decisions", decide, methods=["POST"]),
        Route("/v1/runs/{run_id}/stop", stop, methods=["POST"]),
    ]


def _runs(request: Request) -> Runs:
    runs: Runs = request.app.state.runs
    return runs


async def _told(
    runs: Runs, run_id: str, after: int, settings: ServeSettings, ending: anyio.Event
) -> AsyncIterator[ServerSentEvent]:
    """`step` and `delta` events with their numbers, last a `result` with the view, which has none; or `lagging`, for a
    reader that is too slow. Without a result (the server ends, too) a reader comes back with the last number it has."""
    yield ServerSentEvent(event="run", data=json.dumps(View.of(await runs.view(run_id))), retry=_RETRY_MS)
    reading = at_its_pace(runs.events(run_id, after), settings.events_waiting, settings.lag_seconds, ending)
    try:
        async with aclosing(reading) as events:
            async for event in events:
                kind = "delta" if event["type"] in DELTA_TYPES else "step"
                yield ServerSentEvent(event=kind, id=str(event["seq"]), data=json.dumps(event))
    except Lagging:
        yield ServerSentEvent(event="lagging", data=json.dumps({"hint": "Come back with Last-Event-ID."}))
        return
    view = await runs.view(run_id)
    if not ending.is_set() and view.result is not None:
        yield ServerSentEvent(event="result", data=json.dumps(View.of(view)))


def _wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def _run_id(request: Request) -> str | None:
    """A run that is asked for twice under one Idempotency-Key is one run."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= _KEY_MOST:
        raise Refused(400, "IDEMPOTENCY_KEY_INVALID", f"Idempotency-Key must have 1 to {_KEY_MOST} characters")
    return f"run-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _last_seen(request: Request) -> int:
    given: Any = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not (given.isascii() and given.isdigit() and len(given) <= 15):
        raise Refused(400, "LAST_EVENT_ID_INVALID", "Last-Event-ID (or ?after=) must be the number of an event")
    return int(given)
