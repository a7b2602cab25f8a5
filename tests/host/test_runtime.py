"""agrun_host.Runtime: the core's face, and who closes which transport."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from agrun_host import Runtime
from agrun_host import runtime as module
from agrun_host.transport import HttpFetch
from agrun_wasm import AgrunError
from agrun_wasm import Runtime as CoreRuntime
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.ports import FetchRequest
from tests.fakes.providers import FakeProviders
from tests.kit import adder


def compatible(server: FakeProviders) -> dict[str, Any]:
    return {"name": "openai-compatible", "model": "m", "baseUrl": server.url}


class Watched(HttpFetch):
    closed = 0

    async def aclose(self) -> None:
        type(self).closed += 1
        await super().aclose()


def test_it_takes_what_the_core_takes() -> None:
    assert inspect.signature(Runtime.__init__) == inspect.signature(CoreRuntime.__init__)


async def test_a_run_over_its_own_transport_which_it_closes() -> None:
    async with FakeProviders([{"toolCalls": [{"name": "add", "args": {"a": 2, "b": 3}}]}, {"text": "5."}]) as server:
        async with Runtime(provider=compatible(server), actions=[adder()]) as runtime:
            assert (await runtime.run("2 + 3?")).text == "5."
            assert server.stats.connections == 1
            connections = runtime._own_transport._connections  # type: ignore[union-attr]
            assert connections._idle
        assert not connections._idle


async def test_a_transport_that_was_given_stays_open() -> None:
    async with FakeProviders() as server:
        fetch = Watched()
        first = Runtime(provider=compatible(server), fetch=fetch)
        second = Runtime(provider=compatible(server), fetch=fetch)
        for runtime in (first, second):
            assert (await runtime.run("hi")).text == "Hello."
            await runtime.aclose()
            assert Watched.closed == 0
        assert server.stats.connections == 1, "the second runtime uses the first one's connection"
        await fetch.aclose()


def test_none_is_made_where_one_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = HttpFetch()

    def never() -> HttpFetch:
        raise AssertionError("a transport was made")

    monkeypatch.setattr(module, "HttpFetch", never)
    Runtime(provider="offline", fetch=fetch)


async def test_its_transport_is_closed_though_stopping_a_run_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HttpFetch", Watched)
    monkeypatch.setattr(Watched, "closed", 0)
    runtime = Runtime(provider="offline")

    async def broken(self: CoreRuntime) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(CoreRuntime, "aclose", broken)
    with pytest.raises(RuntimeError):
        await runtime.aclose()
    assert Watched.closed == 1


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        ((), {}),
        ((), {"provider": 7}),
        (({"provider": "offline"},), {"provider": "offline"}),
        (("offline",), {}),
        ((), {"provider": "offline", "fech": HttpFetch()}),
        ((), {"provider": "offline", "fetch": object()}),
    ],
)
def test_what_is_wrong_is_said_as_the_core_says_it(arguments: tuple[Any, ...], keys: dict[str, Any]) -> None:
    said: list[AgrunError] = []
    for kind in (CoreRuntime, Runtime):
        with pytest.raises(ConfigInvalid) as caught:
            kind(*arguments, **keys)
        said.append(caught.value)
    assert said[0].message == said[1].message


async def test_the_key_of_the_environment_reaches_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marker")
    async with FakeProviders([{"text": "You said sk-marker."}]) as server:
        provider = {"name": "openai", "model": "m", "baseUrl": server.url}
        async with Runtime({"provider": provider}) as runtime:
            result = await runtime.run("hi")
        assert server.seen[0].headers["authorization"] == "Bearer sk-marker"
    assert "sk-marker" not in str(result.to_json())


async def test_the_port_itself_can_be_used_after_a_runtime_is_closed() -> None:
    async with FakeProviders() as server:
        fetch = HttpFetch()
        async with Runtime(provider=compatible(server), fetch=fetch) as runtime:
            await runtime.run("hi")
        async with fetch.open(FetchRequest("POST", f"{server.url}/v1/chat/completions", body=b"{}")) as response:
            assert response.status == 200
        await fetch.aclose()
