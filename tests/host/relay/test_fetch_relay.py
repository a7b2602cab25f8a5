# ruff: noqa: E501 (tables of cases)
"""/v1/fetch: who may be asked, what goes along, and what the page is told when nothing comes back."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import IncompleteRead
from urllib.parse import quote
from zlib import compress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agrun_host import network
from agrun_host.serve.fetch_relay import fetch_relay_routes
from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.ports import FETCH_FAILURE, FINAL_URL
from tests.host.relay.upstream import NAME, Line, Renamed, Upstream, answer
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

SIGNS = {
    "authorization": "Bearer mine",
    "x-api-key": "mine",
    "x-goog-api-key": "mine",
    "api-key": "mine",
    "cookie": "session=mine",
    "proxy-authorization": "Basic mine",
    "x-custom": "mine",
    "referer": "http://127.0.0.1/mine",
    "x-forwarded-for": "mine",
    "forwarded": "for=mine",
    "te": "trailers",
    "upgrade": "h2c",
    "range": "bytes=0-1",
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """The relay as it is served: loopback is not public. No name is looked up here, and no address outside reached."""

    async def nowhere(host: str, port: int) -> list[str]:
        raise socket.gaierror(f"{host}:{port}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "_addresses", nowhere)
        with serving(Model().runtime(), fetch_relay_routes(HttpFetch(trust_env=False))) as server:
            yield server


def fetched(server: Server, url: str, method: str = "GET") -> tuple[int, str]:
    found = server.ask(method, f"/v1/fetch?url={quote(url, safe='')}")
    return found.status, found.code


def test_a_read_takes_nothing_along_that_says_who_reads(server: Server, site: Upstream) -> None:
    headers = {**SIGNS, "accept": "text/html", "accept-language": "de"}
    assert server.ask("GET", site.fetch_path("/page?q=1"), headers=headers).status == 200
    (line,) = site.seen
    assert line.head.startswith("GET /page?q=1 HTTP/1.1")
    assert "mine" not in line.head
    sent = {text.partition(":")[0].lower() for text in line.head.split("\r\n")[1:]}
    assert sent == {"host", "user-agent", "accept-encoding", "accept", "accept-language"}


def test_head_stays_head(server: Server, site: Upstream) -> None:
    found = server.ask("HEAD", site.fetch_path())
    assert (found.status, found.body) == (200, b"")
    assert site.seen[0].head.startswith("HEAD / HTTP/1.1")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS"])
def test_other_methods_are_not_passed_on(server: Server, site: Upstream, method: str) -> None:
    assert server.ask(method, site.fetch_path()).status == 405
    assert site.seen == []


def test_a_post_to_a_host_that_was_not_named_is_refused_with_the_way_out(server: Server, site: Upstream) -> None:
    found = server.ask("POST", site.fetch_path(), {"model": "m"})
    assert (found.status, found.code) == (403, "HOST_NOT_CALLED")
    assert "/v1/providers" in found.json["error"]["hint"]
    assert site.seen == []


def test_a_whole_call_goes_to_a_host_that_was_named(calling: Server, site: Upstream) -> None:
    found = calling.ask("POST", site.fetch_path("/v1/messages"), {"model": "m"}, SIGNS | {"anthropic-version": "1"})
    assert (found.status, found.body) == (200, b"hi")
    (line,) = site.seen
    assert json.loads(line.body) == {"model": "m"}
    sent = dict(text.lower().split(": ", 1) for text in line.head.split("\r\n")[1:])
    for name in ("authorization", "x-api-key", "x-goog-api-key"):
        assert sent[name] == SIGNS[name].lower()
    assert sent["anthropic-version"] == "1"
    assert sent["accept-encoding"] == "identity"  # or events wait in a compressor
    assert not {"cookie", "proxy-authorization", "x-custom", "referer", "x-forwarded-for", "range"} & set(sent)


@pytest.mark.parametrize("near", [f"not{NAME}", f"{NAME}.evil.example", f"sub.{NAME}"])
def test_a_name_that_is_like_one_that_was_named_is_another(calling: Server, site: Upstream, near: str) -> None:
    assert fetched(calling, f"http://{near}/", "POST") == (403, "HOST_NOT_CALLED")
    assert site.seen == []


def test_the_token_of_this_server_is_sent_to_nobody(site: Upstream) -> None:
    token = "a-token-of-the-tests-0123456789"
    routes = fetch_relay_routes(Renamed(), [NAME], token=True)
    with serving(Model().runtime(), routes, token=token) as server:
        signs = {"authorization": f"Bearer {token}", "x-api-key": "key of the page"}
        assert server.ask("POST", site.fetch_path(), {}, signs).status == 200
    (line,) = site.seen
    assert token not in line.head
    assert "x-api-key: key of the page" in line.head.lower()


def test_a_redirect_away_from_a_named_host_takes_no_key_along(calling: Server, site: Upstream) -> None:
    def play(line: Line) -> None:
        # The same machine, under the name that tells the two origins apart.
        away = f"location: http://localhost:{site.port}/there"
        line.send(answer(b"", "302 Found", away) if line.head.startswith("GET / ") else answer())

    site.play = play
    assert calling.ask("GET", site.fetch_path(), headers=SIGNS).status == 200
    first, second = site.seen
    assert "mine" in first.head
    assert "mine" not in second.head


def test_the_page_learns_where_redirects_led(server: Server, site: Upstream) -> None:
    def play(line: Line) -> None:
        if line.head.startswith("GET / "):
            line.send(answer(b"", "301 Moved", "location: /caf%E9 x?q=1"))
        else:
            line.send(answer())

    site.play = play
    found = server.ask("GET", site.fetch_path())
    assert found.status == 200
    assert found.headers[FINAL_URL].isascii()
    assert found.headers[FINAL_URL].startswith(f"http://127.0.0.1:{site.port}/caf%")


def test_a_url_beyond_latin_1_is_fetched(server: Server, site: Upstream) -> None:
    found = server.ask("GET", site.fetch_path("/日本?q=語"))
    assert found.status == 200
    assert found.headers[FINAL_URL].endswith("/%E6%97%A5%E6%9C%AC?q=%E8%AA%9E")


#: what the other side does -> status, code, kind of failure
FAILURES: dict[str, tuple[bytes, int, str, str]] = {
    "hangs up": (b"", 502, "UNREACHABLE", "network_or_cors"),
    "speaks no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", 502, "UNREACHABLE", "network_or_cors"),
    "sends a coding that nobody asked for": (answer(b"x", "200 OK", "content-encoding: br"), 502, "ANSWER_UNREADABLE", "decode_error"),
    "redirects for ever": (answer(b"", "302 Found", "location: /again"), 502, "TOO_MANY_REDIRECTS", "too_many_redirects"),
    "redirects to a file": (answer(b"", "302 Found", "location: file:///etc/passwd"), 502, "UNREACHABLE", "network_or_cors"),
    "has two lengths": (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!", 502, "UNREACHABLE", "network_or_cors"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAILURES)
def test_the_page_is_told_what_kind_of_failure_it_is(server: Server, site: Upstream, what: str) -> None:
    said, status, code, kind = FAILURES[what]
    site.play = lambda line: line.send(said)
    found = server.ask("GET", site.fetch_path())
    assert (found.status, found.code, found.headers[FETCH_FAILURE]) == (status, code, kind)
    assert found.json["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"host": "elsewhere.example"}, 421), ({"origin": "http://elsewhere.example"}, 403), ({"content-length": "99999999"}, 413)],
)  # fmt: skip
def test_a_refusal_of_this_server_is_not_the_answer_of_the_site(
    server: Server, site: Upstream, headers: dict[str, str], status: int
) -> None:
    found = server.ask("GET", site.fetch_path(), headers=headers)
    assert (found.status, found.headers[FETCH_FAILURE]) == (status, "network_or_cors")
    assert site.seen == []


def test_a_site_that_is_not_there_is_told(server: Server, site: Upstream) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = server.ask("GET", site.fetch_path().replace(str(site.port), str(port)))
    assert (found.status, found.headers[FETCH_FAILURE]) == (502, "network_or_cors")
    assert "connection refused" in found.json["error"]["message"]


def test_a_bomb_is_cut_off_at_what_it_unpacks_to(server: Server, site: Upstream) -> None:
    bomb = compress(bytes(64 << 20), 9)
    assert len(bomb) < 100_000
    site.play = lambda line: line.send(answer(bomb, "200 OK", "content-encoding: deflate"))
    with pytest.raises(IncompleteRead) as cut:
        server.ask("GET", site.fetch_path())
    assert len(cut.value.partial) <= 16 << 20


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.01/", "http://127.1/", "http://0/",
     "http://[::1]/", "http://[::]/", "http://[::ffff:10.0.0.1]/", "http://[64:ff9b::a00:1]/", "http://[64:ff9b:1::1]/",
     "http://[2002:a00:1::]/", "http://[2001::1]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/", "http://[ff02::1]/",
     "http://169.254.169.254/latest/", "http://169.254.169.254./", "http://100.64.0.1/", "http://198.18.0.1/",
     "http://255.255.255.255/", "http://224.0.0.1/", "http://localhost/", "http://LOCALHOST./", "http://a.localhost/",
     "http://metadata.google.internal/", "http://router/", "http://１２７。０。０。１/", "http://%31%32%37.0.0.1/",
     "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://127.0.0.1:443/", "https://10.0.0.1/", " http://10.0.0.1/ "],
)  # fmt: skip
def test_no_spelling_of_an_address_that_is_not_public_is_fetched(guarded: Server, url: str) -> None:
    found = guarded.ask("GET", f"/v1/fetch?url={quote(url, safe='')}")
    assert (found.status, found.code, found.headers[FETCH_FAILURE]) == (403, "ADDRESS_NOT_PUBLIC", "private_address")
    assert fetched(guarded, url, "POST") == (403, "ADDRESS_NOT_PUBLIC")


@pytest.mark.parametrize(
    "url",
    ["", "   ", "file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "javascript:alert(1)", "data:,x",
     "//example.org/", "/v1/runs", "example.org", "http://", "http:///x", "http://user@example.org/",
     "http://user:pw@example.org/", "http://example.org:99999/", "http://example.org:x/", "http://exa mple.org/",
     "http://example.org\\@10.0.0.1/", "http://example.org/\r\nx: y", "http://example.org/\x00", "http://[::1/",
     "http://1.2.3.4.5/", "http://256.1.1.1/", "HTTP:example.org"],
)  # fmt: skip
def test_what_is_no_public_url_is_refused(guarded: Server, url: str) -> None:
    assert fetched(guarded, url) == (400, "URL_INVALID")


@pytest.mark.parametrize("port", [1, 22, 25, 81, 8080, 6379, 65535])
def test_ports_of_other_services_are_refused(guarded: Server, port: int) -> None:
    assert fetched(guarded, f"http://93.184.216.34:{port}/") == (403, "ADDRESS_NOT_PUBLIC")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_whatever_is_asked_for_is_refused_in_words(guarded: Server, text: str) -> None:
    for url in (text, f"http://10.0.0.1/{text}", f"http://{text}@10.0.0.1/"):
        status, code = fetched(guarded, url)
        assert (status, code) in ((400, "URL_INVALID"), (403, "ADDRESS_NOT_PUBLIC"), (502, "UNREACHABLE"))
