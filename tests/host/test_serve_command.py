"""`agrun serve`: which keys and addresses its relays and its own runs have, and what is closed at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import keyring
import pytest
from starlette.applications import Starlette
from typer.testing import CliRunner

from agrun_host.cli import app
from agrun_host.keys import KEY_VARIABLES
from agrun_host.transport import HttpFetch
from tests.fakes.providers import FakeProviders
from tests.host.kit import providers_at_work
from tests.host.test_keyring import InMemory

KEY = "sk-marker-0123456789"


@pytest.fixture
def kept() -> Iterator[InMemory]:
    before, mine = keyring.get_keyring(), InMemory()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


class Served:
    """The app that the command made, and asked instead of served: lifespan, then requests, then its end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.app: Starlette | None = None
        monkeypatch.setattr("agrun_host.serve.server.serve", self._serve)

    def _serve(self, app: Starlette, *_: Any) -> None:
        self.app = app

    def command(self, *arguments: str, **environment: str) -> Any:
        none: Mapping[str, str | None] = {name: None for names in KEY_VARIABLES.values() for name in names}
        return CliRunner().invoke(app, ["serve", "--database", "none", *arguments], env={**none, **environment})

    async def ask(self, *paths: str) -> list[int]:
        """The statuses of POSTs to these paths."""
        assert self.app is not None
        async with self.app.router.lifespan_context(self.app):
            return [await self.post(path) for path in paths]

    async def post(self, path: str, body: bytes = b'{"model": "m"}') -> int:
        assert self.app is not None
        found: list[int] = []
        asked = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return asked.pop(0) if asked else await asyncio.Event().wait()  # type: ignore[return-value]

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                found.append(message["status"])

        scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path,
            "raw_path": path.encode(), "query_string": b"", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
            "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")], "root_path": "",
            "app": self.app,
        }  # fmt: skip
        async with asyncio.timeout(20):
            await self.app(scope, receive, send)
        return found[0]


def seen_keys(fake: FakeProviders) -> list[str | None]:
    return [request.headers.get("authorization") or request.headers.get("x-api-key") for request in fake.seen]


@pytest.mark.parametrize(
    ("provider", "path", "kept_as"),
    [
        ("openai:m", "openai/chat/completions", "openai"),
        ("openai-responses:m", "openai-responses/responses", "openai-responses"),
        ("openai-responses:m", "openai/responses", "openai"),
        ("openai:m", "openai/chat/completions", "openai-responses"),
        ("anthropic:m", "anthropic/messages", "anthropic"),
        ("openai-compatible:m", "openai-compatible/chat/completions", "openai-compatible"),
    ],
)
def test_relays_go_where_the_runs_go_with_the_key_of_the_keyring(
    monkeypatch: pytest.MonkeyPatch, kept: InMemory, provider: str, path: str, kept_as: str
) -> None:
    kept.set_password("agrun", kept_as, KEY)
    served = Served(monkeypatch)
    with providers_at_work() as fake:
        done = served.command("-p", provider, "--base-url", fake.url)
        assert done.exit_code == 0, done.output
        assert asyncio.run(served.ask(f"/v1/providers/{path}")) == [200]
        assert [str(key).removeprefix("Bearer ") for key in seen_keys(fake)] == [KEY]
        assert KEY not in done.output


def test_a_run_of_the_server_signs_in_with_the_key_of_the_keyring(
    monkeypatch: pytest.MonkeyPatch, kept: InMemory
) -> None:
    kept.set_password("agrun", "openai", KEY)
    served = Served(monkeypatch)
    with providers_at_work() as fake:
        assert served.command("-p", "openai:m", "--base-url", fake.url).exit_code == 0

        async def run() -> None:
            assert served.app is not None
            async with served.app.router.lifespan_context(served.app):
                assert await served.post("/v1/runs", b'{"input": "hi"}') in (200, 201, 202)
                for _ in range(200):
                    if fake.seen:
                        return
                    await asyncio.sleep(0.02)

        asyncio.run(run())
        assert seen_keys(fake) == [f"Bearer {KEY}"]


def test_a_key_of_the_keyring_is_key_enough_to_start(monkeypatch: pytest.MonkeyPatch, kept: InMemory) -> None:
    served = Served(monkeypatch)
    missing = served.command("-p", "anthropic:m")
    assert (missing.exit_code, served.app) == (2, None)
    assert "agrun keys set anthropic" in missing.output
    kept.set_password("agrun", "anthropic", KEY)
    assert served.command("-p", "anthropic:m").exit_code == 0
    assert served.app is not None


def test_a_gateway_without_a_key_is_relayed_to_as_well(monkeypatch: pytest.MonkeyPatch, kept: InMemory) -> None:
    served = Served(monkeypatch)
    with providers_at_work() as fake:
        assert served.command("-p", "openai:m", "--base-url", fake.url).exit_code == 0
        paths = ("/v1/providers/openai/chat/completions", "/v1/providers/anthropic/messages")
        assert asyncio.run(served.ask(*paths)) == [200, 404]
        assert seen_keys(fake) == [None]


def test_the_environment_comes_before_the_keyring(monkeypatch: pytest.MonkeyPatch, kept: InMemory) -> None:
    kept.set_password("agrun", "openai", "sk-the-other-one")
    served = Served(monkeypatch)
    with providers_at_work() as fake:
        assert served.command("-p", "openai:m", "--base-url", fake.url, OPENAI_API_KEY=KEY).exit_code == 0
        assert asyncio.run(served.ask("/v1/providers/openai/chat/completions")) == [200]
        assert seen_keys(fake) == [f"Bearer {KEY}"]


@pytest.mark.parametrize("database", ["none", "file"])
def test_every_connection_is_closed_with_the_server(
    monkeypatch: pytest.MonkeyPatch, kept: InMemory, tmp_path: Any, database: str
) -> None:
    made: list[HttpFetch] = []
    begin = HttpFetch.__init__

    def init(self: HttpFetch, **options: Any) -> None:
        begin(self, **options)
        made.append(self)

    monkeypatch.setattr(HttpFetch, "__init__", init)
    served = Served(monkeypatch)
    place = [] if database == "none" else ["--database", f"sqlite:///{tmp_path / 'runs.db'}"]
    with providers_at_work() as fake:
        assert served.command("-p", "openai:m", "--base-url", fake.url, *place).exit_code == 0

        async def live() -> None:
            assert served.app is not None
            async with served.app.router.lifespan_context(served.app):
                assert await served.post("/v1/providers/openai/chat/completions") == 200
                assert await served.post("/v1/runs", b'{"input": "hi"}') in (200, 201, 202)
                for _ in range(200):
                    if sum(_held(fetch) for fetch in made) == 2:
                        break
                    await asyncio.sleep(0.02)
                assert sum(_held(fetch) for fetch in made) == 2, "the relay's, and the runtime's"
            assert sum(_held(fetch) for fetch in made) == 0

        asyncio.run(live())


def _held(fetch: HttpFetch) -> int:
    connections = fetch._connections
    return len(connections._active) + sum(map(len, connections._idle.values()))
