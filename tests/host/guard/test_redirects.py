"""Redirects of a read: each is a new URL, checked anew, and takes nothing along that is another origin's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from agrun_host.redirects import MAX_REDIRECTS
from tests.host.guard.site import PUBLIC, PUBLIC_V6, Line, answer, reading, running

URL = "http://www.example.org/"
SIGNED = {
    "authorization": "Bearer mine",
    "cookie": "mine=1",
    "proxy_authorization": "mine",
    "x_api_key": "mine",
    "x_goog_api_key": "mine",
    "api_key": "mine",
    "x_whatever": "mine",
    "referer": "http://mine.example/",
}


def leading(*places: str | bytes, status: str = "302 Found") -> Callable[[Line], Awaitable[None]]:
    """Path /0 (or /) leads to the first place, /1 to the second, other paths are pages."""

    async def play(line: Line) -> None:
        at = int(line.path[1:] or 0) if line.path[1:].isdigit() or line.path == "/" else len(places)
        if at >= len(places):
            await line.send(answer(line.path.encode()))
            return
        place = places[at]
        raw = place if isinstance(place, bytes) else place.encode()
        await line.send(answer(b"moved", status).replace(b"\r\n\r\n", b"\r\nlocation: " + raw + b"\r\n\r\n"))

    return play


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("count", [1, MAX_REDIRECTS, MAX_REDIRECTS + 1])
async def test_so_many_are_followed_and_not_one_more(monkeypatch: pytest.MonkeyPatch, status: str, count: int) -> None:
    play = leading(*(f"/{at + 1}" for at in range(count)), status=status)
    async with running(play) as site, reading(monkeypatch, site) as reader:
        if count <= MAX_REDIRECTS:
            assert await reader.read(URL) == (200, f"/{count}".encode(), f"http://www.example.org/{count}")
        else:
            fault = await reader.fault(URL)
            assert (fault.kind, str(MAX_REDIRECTS) in fault.message) == ("too_many_redirects", True)
        assert len(site.lines) == min(count, MAX_REDIRECTS) + 1


@pytest.mark.parametrize("place", ["/", "", URL, "#part", "?", "http://WWW.example.org:80/", "//www.example.org"])
async def test_a_circle_ends(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    async with running(leading(place)) as site, reading(monkeypatch, site) as reader:
        assert (await reader.fault(URL)).kind == "too_many_redirects"
        assert len(site.lines) == MAX_REDIRECTS + 1


#: Location -> where it leads from http://www.example.org/a/b?c, None: nowhere
PLACES: dict[str | bytes, str | None] = {
    "x": "http://www.example.org/a/x",
    "../../../x": "http://www.example.org/x",
    "/x?y=1#z": "http://www.example.org/x?y=1",
    "?y": "http://www.example.org/a/b?y",
    "//other.example.org/x": "http://other.example.org/x",
    "HTTP://OTHER.example.org/x": "http://other.example.org/x",
    "/caf\u00e9": "http://www.example.org/caf%C3%A9",
    "/日本": "http://www.example.org/%E6%97%A5%E6%9C%AC",
    b"/caf\xe9": "http://www.example.org/caf%C3%A9",
    "/a b": "http://www.example.org/a%20b",
    "http://bücher.example/": "http://xn--bcher-kva.example/",
    "http://user@www.example.org/x": None,
    "http://user:pw@www.example.org/x": None,
    "//user:pw@www.example.org/x": None,
    "ftp://www.example.org/x": None,
    "file:///etc/passwd": None,
    "data:text/plain,x": None,
    "javascript:alert(1)": None,
    "gopher://www.example.org/": None,
    "http://": None,
    "http:///x": None,
    "http:x": None,
    "http:/x": None,
    "///x": None,
    "/\\x": None,
    "\\\\x": None,
    "//\\x": None,
    "/\t/x": None,
    "http:\\\\x": None,
    "/x/http://y": "http://www.example.org/x/http://y",
    "x?http:y": "http://www.example.org/a/x?http:y",
    "./x:y": "http://www.example.org/a/x:y",
    "http://[::1": None,
    "http://www.example.org:99999/": None,
    "http://www.exa mple.org/": None,
    "http://www.example.org\\@10.0.0.1/": None,
}


@pytest.mark.parametrize("place", PLACES)
async def test_where_a_redirect_leads(monkeypatch: pytest.MonkeyPatch, place: str | bytes) -> None:
    raw = place if isinstance(place, bytes) else place.encode()

    async def play(line: Line) -> None:
        first = len(site.lines) == 1
        await line.send(
            answer(b"", "302 Found").replace(b"\r\n\r\n", b"\r\nlocation: " + raw + b"\r\n\r\n")
            if first
            else answer(b"there")
        )

    async with running(play) as site, reading(monkeypatch, site) as reader:
        reader.net.names |= {"other.example.org": [PUBLIC], "xn--bcher-kva.example": [PUBLIC]}
        led = PLACES[place]
        if led is None:
            fault = await reader.fault("http://www.example.org/a/b?c")
            assert (fault.kind, "http(s) URL" in fault.message) == ("network_or_cors", True)
            assert len(site.lines) == 1
            return
        assert (await reader.read("http://www.example.org/a/b?c"))[:2] == (200, b"there")
        line = site.lines[1]
        assert f"http://{line.headers['host']}{line.path}" == led


@pytest.mark.parametrize(
    "place",
    ["http://127.0.0.1/", "http://localhost/", "//127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://[::1]/",
     "http://[::ffff:a00:1]/", "http://[64:ff9b:1::a]/", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1:443/",
     "https://192.168.1.1/", "http://１２７.1/", "http://inside.example.org/", "http://half.example.org/", "http://router/",
     "http://www.example.org:8080/", "https://www.example.org:22/", "http://0/"],
)  # fmt: skip
@pytest.mark.parametrize("after", [0, 1, MAX_REDIRECTS - 1])
async def test_a_redirect_inside_is_refused_at_any_hop(monkeypatch: pytest.MonkeyPatch, place: str, after: int) -> None:
    play = leading(*(f"/{at + 1}" for at in range(after)), place)
    async with running(play) as site, reading(monkeypatch, site) as reader:
        reader.net.names |= {"inside.example.org": ["10.1.2.3"], "half.example.org": [PUBLIC, "fd00::1"]}
        fault = await reader.fault(URL)
        assert fault.kind == "redirect_private"
        assert "10.1.2.3" not in fault.message
        assert "fd00" not in fault.message
        assert len(site.lines) == after + 1
        assert {address for address, _ in reader.net.dialled} == {PUBLIC}


@pytest.mark.parametrize(
    "place", ["http://other.example.org/1", "//other.example.org/1", f"http://{PUBLIC}/1", f"http://[{PUBLIC_V6}]/1"]
)
async def test_nothing_that_signs_in_goes_to_another_origin_nor_back(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    play = leading(place, "http://www.example.org/2", "/3")
    async with running(play) as site, reading(monkeypatch, site) as reader:
        reader.net.names["other.example.org"] = [PUBLIC]
        await reader.read(URL, accept="text/html", accept_language="de", **SIGNED)
        first, *others = site.lines
        assert sum("mine" in value for value in first.headers.values()) == len(SIGNED)
        assert len(others) == 3
        for line in others:
            assert "mine" not in str(line.headers)
            assert (line.headers["accept"], line.headers["accept-language"]) == ("text/html", "de")


async def test_a_redirect_within_an_origin_keeps_the_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(leading("/1")) as site, reading(monkeypatch, site) as reader:
        await reader.read(URL, **SIGNED)
        assert site.lines[1].headers["authorization"] == "Bearer mine"


@pytest.mark.parametrize(
    "status", ["300 Choices", "301 Moved", "302 Found", "304 Not Modified", "305 Proxy", "306 X", "307 T", "308 P"]
)
async def test_a_redirect_to_nowhere_is_an_answer(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    async def play(line: Line) -> None:
        await line.send(answer(b"", status))

    async with running(play) as site, reading(monkeypatch, site) as reader:
        assert (await reader.read(URL))[0] == int(status[:3])
        assert len(site.lines) == 1


async def test_a_redirect_to_two_places_is_followed_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(line: Line) -> None:
        await line.send(answer(b"", "302 Found\r\nlocation: /a\r\nlocation: http://10.0.0.1/"))

    async with running(play) as site, reading(monkeypatch, site) as reader:
        fault = await reader.fault(URL)
        assert (fault.kind, "several places" in fault.message) == ("network_or_cors", True)
        assert len(site.lines) == 1
        await site.settled()


async def test_a_place_as_long_as_a_book_is_not_gone_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        running(leading("/" + "ignore-all-that-was-said-" * 1_000)) as site,
        reading(monkeypatch, site) as reader,
    ):
        fault = await reader.fault(URL)
        assert (fault.kind, "characters" in fault.message) == ("network_or_cors", True)
        assert len(site.lines) == 1


async def test_a_head_stays_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(leading("/1")) as site, reading(monkeypatch, site) as reader:
        site.play = leading("/1")
        assert (await reader.read(URL, method="HEAD"))[:1] == (200,)


async def test_a_redirect_with_a_body_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(line: Line) -> None:
        if line.path != "/":
            await line.send(answer(b"there"))
            return
        await line.send(b"HTTP/1.1 302 Found\r\nlocation: /x\r\n\r\n")
        await line.send_for_ever(b"x" * 65_536)

    async with running(play) as site, reading(monkeypatch, site) as reader:
        assert (await reader.read(URL))[1] == b"there"
        assert site.taken == 2, "the first connection is of no more use"
