"""What must not get in: every request here is refused with a clear error, and nothing is run."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agrun_host.serve.settings import ServeSettings
from agrun_wasm import ConfigInvalid
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

TOKEN = "a-token-of-the-tests-0123456789"
GOOD = {"authorization": f"Bearer {TOKEN}"}
BODY = {"input": "order"}


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def server(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    page = tmp_path_factory.mktemp("site") / "page"
    page.mkdir()
    (page / "index.html").write_text("the page")
    (page.parent / "secret.txt").write_text("not for anyone")
    settings: dict[str, Any] = {"token": TOKEN, "origins": ("https://app.example.org",), "page": page}
    limits = {"max_body_bytes": 10_000, "body_seconds": 0.5, "requests_per_client": 8}
    with serving(model.runtime(), **settings, **limits) as server:
        yield server


#: what is wrong -> headers, status, code
HEADERS: dict[str, tuple[dict[str, str], int, str]] = {
    "no token": ({}, 401, "UNAUTHORIZED"),
    "another token": ({"authorization": "Bearer a-token-of-the-tests-0123456780"}, 401, "UNAUTHORIZED"),
    "a token as basic": ({"authorization": f"Basic {TOKEN}"}, 401, "UNAUTHORIZED"),
    "the beginning of the token": ({"authorization": f"Bearer {TOKEN[:-1]}"}, 401, "UNAUTHORIZED"),
    "a foreign origin": ({**GOOD, "origin": "https://evil.example"}, 403, "ORIGIN_NOT_ALLOWED"),
    "an allowed origin as a prefix": (
        {**GOOD, "origin": "https://app.example.org.evil.example"},
        403,
        "ORIGIN_NOT_ALLOWED",
    ),
    "an allowed origin without its s": ({**GOOD, "origin": "http://app.example.org"}, 403, "ORIGIN_NOT_ALLOWED"),
    "a null origin": ({**GOOD, "origin": "null"}, 403, "ORIGIN_NOT_ALLOWED"),
    "a page elsewhere that hides its origin": ({**GOOD, "sec-fetch-site": "cross-site"}, 403, "ORIGIN_NOT_ALLOWED"),
    "a rebound name": ({**GOOD, "host": "evil.example"}, 421, "HOST_NOT_ALLOWED"),
    "a rebound name with the port": ({**GOOD, "host": "evil.example:8000"}, 421, "HOST_NOT_ALLOWED"),
    "a name that begins well": ({**GOOD, "host": "127.0.0.1.evil.example"}, 421, "HOST_NOT_ALLOWED"),
    "a form": ({**GOOD, "content-type": "application/x-www-form-urlencoded"}, 415, "NOT_JSON"),
    "text": ({**GOOD, "content-type": "text/plain"}, 415, "NOT_JSON"),
    "a multipart form": ({**GOOD, "content-type": "multipart/form-data; boundary=x"}, 415, "NOT_JSON"),
    "an endless key": ({**GOOD, "idempotency-key": "k" * 300}, 400, "IDEMPOTENCY_KEY_INVALID"),
}
BODIES: dict[str, tuple[bytes, int, str]] = {
    "no JSON": (b"{", 400, "NOT_JSON"),
    "nothing": (b"", 400, "NOT_JSON"),
    "NaN": (b'{"input": NaN}', 400, "NOT_JSON"),
    "a list": (b"[]", 400, "CONFIG_INVALID"),
    "another key": (b'{"input": "order", "apiKey": "x"}', 400, "CONFIG_INVALID"),
    "another provider": (b'{"input": {"prompt": "order", "provider": "x"}}', 400, "CONFIG_INVALID"),
    "a run id": (b'{"input": "order", "runId": "mine"}', 400, "CONFIG_INVALID"),
    "a state": (b'{"input": {"prompt": "order", "state": {}}}', 400, "CONFIG_INVALID"),
    "an odd session": (b'{"input": "order", "session": "../x"}', 400, "CONFIG_INVALID"),
    "no text": (b'{"input": ""}', 400, "CONFIG_INVALID"),
    "not UTF-8": (b'{"input": "\xff\xfe"}', 400, "NOT_JSON"),
    "a nest": (b'{"input": ' + b"[" * 4_000 + b"]" * 4_000 + b"}", 400, "NOT_JSON"),
    "too much": (b'{"input": "' + b"x" * 20_000 + b'"}', 413, "BODY_TOO_LARGE"),
}


def check_nothing_ran(model: Model) -> None:
    assert model.asked == 0
    assert model.ordered == []


@pytest.mark.parametrize("name", HEADERS)
def test_a_request_with_wrong_headers_is_refused(server: Server, model: Model, name: str) -> None:
    headers, status, code = HEADERS[name]
    answer = server.ask("POST", "/v1/runs", BODY, headers)
    assert (answer.status, answer.code) == (status, code)
    assert TOKEN not in answer.body.decode()
    check_nothing_ran(model)


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_none_is_refused(server: Server, model: Model, name: str) -> None:
    raw, status, code = BODIES[name]
    answer = server.ask("POST", "/v1/runs", headers=GOOD, raw=raw)
    assert answer.status == status, answer.body
    assert answer.code in (code, "CONFIG_INVALID" if name == "a nest" else code)
    check_nothing_ran(model)


def _request(line: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [line, "Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def test_a_body_that_grows_beyond_the_limit_is_cut_off(server: Server, model: Model) -> None:
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    head = _request("POST /v1/runs HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked")
    assert b" 413 " in server.say(head + chunk * 4 + b"0\r\n\r\n").partition(b"\r\n")[0]
    check_nothing_ran(model)


def test_a_body_that_does_not_come_is_not_waited_for(server: Server, model: Model) -> None:
    head = _request("POST /v1/runs HTTP/1.1", "Content-Type: application/json", "Content-Length: 100", body=b"{")
    assert b" 408 " in server.say(head).partition(b"\r\n")[0]
    check_nothing_ran(model)


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["X: " + "y" * 200_000],
        [f"X-{n}: y" for n in range(20_000)],
        ["Content-Length: -1"],
    ],
    ids=["two lengths", "two kinds of length", "a long header", "many headers", "less than nothing"],
)
def test_odd_headers_start_nothing(server: Server, model: Model, lines: list[str]) -> None:
    try:
        answer = server.say(_request("POST /v1/runs HTTP/1.1", "Content-Type: application/json", *lines, body=b"hello"))
    except ConnectionError:  # cut off in mid-sentence
        answer = b""
    assert not answer or answer.startswith(b"HTTP/1.1 4")
    check_nothing_ran(model)


@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/%2e%2e%2fsecret.txt", "//../secret.txt",
     "/..\\secret.txt", "/v1/../../secret.txt", "/%00", "/index.html%00.txt", "/v1/runs/../../secret.txt",
     "/v1/runs/%2e%2e%2f%2e%2e"],
)  # fmt: skip
def test_paths_lead_nowhere_else(server: Server, path: str) -> None:
    answer = server.say(_request(f"GET {path} HTTP/1.1"))
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")), answer[:200]
    assert b"not for anyone" not in answer


def test_more_requests_than_are_taken_are_told_to_wait(server: Server) -> None:
    lines = []
    try:
        for _ in range(8):
            line = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            head = _request("POST /v1/runs HTTP/1.1", "Content-Type: application/json", "Content-Length: 9")
            line.sendall(head)
            lines.append(line)
        time.sleep(0.2)
        answer = server.ask("GET", "/v1/runs/none", headers=GOOD)
        assert (answer.status, answer.code) == (429, "TOO_MANY_REQUESTS")
        assert answer.headers["retry-after"] == "1"
    finally:
        for line in lines:
            line.close()
    end = time.monotonic() + 10
    while server.ask("GET", "/v1/runs/none", headers=GOOD).status == 429:
        assert time.monotonic() < end


def test_a_page_of_an_allowed_origin_may_call_and_a_foreign_one_learns_nothing(server: Server) -> None:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    allowed = server.ask("OPTIONS", "/v1/runs", headers={**asked, "origin": "https://app.example.org"})
    assert allowed.headers["access-control-allow-origin"] == "https://app.example.org"
    assert "access-control-allow-credentials" not in allowed.headers
    answer = server.ask("GET", "/v1/runs/none", headers={**GOOD, "origin": "https://app.example.org"})
    assert answer.status == 404
    assert answer.headers["access-control-allow-origin"] == "https://app.example.org"
    foreign = server.ask("OPTIONS", "/v1/runs", headers={**asked, "origin": "https://evil.example"})
    assert foreign.status == 403
    assert "access-control-allow-origin" not in foreign.headers


def test_the_page_itself_needs_no_token(server: Server) -> None:
    answer = server.ask("GET", "/")
    assert (answer.status, answer.body) == (200, b"the page")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert server.ask("GET", "/healthz").json == {"status": "ok"}
    assert server.ask("GET", "/openapi.json").status == 401


@pytest.mark.parametrize(
    "settings",
    [{"host": "0.0.0.0"}, {"host": "::"}, {"host": "10.1.2.3"}, {"host": "example.org"}, {"token": "short"},
     {"origins": ("*",)}, {"origins": ("example.org",)}, {"origins": ("https://example.org/path",)}],
)  # fmt: skip
def test_settings_that_open_a_door_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        ServeSettings(**settings)
    assert refused.value.hint


def test_with_a_token_any_address_may_be_listened_on() -> None:
    assert "0.0.0.0" in ServeSettings(host="0.0.0.0", token=TOKEN).names
    assert TOKEN not in repr(ServeSettings(token=TOKEN))
    assert "[::1]" in ServeSettings().names


def test_errors_are_of_one_shape(server: Server, tmp_path: Path) -> None:
    for method, path in (("GET", "/v1/none"), ("PUT", "/v1/runs"), ("GET", "/v1/runs"), ("DELETE", "/v1/runs/x")):
        answer = server.ask(method, path, headers=GOOD)
        assert answer.status in (404, 405)
        assert set(json.loads(answer.body)["error"]) >= {"code", "message", "hint"}
