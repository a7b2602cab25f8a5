"""The server's token from a page whose dialect has a header of its own for keys: taken there, and never passed on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agrun_host.serve.fetch_relay import fetch_relay_routes
from agrun_host.serve.provider_relay import key_header, provider_relay_routes, relayed_providers
from agrun_host.transport import HttpFetch
from tests.host.relay.conftest import ENVIRONMENT
from tests.host.relay.upstream import Renamed, Upstream, answer
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

TOKEN = "a-token-of-the-tests-0123456789"
#: provider -> a path of it, the header of its keys, its key here
DIALECTS = {
    "openai": ("chat/completions", "authorization", f"Bearer {ENVIRONMENT['OPENAI_API_KEY']}"),
    "openai-responses": ("responses", "authorization", f"Bearer {ENVIRONMENT['OPENAI_API_KEY']}"),
    "anthropic": ("messages", "x-api-key", ENVIRONMENT["ANTHROPIC_API_KEY"]),
    "gemini": ("models/g:generateContent", "x-goog-api-key", ENVIRONMENT["GEMINI_API_KEY"]),
}
OWN = sorted({header for _, header, _ in DIALECTS.values()} - {"authorization"})


@pytest.fixture(scope="module")
def guarded(kept_site: Upstream) -> Iterator[Server]:
    places = dict.fromkeys(("openai", "anthropic", "gemini"), kept_site.origin)
    routes = provider_relay_routes(relayed_providers(ENVIRONMENT, places), HttpFetch(trust_env=False))
    routes += fetch_relay_routes(Renamed(), token=True)
    with serving(Model().runtime(), routes, token=TOKEN) as server:
        yield server


def path_of(name: str) -> str:
    return f"/v1/providers/{name}/{DIALECTS[name][0]}"


@pytest.mark.parametrize("name", DIALECTS)
def test_the_token_stands_where_the_dialect_has_its_key(guarded: Server, site: Upstream, name: str) -> None:
    _, header, key = DIALECTS[name]
    sent = f"Bearer {TOKEN}" if header == "authorization" else TOKEN
    assert guarded.ask("POST", path_of(name), {}, {header: sent}).status == 200
    (line,) = site.seen
    assert f"{header}: {key}".lower() in line.head.lower()
    assert TOKEN not in line.head


@pytest.mark.parametrize("name", DIALECTS)
def test_authorization_carries_it_for_every_dialect(guarded: Server, site: Upstream, name: str) -> None:
    sent = {"authorization": f"Bearer {TOKEN}", **dict.fromkeys(OWN, "a key of the page")}
    assert guarded.ask("POST", path_of(name), {}, sent).status == 200
    assert TOKEN not in site.seen[0].head
    assert "of the page" not in site.seen[0].head


@pytest.mark.parametrize(
    "sent", ["", "x", TOKEN[:-1], f"{TOKEN}x", f"Bearer {TOKEN}", TOKEN.upper(), f"{TOKEN}, {TOKEN}", "\u00ff"]
)
@pytest.mark.parametrize("name", DIALECTS)
def test_anything_else_there_is_no_token(guarded: Server, site: Upstream, name: str, sent: str) -> None:
    header = DIALECTS[name][1]
    found = guarded.ask("POST", path_of(name), {}, {header: f"x{sent}" if header == "authorization" else sent})
    assert (found.status, found.code) == (401, "UNAUTHORIZED")
    assert "apiKey" in found.json["error"]["hint"]
    assert site.seen == []


@pytest.mark.parametrize("header", OWN)
@pytest.mark.parametrize(
    "path",
    ["/v1/runs", "/v1/fetch?url=http://site.example.org/", "/v1/providers", "/v1/providers/", "/v1/providers/anthropic",
     "/v1/providers//messages", "/v1/providers/nobody/messages", "/openapi.json", "/v1/Providers/anthropic/messages",
     "/v1//providers/anthropic/messages", "/v1/runs/providers/anthropic/x"],
)  # fmt: skip
def test_that_header_is_a_token_nowhere_else(guarded: Server, site: Upstream, path: str, header: str) -> None:
    assert guarded.ask("GET", path, None, {header: TOKEN}).status == 401
    assert guarded.ask("POST", path, {}, {header: TOKEN}).status == 401
    assert site.seen == []


@pytest.mark.parametrize("name", DIALECTS)
def test_the_header_of_another_dialect_is_no_token(guarded: Server, name: str) -> None:
    others = {header: TOKEN for header in OWN if header != DIALECTS[name][1]}
    assert guarded.ask("POST", path_of(name), {}, others).status == 401


def test_a_provider_that_echoes_the_head_tells_no_token(guarded: Server, site: Upstream) -> None:
    site.play = lambda line: line.send(answer(line.head.encode()))
    found = guarded.ask("POST", path_of("anthropic"), {}, {"x-api-key": TOKEN})
    assert found.status == 200
    assert TOKEN not in found.body.decode()
    assert ENVIRONMENT["ANTHROPIC_API_KEY"] not in found.body.decode()


def test_a_path_that_is_no_providers_has_no_header() -> None:
    for path in (
        "",
        "/",
        "/v1",
        "/v1/providers",
        "/v1/providers/openai",
        "/v2/providers/openai/x",
        "v1/providers/openai/x",
    ):
        assert key_header(path) is None
    assert key_header("/v1/providers/openai-compatible/chat/completions") == "authorization"
