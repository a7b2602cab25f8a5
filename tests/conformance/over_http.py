"""Scenarios over HTTP: the face of a Runtime, whose runs are driven by a server and told to a client of its API.

Owns what stands between scenario.py and a real uvicorn on loopback. The server shares the scenario's event loop, so
that virtual time moves when neither side has anything left to do. Two things go past the API, because it has no place
for them: the saved state, which never leaves a server, and the inspections, which are no endpoints.
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import uvicorn

from agrun_host.local_runs import LocalRuns, _Known
from agrun_host.serve.app import create_app
from agrun_host.serve.settings import ServeSettings
from agrun_wasm import AgrunError, Runtime
from agrun_wasm.contracts import errors
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.result import RunResult
from tests.conformance.world import World

_ERRORS = {kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AgrunError)}


def cannot_be_asked(scenario: Mapping[str, Any]) -> str | None:
    """Why a scenario has no meaning over HTTP."""
    stages = [{**stage, **stage.get("resume", {})} for stage in scenario.get("then", []) if isinstance(stage, Mapping)]
    return "a client has no state to tamper with" if any("tamper" in stage for stage in stages) else None


class ServedWorld(World):
    """A world whose runtimes stand behind servers."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        super().__init__(scenario)
        self._servers = AsyncExitStack()

    async def build(self, replaced: Mapping[str, Any] | None = None) -> Any:
        return await self._servers.enter_async_context(_served(await super().build(replaced)))

    async def close(self) -> None:
        await self._servers.aclose()
        await super().close()


@asynccontextmanager
async def _served(runtime: Runtime) -> AsyncIterator[ServedRuntime]:
    runs = _Runs(runtime)
    server = uvicorn.Server(uvicorn.Config(create_app(ServeSettings(), lambda: runs), log_level="critical", ws="none"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        # Its parts and not serve(): that one takes the process's signals, and looks around ten times a second.
        config = server.config
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listening])
        try:
            async with httpx2.AsyncClient(base_url=url, verify=False, trust_env=False, timeout=None) as client:
                yield ServedRuntime(runtime, runs, client)
        finally:
            for each in server.servers:
                each.close()
            await server.lifespan.shutdown()


class _Runs(LocalRuns):
    """Runs whose states can be looked at, and brought along from another server."""

    def saved(self, run_id: str) -> dict[str, Any]:
        result = self._runs[run_id].result
        assert result is not None, "the run goes on after its stream has ended"
        return result.state

    def bring(self, result: RunResult) -> None:
        if result.run_id not in self._runs:
            known = self._runs[result.run_id] = _Known(result.run_id, result.session_id, "")
            known.result = result


class ServedRuntime:
    """A Runtime as scenario.py uses one."""

    def __init__(self, runtime: Runtime, runs: _Runs, client: httpx2.AsyncClient) -> None:
        self._runtime = runtime
        self._runs = runs
        self._client = client
        self._session: str | None = None
        self.inspect_prompt = runtime.inspect_prompt
        self.describe_composition = runtime.describe_composition
        self.load = runtime.load

    def session(self, id: str) -> ServedRuntime:  # noqa: A002
        self._session = id
        return self

    @asynccontextmanager
    async def stream(self, input: Any) -> AsyncIterator[ServedRun]:  # noqa: A002
        body = {"input": input, "session": self._session}
        request = self._client.build_request("POST", "/v1/runs", json=body, headers={"accept": "text/event-stream"})
        async with self._told(request) as run:
            yield run

    @asynccontextmanager
    async def stream_resume(
        self, state: Mapping[str, Any], decisions: Mapping[str, Any], extend: Mapping[str, Any] | None
    ) -> AsyncIterator[ServedRun]:
        run_id = state["runId"]
        before = self.load(state)
        seen = before.steps[-1].seq
        self._runs.bring(before)
        body = {"decisions": dict(decisions), **({"extend": extend} if extend is not None else {})}
        answer = await self._client.post(f"/v1/runs/{run_id}/decisions", json=body)
        if answer.is_error:
            raise _raised(answer.json())
        request = self._client.build_request("GET", f"/v1/runs/{run_id}/events", headers={"last-event-id": str(seen)})
        async with self._told(request) as run:
            yield run

    @asynccontextmanager
    async def _told(self, request: httpx2.Request) -> AsyncIterator[ServedRun]:
        answer = await self._client.send(request, stream=True)
        try:
            if answer.is_error:
                await answer.aread()
                raise _raised(answer.json())
            yield ServedRun(self._client, answer, self._runs)
        finally:
            await answer.aclose()


class ServedRun:
    """A run's events as they come, and its result from the stream's last event."""

    def __init__(self, client: httpx2.AsyncClient, answer: httpx2.Response, runs: _Runs) -> None:
        self._client = client
        self._answer = answer
        self._runs = runs
        self._place = answer.headers["location"]
        self._view: dict[str, Any] | None = None

    async def __aiter__(self) -> AsyncIterator[RunEvent]:
        kind = ""
        async for line in self._answer.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data" and kind in ("step", "delta"):
                yield RunEvent.model_validate(json.loads(value))
            elif name == "data" and kind == "result":
                self._view = json.loads(value)

    async def stop(self, how: str) -> None:
        answer = await self._client.post(f"{self._place}/stop", json={"how": how})
        answer.raise_for_status()

    async def result(self) -> _Told:
        assert self._view is not None, "the stream ended without a result"
        assert "state" not in self._view["result"], "a state has left the server"
        state = self._runs.saved(self._view["runId"])
        return _Told({**self._view["result"], "state": state})


class _Told:
    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def to_json(self) -> dict[str, Any]:
        return self._result


def _raised(body: Mapping[str, Any]) -> AgrunError:
    """What the API said, as what the Python face raises."""
    told = body["error"]
    error = _ERRORS[told["code"]].__new__(_ERRORS[told["code"]])
    AgrunError.__init__(error, told["message"], hint=told["hint"], details=told["details"])
    return error
