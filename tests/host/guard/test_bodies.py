"""Compressed bodies that are meant to fill a reader's memory, hold it, or end in the middle; at every chunk border."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import random
import time
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_host.inflate import InflateError, inflater_of
from agrun_wasm.contracts.config import ReadUrlConfig
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.research.read_page import read_page
from agrun_wasm.runtime.default_ports import SystemClock
from tests.host.guard.site import Line, Reader, answer, reading, running, saying

URL = "http://www.example.org/"


def raw(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def members(data: bytes) -> bytes:
    """Several gzip members, as bgzip and log rotation write them."""
    return b"".join(gzip.compress(data[at : at + 7], mtime=0) for at in range(0, len(data), 7)) or gzip.compress(b"")


#: how a body is packed -> the coding that it is sent under
PACKED = {
    "gzip": (lambda data: gzip.compress(data, mtime=0), "gzip"),
    "x-gzip": (lambda data: gzip.compress(data, mtime=0), "X-GZip"),
    "members": (members, "gzip"),
    "zlib": (zlib.compress, "deflate"),
    "frameless": (raw, "deflate"),
}


def inflated(coding: str, pieces: Iterator[bytes] | list[bytes]) -> bytes:
    inflater = inflater_of(coding)
    assert inflater is not None
    found = b""
    for piece in pieces:
        inflater.feed(piece)
        while out := inflater.piece():
            found += out
    inflater.check_whole()
    return found


@st.composite
def cut(draw: st.DrawFn, packed: bytes) -> list[bytes]:
    places = sorted(draw(st.lists(st.integers(0, len(packed)), max_size=6)))
    return [packed[a:b] for a, b in zip([0, *places], [*places, len(packed)], strict=True) if a < b]


@pytest.mark.parametrize("how", PACKED)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=60), draw=st.data())
def test_what_was_packed_comes_back_at_any_border(how: str, data: bytes, draw: st.DataObject) -> None:
    pack, coding = PACKED[how]
    packed = pack(data)
    assert inflated(coding, draw.draw(cut(packed))) == data
    assert inflated(coding, [bytes([byte]) for byte in packed]) == data


@pytest.mark.parametrize("how", PACKED)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(min_size=1, max_size=60), draw=st.data())
def test_what_ends_in_the_middle_is_an_error_at_any_byte(how: str, data: bytes, draw: st.DataObject) -> None:
    pack, coding = PACKED[how]
    packed = pack(data)
    # A member's end is an end: nothing says how many there are.
    ends = {len(pack(data[:at])) for at in range(7, len(data), 7)} if how == "members" else set()
    cut_at = draw.draw(st.integers(1, len(packed) - 1).filter(lambda at: at not in ends))
    with pytest.raises(InflateError):
        inflated(coding, [packed[:cut_at]])


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["gzip", "deflate"]), st.binary(max_size=200))
def test_noise_is_an_error_or_something_and_always_ends(coding: str, noise: bytes) -> None:
    with contextlib.suppress(InflateError):
        inflated(coding, [noise])


async def read_url(reader: Reader, **args: object) -> dict[str, object]:
    limits = {"timeoutMs": 20_000, "maxBytes": 100_000, **args}
    return await read_page(reader.fetch, ReadUrlConfig(), SystemClock(), RunInput(prompt=""), {"url": URL, **limits})


def bomb(how: str, megabytes: int = 200) -> bytes:
    """So much from a thousandth of it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, {"gzip": 31, "deflate": 15, "frameless": -15}[how])
    piece = bytes(1 << 20)
    return b"".join(packer.compress(piece) for _ in range(megabytes)) + packer.flush()


@pytest.mark.parametrize("how", ["gzip", "deflate", "frameless", "members"])
async def test_a_bomb_costs_no_more_than_was_wanted_of_it(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    packed = gzip.compress(bytes(1 << 20)) * 200 if how == "members" else bomb(how)
    coding = "gzip" if how in ("gzip", "members") else "deflate"
    async with (
        running(saying(answer(packed, content_encoding=coding))) as site,
        reading(monkeypatch, site) as reader,
    ):
        tracemalloc.start()
        began = time.thread_time()
        found = await read_url(reader)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (found["ok"], found["truncated"], found["bytes"]) == (True, True, 100_000)
        assert most < 4_000_000
        assert time.thread_time() - began < 5
        await site.settled()


async def test_a_bomb_in_a_bomb_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(bomb("gzip", 50))
    for coding in ("gzip, gzip", "gzip,gzip", "gzip, identity", "deflate, gzip", "br, gzip"):
        async with (
            running(saying(answer(packed, content_encoding=coding))) as site,
            reading(monkeypatch, site) as reader,
        ):
            fault = await reader.fault(URL)
            assert fault.kind == "decode_error"
            assert coding in fault.message
            await site.settled()


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "dcb", "aes128gcm", "*", "gzip;q=1"])
async def test_a_coding_that_was_not_asked_for_is_named(monkeypatch: pytest.MonkeyPatch, coding: str) -> None:
    async with (
        running(saying(answer(b"\0" * 9, content_encoding=coding))) as site,
        reading(monkeypatch, site) as reader,
    ):
        fault = await reader.fault(URL)
        assert fault.kind == "decode_error"
        assert coding in fault.message
        assert site.lines[0].headers["accept-encoding"] == "gzip, deflate"


EMPTY = gzip.compress(b"", mtime=0)
#: bodies that never give a byte, however much comes: what begins them, and what goes on for ever
NOTHING = {
    "a name in the frame": (EMPTY[:3] + b"\x08" + EMPTY[4:10], b"a" * 8_192),
    "empty blocks": (EMPTY[:10], b"\x00\x00\x00\xff\xff" * 2_000),
}


@pytest.mark.parametrize("pause", [0, 0.02])
@pytest.mark.parametrize("what", NOTHING)
async def test_a_body_that_inflates_to_nothing_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, what: str, pause: float
) -> None:
    first, piece = NOTHING[what]

    async def play(line: Line) -> None:
        await line.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n\r\n" + first)
        await line.send_for_ever(piece, pause)

    async with running(play) as site, reading(monkeypatch, site) as reader:
        began = time.monotonic()
        assert (await reader.fault(URL, ms=400)).kind == "timeout"
        assert time.monotonic() - began < 10
        await site.settled()


async def test_empty_members_without_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(line: Line) -> None:
        await line.send(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n")
        await line.send_for_ever(EMPTY * 200)

    async with running(play) as site, reading(monkeypatch, site) as reader:
        fault = await reader.fault(URL, ms=20_000)
        assert (fault.kind, "empty parts" in fault.message) == ("decode_error", True)
        await site.settled()


async def test_some_empty_members_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = (EMPTY * 3 + gzip.compress(b"a")) * 90
    async with running(saying(answer(packed, content_encoding="gzip"))) as site, reading(monkeypatch, site) as reader:
        assert (await reader.read(URL))[1] == b"a" * 90


async def test_the_loop_goes_on_while_much_is_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inflating is work: others get their turn in between."""
    packed = bomb("gzip", 200)
    longest = 0.0

    async def others() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()  # work of this thread, whatever else the machine does
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    async with running(saying(answer(packed, content_encoding="gzip"))) as site, reading(monkeypatch, site) as reader:
        beside = asyncio.ensure_future(others())
        status, body, _ = await reader.read(URL, ms=20_000)
        beside.cancel()
        assert (status, len(body)) == (200, 200 << 20)
        assert longest < 1


async def test_noise_under_gzip_over_the_wire_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = random.Random(7).randbytes(5_000)
    async with running(saying(answer(noise, content_encoding="gzip"))) as site, reading(monkeypatch, site) as reader:
        fault = await reader.fault(URL)
        assert (fault.kind, "broken" in fault.message) == ("decode_error", True)
        await site.settled()


async def test_a_packed_body_that_the_server_cut_is_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"half of this is missing " * 1_000)
    for kept in (1, 2, 5, 10, len(packed) // 2, len(packed) - 1):
        said = answer(packed[:kept], content_encoding="gzip")
        async with running(saying(said)) as site, reading(monkeypatch, site) as reader:
            fault = await reader.fault(URL)
            assert (fault.kind, "too early" in fault.message) == ("decode_error", True)
