"""Names: looked up once for each connection, every answer checked, and one of the checked addresses is dialled."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from agrun_host import network
from tests.host.guard.site import PUBLIC, PUBLIC_V6, Line, answer, reading, running, saying

NAME = "turns.example.org"
URL = f"http://{NAME}/"
INSIDE = ["127.0.0.1", "::1", "10.0.0.7", "169.254.169.254", "fd00::7", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
          "100.64.0.1", "0.0.0.0", "fe80::1%eth0", "224.0.0.1", "2002:7f00:1::1"]  # fmt: skip


@pytest.mark.parametrize("inside", INSIDE)
async def test_one_private_answer_among_public_ones_is_one_too_many(
    monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    async with running(saying(answer(b"x"))) as site, reading(monkeypatch, site) as reader:
        for answers in itertools.permutations([PUBLIC, PUBLIC_V6, inside]):
            reader.net.names[NAME] = list(answers)
            for url in (URL, f"https://{NAME}/"):
                fault = await reader.fault(url)
                assert fault.kind == "private_address"
                assert NAME in fault.message
                assert inside not in fault.message, "nobody is told of addresses in here"
        assert (reader.net.dialled, site.taken) == ([], 0)


@pytest.mark.parametrize("inside", INSIDE)
async def test_an_answer_that_changes_after_the_check_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """DNS rebinding within a request: the second lookup would lead inside, and there is none."""
    async with running(saying(answer(b"outside"))) as site, reading(monkeypatch, site) as reader:
        reader.net.names[NAME] = [[PUBLIC], [inside]]
        assert (await reader.read(URL))[1] == b"outside"
        assert reader.net.asked == [NAME]
        assert reader.net.dialled == [(PUBLIC, 80)]


async def test_an_answer_that_changes_between_requests_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_KEEP_S", 0.05)
    async with running(saying(answer(b"outside"))) as site, reading(monkeypatch, site) as reader:
        reader.net.names[NAME] = [[PUBLIC], ["10.0.0.7"]]
        assert (await reader.read(URL))[1] == b"outside"
        assert (await reader.read(URL))[1] == b"outside", "on the connection that was kept, to the checked address"
        assert reader.net.asked == [NAME]
        await asyncio.sleep(0.1)
        assert (await reader.fault(URL)).kind == "private_address"
        assert reader.net.dialled == [(PUBLIC, 80)]


async def test_an_answer_that_changes_between_hops_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(line: Line) -> None:
        await line.send(answer(b"", "302 Found", location="/next", connection="close"))
        line.writer.close()

    async with running(play) as site, reading(monkeypatch, site) as reader:
        reader.net.names[NAME] = [[PUBLIC], ["127.0.0.1"]]
        assert (await reader.fault(URL)).kind == "redirect_private"
        assert (reader.net.asked, site.taken) == ([NAME, NAME], 1)


async def test_a_kept_connection_that_broke_is_not_replaced_by_one_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server hangs up on the second request; the try on a new connection is a new lookup, checked."""

    async def play(line: Line) -> None:
        if line.path == "/":
            await line.send(answer(b"x"))
        else:
            line.writer.transport.abort()

    async with running(play) as site, reading(monkeypatch, site) as reader:
        reader.net.names[NAME] = [[PUBLIC], ["127.0.0.1"]]
        await reader.read(URL)
        assert (await reader.fault(f"{URL}again")).kind == "private_address"
        assert reader.net.dialled == [(PUBLIC, 80)]


async def test_every_address_that_is_dialled_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(saying(answer(b"x"))) as site, reading(monkeypatch, site) as reader:
        gone = "93.184.216.99"  # public, and nobody is there
        reader.net.names[NAME] = [[gone, PUBLIC_V6, PUBLIC], ["127.0.0.1"]]
        assert (await reader.read(URL))[0] == 200
        assert reader.net.asked == [NAME]
        assert {address for address, _ in reader.net.dialled} <= {gone, PUBLIC, PUBLIC_V6}


async def test_connections_of_calls_that_may_go_anywhere_are_not_for_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's own call opened one to an inner server; a read of that name must not find it."""
    from agrun_wasm.contracts.ports import FetchRequest

    async with running(saying(answer(b"x"))) as site, reading(monkeypatch, site) as reader:
        reader.net.names[NAME] = [[PUBLIC], ["10.0.0.7"]]
        async with reader.fetch.open(FetchRequest("GET", URL, purpose="search", timeout_ms=5_000)) as response:
            assert [chunk async for chunk in response.chunks()] == [b"x"]
        assert (await reader.fault(URL)).kind == "private_address"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (URL, NAME),
        (f"http://{NAME}:80/", NAME),
        (f"http://{NAME}:443/", f"{NAME}:443"),
        (f"http://{NAME.upper()}./", NAME),
        ("http://ｔurns。example.org/", NAME),
        (f"http://{PUBLIC}/", PUBLIC),
        (f"http://[{PUBLIC_V6}]/", f"[{PUBLIC_V6}]"),
    ],
)
async def test_the_host_stays_the_name_that_was_asked_for(monkeypatch: pytest.MonkeyPatch, url: str, host: str) -> None:
    async with running(saying(answer(b"x"))) as site, reading(monkeypatch, site) as reader:
        reader.net.names[NAME] = [PUBLIC]
        await reader.read(url)
        assert site.lines[0].headers["host"] == host


async def test_tls_greets_the_name_and_goes_to_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    hello = bytearray()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.extend(await reader.read(4_096))
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with running(saying(b"")) as site, reading(monkeypatch, site) as reader:
        site.port = server.sockets[0].getsockname()[1]
        reader.net.names[NAME] = [PUBLIC]
        assert (await reader.fault(f"https://{NAME}/")).kind == "network_or_cors"
        assert reader.net.dialled == [(PUBLIC, 443)]
    server.close()
    name = NAME.encode()
    # RFC 6066: the extension's list, then type 0, the length and the name.
    assert b"\0" + len(name).to_bytes(2, "big") + name in hello


async def test_a_name_without_an_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with reading(monkeypatch) as reader:
        fault = await reader.fault("http://nowhere.example.org/")
        assert (fault.kind, "nowhere.example.org" in fault.message) == ("network_or_cors", True)
        assert reader.net.dialled == []


async def test_a_lookup_that_hangs_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with reading(monkeypatch) as reader:

        async def hang(*_: object, **__: object) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", hang)
        assert (await reader.fault(URL, ms=200)).kind == "timeout"
        assert reader.net.dialled == []


async def test_the_environments_proxy_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would resolve names itself, and could be led anywhere."""
    from agrun_host.transport import HttpFetch

    async with running(saying(answer(b"x"))) as site, reading(monkeypatch, site) as reader:
        monkeypatch.setenv("HTTP_PROXY", "http://10.0.0.9:3128")
        monkeypatch.setenv("ALL_PROXY", "http://10.0.0.9:3128")
        reader.fetch = HttpFetch()
        reader.net.names[NAME] = [PUBLIC]
        assert (await reader.read(URL))[0] == 200
        assert reader.net.dialled == [(PUBLIC, 80)]
        await reader.fetch.aclose()


@pytest.mark.parametrize("label", ["a" * 64, "a" * 250, "-", "_", "xn--", "xn--a"])
async def test_odd_names_end_in_words(monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    async with reading(monkeypatch) as reader:
        fault = await reader.fault(f"http://{label}.example.org/")
        assert fault.kind == "network_or_cors"
        assert fault.message
        assert reader.net.dialled == []
