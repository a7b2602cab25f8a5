"""The relays: a page's model calls get the server's key and nothing else gets out; a page reads what is public."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agrun_host.serve.fetch_relay import FINAL_URL, fetch_relay_routes
from agrun_host.serve.provider_relay import provider_relay_routes, relayed_providers
from agrun_host.transport import HttpFetch
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

KEY = "sk-relayed-0123456789abcdef"
CHAT = "/v1/providers/openai/v1/chat/completions"


@dataclass
class Upstream:
    """A provider, or a site: answers with what a test says, and remembers what it was sent."""

    origin: str = ""
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    pieces: list[bytes] = field(default_factory=lambda: [b"{}"])
    endless: bool = False
    closed: threading.Event = field(default_factory=threading.Event)


@contextmanager
def upstream() -> Iterator[Upstream]:
    site = Upstream()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            site.seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(site.status)
            for name, value in site.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in site.pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()
                while site.endless:
                    self.wfile.write(b"data: {}\n\n")
                    self.wfile.flush()
                    if site.closed.wait(0.02):
                        return
            except OSError:
                site.closed.set()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    site.origin = f"http://127.0.0.1:{server.server_address[1]}"
    yield site
    site.endless = False
    server.shutdown()
    server.server_close()


@pytest.fixture
def site() -> Iterator[Upstream]:
    with upstream() as site:
        yield site


@pytest.fixture
def server(site: Upstream) -> Iterator[Server]:
    environment = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": f"{KEY}-a", "GEMINI_API_KEY": f"{KEY}-g"}
    places = dict.fromkeys(("openai", "anthropic", "gemini"), site.origin)
    routes = provider_relay_routes(relayed_providers(environment, places), HttpFetch(trust_env=False))
    routes += fetch_relay_routes(HttpFetch(trust_env=False))
    with serving(Model().runtime(), routes) as server:
        yield server


@pytest.mark.parametrize(
    ("path", "header", "value"),
    [
        (CHAT, "authorization", f"Bearer {KEY}"),
        ("/v1/providers/openai/v1/responses", "authorization", f"Bearer {KEY}"),
        ("/v1/providers/anthropic/v1/messages", "x-api-key", f"{KEY}-a"),
        (
            "/v1/providers/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            f"{KEY}-g",
        ),
    ],
)
def test_a_model_call_gets_the_key(server: Server, site: Upstream, path: str, header: str, value: str) -> None:
    sent = {"authorization": "Bearer mine", "x-api-key": "mine", "cookie": "c=1", "anthropic-version": "2023-06-01"}
    answer = server.ask("POST", path, {"model": "m"}, sent)
    assert answer.status == 200
    ((method, upstream_path, headers, body),) = site.seen
    assert (method, json.loads(body)) == ("POST", {"model": "m"})
    assert upstream_path == path.removeprefix("/v1/providers/openai").removeprefix(
        "/v1/providers/anthropic"
    ).removeprefix("/v1/providers/gemini")
    assert headers[header] == value
    assert "mine" not in str(headers)
    assert "cookie" not in headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/providers/openai/v1/files"),
        ("POST", "/v1/providers/openai/v1/chat/completions/../../files"),
        ("POST", "/v1/providers/openai/v1/chat%2fcompletions"),
        ("POST", "/v1/providers/openai/v1/%63hat/completions"),
        ("POST", "/v1/providers/openai//evil.example/v1/chat/completions"),
        ("POST", "/v1/providers/openai/@evil.example/v1/chat/completions"),
        ("POST", "/v1/providers/nobody/v1/chat/completions"),
        ("POST", "/v1/providers/gemini/v1beta/models/../files:generateContent"),
        ("GET", CHAT),
        ("DELETE", CHAT),
    ],
)
def test_nothing_else_of_a_provider_is_reached(server: Server, site: Upstream, method: str, path: str) -> None:
    assert server.ask(method, path, {}).status in (404, 405)
    assert site.seen == []


def test_a_provider_that_echoes_the_key_echoes_nothing(server: Server, site: Upstream) -> None:
    site.status, site.headers = 401, {"content-type": "application/json", "retry-after": "7", "x-secret": KEY}
    text = f'{{"error": "wrong key {KEY}"}}'.encode()
    site.pieces = [text[:20], text[20:25], text[25:]]
    answer = server.ask("POST", CHAT, {})
    assert answer.status == 401
    assert answer.headers["retry-after"] == "7"
    assert KEY not in answer.body.decode() + str(answer.headers)
    assert b"wrong key" in answer.body


def test_a_client_that_leaves_closes_the_call(server: Server, site: Upstream) -> None:
    import socket

    site.endless = True
    site.headers = {"content-type": "text/event-stream"}
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
        head = [f"POST {CHAT} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", "Content-Length: 2"]
        line.sendall("\r\n".join([*head, "", "{}"]).encode())
        found = b""
        while b"data: " not in found:  # it comes while it is made
            found += line.recv(65_536)
    assert site.closed.wait(10), "the connection to the provider stays open"


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://127.0.0.1/x", 403),
        ("http://2130706433/", 403),
        ("http://0x7f.1/", 403),
        ("http://[::ffff:10.0.0.1]/", 403),
        ("http://169.254.169.254/latest/meta-data", 403),
        ("http://localhost/", 403),
        ("http://192.168.0.1/", 403),
        ("file:///etc/passwd", 400),
        ("ftp://example.org/", 400),
        ("http://user:pw@example.org/", 400),
        ("", 400),
    ],
)
def test_only_what_is_public_is_fetched(server: Server, site: Upstream, url: str, status: int) -> None:
    from urllib.parse import quote

    assert server.ask("GET", f"/v1/fetch?url={quote(url, safe='')}").status == status
    assert site.seen == []


def test_what_is_fetched_can_do_nothing_here(site: Upstream) -> None:
    from urllib.parse import quote

    site.headers = {"content-type": "text/html", "set-cookie": "a=b", "access-control-allow-origin": "*"}
    site.pieces = [b"<script>alert(1)</script>"]
    url = site.origin.replace("127.0.0.1", "site.example.org")

    class Resolved(HttpFetch):
        """The site under a public name, on this machine."""

        def open(self, request: Any) -> Any:
            return super().open(request._replace(url=request.url.replace("site.example.org", "127.0.0.1")))

    with serving(Model().runtime(), fetch_relay_routes(Resolved(allow_private=True, trust_env=False))) as server:
        answer = server.ask(
            "GET", f"/v1/fetch?url={quote(url, safe='')}", headers={"cookie": "c=1", "authorization": "Basic x"}
        )
    assert answer.body == b"<script>alert(1)</script>"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["content-disposition"] == "attachment"
    assert FINAL_URL in answer.headers
    assert "set-cookie" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers
    ((_, _, headers, _),) = site.seen
    assert "cookie" not in headers
    assert "authorization" not in headers
