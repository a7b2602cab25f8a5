"""A server of the tests: the app in uvicorn on loopback, in a thread of its own, and ways to speak to it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.routing import BaseRoute

from agrun_host.local_runs import LocalRuns
from agrun_host.serve.app import create_app
from agrun_host.serve.settings import ServeSettings
from agrun_wasm import Runtime


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of the error that it is."""
        return str(self.json["error"]["code"])


@dataclass
class Server:
    port: int
    runtime: Runtime

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        raw: bytes | None = None,
    ) -> Answer:
        sent = {"content-type": "application/json", **(headers or {})}
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, content, sent)
            with connection.getresponse() as answer:
                return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def say(self, text: bytes, seconds: float = 10) -> bytes:
        """What comes back for these very bytes, until the other side has nothing more to say."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as line:
            line.sendall(text)
            found = b""
            while piece := line.recv(65_536):
                found += piece
            return found

    @contextmanager
    def events(self, path: str, headers: Mapping[str, str] | None = None) -> Iterator[Iterator[dict[str, Any]]]:
        """The events of a stream, as `{event, id, data}`; leaving the block closes the connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers=dict(headers or {}))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            yield _events(answer)
        finally:
            connection.close()

    def whole(self, run_id: str, after: int = 0) -> list[dict[str, Any]]:
        with self.events(f"/v1/runs/{run_id}/events", {"last-event-id": str(after)}) as events:
            return list(events)


def _events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    for line in answer:
        name, _, value = line.decode().rstrip("\r\n").partition(": ")
        if name in ("event", "id"):
            found[name] = value
        elif name == "data":
            found["data"] = json.loads(value)
        elif not name and found:
            yield found
            found = {}


@contextmanager
def serving(
    runtime: Runtime,
    routes: Sequence[BaseRoute] = (),
    at_end: Callable[[], Awaitable[None]] | None = None,
    **settings: Any,
) -> Iterator[Server]:
    """A running server with runs in memory."""
    app = create_app(ServeSettings(port=0, **settings), lambda: LocalRuns(runtime), routes, at_end=at_end)
    AppStatus.should_exit = False  # sse-starlette knows one server for a whole process
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=2))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Server(port, runtime)
        finally:
            server.should_exit = True
            thread.join(20)
