# ruff: noqa: E501 (tables of cases)
"""What both relays share: an answer comes through as it is made, and a call ends with its client."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import IncompleteRead
from typing import Any

import pytest

from agrun_host.serve import fetch_relay, provider_relay
from tests.host.relay.upstream import Line, Upstream, answer
from tests.host.serve.server import Server

CHAT = "/v1/providers/openai/chat/completions"
RELAYS = ["provider", "fetch"]
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def request(relay: str, site: Upstream) -> tuple[str, str, Any]:
    return ("POST", CHAT, {"model": "m"}) if relay == "provider" else ("GET", site.fetch_path(), None)


@contextmanager
def asking(server: Server, site: Upstream, relay: str) -> Iterator[socket.socket]:
    """A client that has sent its request, and reads or leaves when it likes."""
    method, path, body = request(relay, site)
    content = b"{}" if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
        line.sendall(head.encode() + content)
        yield line


def received(line: socket.socket, until_bytes: bytes) -> bytes:
    found = b""
    while until_bytes not in found:
        piece = line.recv(65_536)
        assert piece, f"the answer ended with {found[-100:]!r}"
        found += piece
    return found


@pytest.mark.parametrize("relay", RELAYS)
def test_each_event_comes_when_it_is_made(server: Server, site: Upstream, relay: str) -> None:
    may = threading.Semaphore(0)

    def play(line: Line) -> None:
        line.send(STREAM)
        for number in range(3):  # the next one only when the one before has come through
            line.send(f'data: {{"n": {number}, "skip": "s"}}\n\n'.encode())
            assert may.acquire(timeout=10)

    site.play = play
    with asking(server, site, relay) as line:
        for number in range(3):
            received(line, f'data: {{"n": {number}, "skip": "s"}}\n\n'.encode())
            may.release()


@pytest.mark.parametrize("relay", RELAYS)
@pytest.mark.parametrize("moment", ["before the head", "in the head", "in the body"])
def test_a_client_that_leaves_ends_the_call(server: Server, site: Upstream, relay: str, moment: str) -> None:
    asked, left = threading.Event(), threading.Event()

    def play(line: Line) -> None:
        if moment != "before the head":
            line.send(STREAM if moment == "in the body" else STREAM[:30])
        if moment == "in the body":
            line.send(b"data: {}\n\n")
        asked.set()
        if line.wait_until_left():
            left.set()

    site.play = play
    with asking(server, site, relay) as line:
        assert asked.wait(10)
        if moment == "in the body":
            received(line, b"data: {}")
    assert left.wait(5), "the call goes on"


@pytest.mark.parametrize("relay", RELAYS)
def test_a_client_that_does_not_read_holds_the_sender_back(server: Server, site: Upstream, relay: str) -> None:
    sent, left = 0, threading.Event()

    def play(line: Line) -> None:
        nonlocal sent
        line.socket.settimeout(1.0)
        line.send(STREAM)
        try:
            while sent < 60_000_000:
                line.send(b"x" * 10_000)
                sent += 10_000
        except OSError:
            left.set()

    site.play = play
    with asking(server, site, relay):
        assert left.wait(20), "all of it was taken, and stands in memory"
    assert sent < 40_000_000  # the kernel's own buffers, four of them, hold some


@pytest.mark.parametrize("relay", RELAYS)
@pytest.mark.parametrize("status", [200, 201, 204, 304, 400, 401, 403, 404, 429, 500, 503, 529, 599])
def test_a_status_comes_through(server: Server, site: Upstream, relay: str, status: int) -> None:
    body = b"" if status in (204, 304) else b'{"error": {}}'
    site.play = lambda line: line.send(answer(body, f"{status} So", "retry-after: 7", "retry-after-ms: 6500"))
    found = server.ask(*request(relay, site))
    assert (found.status, found.body) == (status, body)
    assert (found.headers["retry-after"], found.headers["retry-after-ms"]) == ("7", "6500")


@pytest.mark.parametrize("relay", RELAYS)
@pytest.mark.parametrize("status", [101, 600, 999])
def test_a_status_that_is_none_is_told(server: Server, site: Upstream, relay: str, status: int) -> None:
    site.play = lambda line: line.send(answer(b"denied", f"{status} Request Denied"))
    found = server.ask(*request(relay, site))
    assert found.status == 502
    assert found.code in ("STATUS_INVALID", "UNREACHABLE", "PROVIDER_UNREACHABLE")


@pytest.mark.parametrize("relay", RELAYS)
@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nonly"],
    ids=["fewer bytes than promised", "no last chunk"],
)  # fmt: skip
def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(
    server: Server, site: Upstream, relay: str, said: bytes
) -> None:
    site.play = lambda line: line.send(said)
    with pytest.raises(IncompleteRead):
        server.ask(*request(relay, site))


@pytest.mark.parametrize("relay", RELAYS)
def test_an_answer_that_is_too_large_is_cut_off(
    server: Server, site: Upstream, relay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_relay if relay == "provider" else fetch_relay, "_MOST_BYTES", 1_000)
    site.play = lambda line: line.send(answer(b"x" * 1_000))
    assert len(server.ask(*request(relay, site)).body) == 1_000
    site.play = lambda line: line.send(answer(b"x" * 1_001))
    with pytest.raises(IncompleteRead):
        server.ask(*request(relay, site))


@pytest.mark.parametrize("relay", RELAYS)
def test_an_answer_that_drips_for_ever_ends(
    server: Server, site: Upstream, relay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece comes in time; all of them together do not."""
    monkeypatch.setattr(provider_relay if relay == "provider" else fetch_relay, "_MOST_SECONDS", 0.3)
    left = threading.Event()

    def play(line: Line) -> None:
        try:
            line.send(STREAM)
            while not left.wait(0.02):
                line.send(b":\n")
        except OSError:
            left.set()

    site.play = play
    with pytest.raises(IncompleteRead):
        server.ask(*request(relay, site))
    assert left.wait(5)


@pytest.mark.parametrize("relay", RELAYS)
def test_a_call_that_gets_no_answer_is_told_as_late(
    server: Server, site: Upstream, relay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_relay if relay == "provider" else fetch_relay, "_TIMEOUT_MS", 100)
    left = threading.Event()

    def play(line: Line) -> None:
        if line.wait_until_left():
            left.set()

    site.play = play
    found = server.ask(*request(relay, site))
    assert (found.status, found.code) == (504, "PROVIDER_TIMEOUT" if relay == "provider" else "TIMEOUT")
    assert left.wait(5)


@pytest.mark.parametrize("relay", RELAYS)
def test_what_comes_from_elsewhere_can_do_nothing_here(server: Server, site: Upstream, relay: str) -> None:
    site.play = lambda line: line.send(
        answer(
            b"<script>alert(1)</script>",
            "200 OK",
            "content-type: text/html",
            "set-cookie: a=b",
            "access-control-allow-origin: *",
            "content-security-policy: script-src *",
            "clear-site-data: *",
            "service-worker-allowed: /",
            "location: https://evil.example/",
            'alt-svc: h3=":443"',
            "refresh: 0; url=https://evil.example/",
            "www-authenticate: Basic",
            "x-agrun-fetch-failure: timeout",
            "connection: content-type",
        )
    )
    found = server.ask(*request(relay, site))
    known = {
        "content-type",
        "x-agrun-final-url",
        "date",
        "connection",
        "transfer-encoding",
        "referrer-policy",
        "server",
    }
    inert = {"cache-control", "content-disposition", "content-security-policy", "x-content-type-options"}
    assert set(found.headers) <= known | inert
    assert inert <= set(found.headers)
    assert found.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert found.headers["x-content-type-options"] == "nosniff"


def test_a_body_with_a_read_is_not_taken(server: Server, site: Upstream) -> None:
    """It is no reason to hang up without a word either."""
    site.play = lambda line: line.send(answer())
    assert server.ask("GET", site.fetch_path(), raw=b"x" * 100_000).status == 200
    head = "Host: 127.0.0.1\r\nConnection: close\r\nContent-Length: 99999999\r\n\r\n"
    assert b" 413 " in server.say(f"GET {site.fetch_path()} HTTP/1.1\r\n{head}".encode()).partition(b"\r\n")[0]
