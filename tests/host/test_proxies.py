"""Calls through a proxy that the environment names."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agrun_host.transport import HttpFetch
from tests.host.kit import fetching, get, page, read, refused


class Asked:
    """A proxy's place, and the requests that came: their first lines, and their proxy-authorization."""

    def __init__(self) -> None:
        self.place = ""
        self.lines: list[str] = []
        self.credentials: list[str] = []


@asynccontextmanager
async def proxying(answer: bytes) -> AsyncIterator[Asked]:
    asked = Asked()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                line, *headers = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                asked.lines.append(line)
                asked.credentials += [h.partition(": ")[2] for h in headers if h.lower().startswith("proxy-auth")]
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    asked.place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield asked
    finally:
        server.close()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("scheme", ["http://", ""])
async def test_a_call_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    async with proxying(page(body=b"by proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"{scheme}{proxy.place}")
        async with fetching() as fetch:
            for _ in range(2):
                assert await read(fetch, get("http://pages.invalid/x")) == (200, b"by proxy", "http://pages.invalid/x")
    assert proxy.lines == ["GET http://pages.invalid/x HTTP/1.1"] * 2
    assert proxy.credentials == []


async def test_a_name_and_a_password_are_told_to_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxying(page()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:p%40ss@{proxy.place}")
        async with fetching() as fetch:
            await read(fetch, get("http://pages.invalid/x"))
    assert proxy.credentials == ["Basic " + base64.b64encode(b"me:p@ss").decode()]


@pytest.mark.parametrize(
    ("options", "more", "purpose"),
    [({"trust_env": False}, {}, "search"), ({}, {"NO_PROXY": "pages.invalid"}, "search"), ({}, {}, "read")],
    ids=["not asked to", "excepted", "a proxy resolves names, so that reading cannot be guarded"],
)
async def test_a_call_goes_past_the_proxy(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, bool], more: dict[str, str], purpose: str
) -> None:
    async with proxying(page()) as proxy:
        for name, value in {"HTTP_PROXY": f"http://{proxy.place}", **more}.items():
            monkeypatch.setenv(name, value)
        async with fetching(**options) as fetch:
            fault = await refused(fetch, get("http://pages.invalid/x", purpose))
    assert fault.message == "the name pages.invalid cannot be resolved"
    assert proxy.lines == []


async def test_a_proxy_that_is_not_there_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret@127.0.0.1:9")
    async with fetching() as fetch:
        fault = await refused(fetch, get("http://pages.invalid/x"))
    assert fault.kind == "network_or_cors"
    assert fault.message == "by the proxy 127.0.0.1:9: connection refused"


async def test_a_proxy_that_refuses_a_tunnel_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxying(page("407 Proxy Authentication Required")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.place}")
        async with fetching() as fetch:
            fault = await refused(fetch, get("https://pages.invalid/x"))
        assert proxy.lines == ["CONNECT pages.invalid:443 HTTP/1.1"]
        assert fault.message.endswith("the proxy answered 407 Proxy Authentication Required")


def test_proxies_serve_one_loop_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def once(fetch: HttpFetch) -> None:
        assert (await read(fetch, get("http://pages.invalid/x")))[0] == 200
        await fetch.aclose()

    async def both() -> None:
        async with proxying(page()) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.place}")
            fetch = HttpFetch()
            await once(fetch)
            await asyncio.to_thread(lambda: asyncio.run(once(fetch)))

    asyncio.run(both())
