"""The fetch port on CPython against loopback servers: streams, limits, redirects, the guard of `read`, connections."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from typing import Any

import pytest

from agrun_host.transport import MAX_REDIRECTS, HttpFetch
from agrun_wasm.contracts.ports import FetchError, FetchRequest
from tests.fakes.providers import FakeProviders
from tests.host.kit import fetching, get, page, read, serving


def ask(server: FakeProviders, **more: Any) -> FetchRequest:
    return FetchRequest("POST", f"{server.url}/v1/chat/completions", body=b'{"stream":true}', **more)


async def test_a_stream_arrives_and_its_connection_is_used_again() -> None:
    async with FakeProviders() as server, fetching() as fetch:
        for _ in range(3):
            status, body, _ = await read(fetch, ask(server))
            assert status == 200
            assert body.endswith(b"data: [DONE]\n\n")
        assert server.stats.connections == 1
        assert server.seen[0].headers["content-length"] == "15"
        assert server.seen[0].headers["accept-encoding"] == "identity"


async def test_a_connection_survives_when_only_the_end_mark_was_not_read() -> None:
    async with FakeProviders() as server, fetching() as fetch:
        for _ in range(3):
            async with fetch.open(ask(server)) as response:
                async for chunk in response.chunks():
                    if b"[DONE]" in chunk:
                        break
        assert (server.stats.connections, server.stats.closed) == (1, 0)


@pytest.mark.parametrize("how", ["leave", "raise", "cancel"])
async def test_leaving_closes_the_connection_at_once(how: str) -> None:
    async with FakeProviders([{"text": "Hello there.", "stallAfter": 2}]) as server, fetching() as fetch:
        first = asyncio.Event()

        async def call() -> None:
            async with fetch.open(ask(server)) as response:
                async for _ in response.chunks():
                    first.set()
                    if how == "leave":
                        break
                    if how == "raise":
                        raise RuntimeError

        task = asyncio.ensure_future(call())
        await asyncio.wait_for(first.wait(), 2)
        if how == "cancel":
            task.cancel()
        await asyncio.wait([task])
        for _ in range(100):
            if server.stats.closed:
                break
            await asyncio.sleep(0.01)
        assert server.stats.closed == 1
        assert (task.cancelled(), task.done()) == (how == "cancel", True)
        if how == "raise":
            assert isinstance(task.exception(), RuntimeError)


@pytest.mark.parametrize("stall", [0, 2])
async def test_the_time_limit_bounds_head_and_chunks(stall: int) -> None:
    async with FakeProviders([{"text": "Hello there.", "stallAfter": stall}]) as server, fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, ask(server, timeout_ms=150))
        assert caught.value.kind == "timeout"
        await asyncio.sleep(0.1)
        assert server.stats.closed == 1


async def test_the_head_is_waited_for_no_longer_than_the_limit() -> None:
    async with serving(lambda path, headers: b"HTTP/1.1 200 OK\r\n") as url, fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, FetchRequest("GET", url, timeout_ms=100))
        assert caught.value.kind == "timeout"


async def test_no_server_is_no_response() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with fetching() as fetch:
        for url in (f"http://127.0.0.1:{port}/", "http://no-such-host.invalid/"):
            with pytest.raises(FetchError) as caught:
                await read(fetch, get(url))
            assert caught.value.kind == "network_or_cors"


async def test_a_reply_that_breaks_off_is_no_reply() -> None:
    async with FakeProviders([{"text": "Hello there.", "cutAfter": 30}]) as server, fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, ask(server))
        assert caught.value.kind == "network_or_cors"


async def test_a_kept_connection_that_the_server_closed_is_replaced() -> None:
    calls: list[str] = []

    def respond(path: str, headers: dict[str, str]) -> bytes | None:
        calls.append(path)
        # Closes the kept connection upon the second request, as if its time had just run out.
        return None if len(calls) == 2 else page(body=b"ok")

    async with serving(respond) as url, fetching() as fetch:
        assert (await read(fetch, get(url)))[1] == b"ok"
        assert (await read(fetch, get(url)))[1] == b"ok"
        assert len(calls) == 3


async def test_a_fresh_connection_that_is_closed_is_an_error() -> None:
    async with serving(lambda path, headers: None) as url, fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, get(url))
        assert caught.value.kind == "network_or_cors"


def test_one_port_serves_one_loop_after_another() -> None:
    fetch = HttpFetch()

    async def once() -> None:
        async with FakeProviders() as server:
            assert (await read(fetch, ask(server)))[0] == 200
            await fetch.aclose()

    for _ in range(2):
        asyncio.run(once())


async def test_headers_and_unicode_go_out_and_come_back() -> None:
    seen: list[tuple[str, dict[str, str]]] = []

    def respond(path: str, headers: dict[str, str]) -> bytes:
        seen.append((path, headers))
        return page("418 I'm a teapot", b"x", X_One="1", x_one="2")

    async with serving(respond) as url, fetching() as fetch:
        async with fetch.open(get(f"{url}/grün/ä?q=ö b#part", headers={"X-Key": "abc"})) as response:
            assert (response.status, response.status_text) == (418, "I'm a teapot")
            assert response.headers["x-one"] == "1, 2"
        path, headers = seen[0]
        assert path == "/gr%C3%BCn/%C3%A4?q=%C3%B6%20b"
        assert headers["x-key"] == "abc"
        assert headers["host"] == url.removeprefix("http://")


async def test_a_header_value_that_is_none_is_not_echoed() -> None:
    async with serving(lambda path, headers: page()) as url, fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, get(url, headers={"authorization": "sk-secret\r\nx: y"}))
        assert "secret" not in caught.value.message


BIG = b"grass " * 100_000


@pytest.mark.parametrize(
    ("coding", "body", "read_as"),
    [
        ("gzip", gzip.compress(BIG), BIG),
        ("gzip", gzip.compress(b"one") + gzip.compress(b"two"), b"onetwo"),
        ("deflate", zlib.compress(BIG), BIG),
        ("deflate", zlib.compress(BIG)[2:-4], BIG),
        ("identity", b"plain", b"plain"),
        ("gzip", b"", b""),
        ("gzip", b"no gzip at all", None),
        ("gzip", gzip.compress(BIG)[:-20], None),
        ("br", b"\x00", None),
    ],
)
async def test_content_decoding(coding: str, body: bytes, read_as: bytes | None) -> None:
    async with serving(lambda path, headers: page(body=body, content_encoding=coding)) as url, fetching() as fetch:
        if read_as is not None:
            assert (await read(fetch, get(url)))[1] == read_as
            return
        with pytest.raises(FetchError) as caught:
            await read(fetch, get(url))
        assert caught.value.kind == "decode_error"


async def test_much_from_little_comes_in_parts() -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    answer = page(body=bomb, content_encoding="gzip")
    async with serving(lambda path, headers: answer) as url, fetching() as fetch, fetch.open(get(url)) as response:
        assert len(await anext(response.chunks())) < 1_000_000


def redirecting(path: str, headers: dict[str, str]) -> bytes:
    if path.startswith("/to/"):
        return page("302 Found", location=path.removeprefix("/to/"))
    if path.startswith("/times/"):
        left = int(path.rpartition("/")[2])
        return page("301 Moved", b"moved", location=f"/times/{left - 1}") if left else page(body=b"there")
    return page(body=headers.get("x-key", "none").encode())


async def test_redirects_are_followed_up_to_a_limit() -> None:
    async with serving(redirecting) as url, fetching(allow_private=True) as fetch:
        status, body, final = await read(fetch, get(f"{url}/times/{MAX_REDIRECTS}", "read"))
        assert (status, body, final) == (200, b"there", f"{url}/times/0")
        with pytest.raises(FetchError) as caught:
            await read(fetch, get(f"{url}/times/{MAX_REDIRECTS + 1}", "read"))
        assert caught.value.kind == "too_many_redirects"


async def test_a_call_of_a_model_is_not_redirected() -> None:
    async with serving(redirecting) as url, fetching() as fetch:
        status, _, _ = await read(fetch, FetchRequest("POST", f"{url}/times/1", body=b""))
        assert status == 301


async def test_headers_do_not_follow_to_another_origin() -> None:
    async with serving(redirecting) as url, serving(redirecting) as other, fetching() as fetch:
        same = await read(fetch, get(f"{url}/to/{url}/x", headers={"X-Key": "secret"}))
        there = await read(fetch, get(f"{url}/to/{other}/x", headers={"X-Key": "secret"}))
        assert (same[1], there[1]) == (b"secret", b"none")


@pytest.mark.parametrize("target", ["ftp://h/", "file:///etc/passwd", "http://user:pw@h/", "javascript:alert(1)"])
async def test_redirects_lead_to_http_only(target: str) -> None:
    async with serving(redirecting) as url, fetching(allow_private=True) as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, get(f"{url}/to/{target}", "read"))
        assert caught.value.kind == "network_or_cors"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "10.0.0.1",
     "169.254.169.254", "0.0.0.0", "[fe80::1]", "[2002:7f00:1::]"],
)  # fmt: skip
async def test_reading_refuses_private_addresses(host: str) -> None:
    async with fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, get(f"http://{host}:1/", "read"))
        assert caught.value.kind == "private_address"


class Resolver:
    """Names of a test, resolved as it says; `asked` in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]) -> None:
        self.names = names
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", self.resolve)

    async def resolve(self, host: Any, port: Any, **more: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in self.names.get(name, [name])]


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "10.0.0.7"], ["192.168.1.1"], ["100.64.0.1"]])
async def test_reading_refuses_names_with_any_private_address(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    Resolver(monkeypatch, {"pages.example": addresses})
    async with fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, get("http://pages.example/", "read"))
        assert caught.value.kind == "private_address"


async def test_reading_connects_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(redirecting) as url, fetching(allow_ports=[int(url.rpartition(":")[2])]) as fetch:
        port = url.rpartition(":")[2]
        Resolver(monkeypatch, {"pages.example": ["93.184.216.34"]})
        connect = asyncio.open_connection
        reached: list[str] = []

        async def rerouted(host: str, port: int, **more: Any) -> Any:
            reached.append(host)
            return await connect("127.0.0.1", port)

        monkeypatch.setattr(asyncio, "open_connection", rerouted)
        status, body, _ = await read(fetch, get(f"http://pages.example:{port}/x", "read"))
        assert (status, body, reached) == (200, b"none", ["93.184.216.34"])
        for place in (f"http://127.0.0.1:{port}/x", f"http://inside.example:{port}/"):
            Resolver(monkeypatch, {"pages.example": ["93.184.216.34"], "inside.example": ["10.1.2.3"]})
            with pytest.raises(FetchError) as caught:
                await read(fetch, get(f"http://pages.example:{port}/to/{place}", "read"))
            assert caught.value.kind == "redirect_private"


@pytest.mark.parametrize("port", [22, 25, 8080, 6379])
async def test_reading_keeps_to_the_ports_of_the_web(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    Resolver(monkeypatch, {"pages.example": ["93.184.216.34"]})
    async with fetching() as fetch:
        with pytest.raises(FetchError) as caught:
            await read(fetch, get(f"http://pages.example:{port}/x", "read"))
        assert caught.value.kind == "private_address"
        assert str(port) in caught.value.message


async def test_other_calls_may_go_anywhere() -> None:
    async with serving(redirecting) as url, fetching() as fetch:
        assert (await read(fetch, get(url)))[0] == 200
