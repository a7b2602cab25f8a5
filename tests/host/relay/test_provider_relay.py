# ruff: noqa: E501 (tables of cases)
"""/v1/providers: the page's paths lead to models and nowhere else, and the key goes one way."""

from __future__ import annotations

import json
from base64 import b64encode
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agrun_host.serve.provider_relay import provider_relay_routes, relayed_providers
from agrun_host.transport import HttpFetch
from agrun_wasm.providers.endpoint import endpoint
from tests.host.relay.conftest import ENVIRONMENT, KEY
from tests.host.relay.test_passing import CHAT
from tests.host.relay.upstream import Upstream, answer
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

#: provider, path of its dialect, the version the dialect adds, the path upstream
PATHS = [
    ("openai", "chat/completions", "v1", "/v1/chat/completions"),
    ("openai", "responses", "v1", "/v1/responses"),
    ("anthropic", "messages", "v1", "/v1/messages"),
    ("gemini", "models/gemini-2.5-flash:generateContent", "v1beta", "/v1beta/models/gemini-2.5-flash:generateContent"),
]


@pytest.mark.parametrize(("provider", "path", "version", "upstream_path"), PATHS)
@pytest.mark.parametrize("base", ["/v1/providers/{}", "/v1/providers/{}/", "/v1/providers/{}/{version}"])
def test_every_base_url_a_page_may_name_leads_to_the_model(
    server: Server, site: Upstream, provider: str, path: str, version: str, upstream_path: str, base: str
) -> None:
    """Joined as the page joins it: its own `v1` is version enough for it."""
    asked = endpoint(base.format(provider, version=version), path, version=version)
    assert server.ask("POST", asked, {}).status == 200
    assert site.seen[0].head.startswith(f"POST {upstream_path} HTTP/1.1")


def test_gemini_streams_and_no_other_query_goes_along(server: Server, site: Upstream) -> None:
    path = "/v1/providers/gemini/models/g:streamGenerateContent"
    assert server.ask("POST", f"{path}?alt=sse&key=mine&x=y", {}).status == 200
    assert site.seen[0].head.startswith("POST /v1beta/models/g:streamGenerateContent?alt=sse HTTP/1.1")


@pytest.mark.parametrize(
    ("base", "led"),
    [("", "/v1/chat/completions"), ("/gateway/openai", "/gateway/openai/v1/chat/completions"),
     ("/v1", "/v1/chat/completions"), ("/v2/", "/v2/chat/completions"), ("?team=a", "/v1/chat/completions?team=a")],
)  # fmt: skip
def test_a_gateway_has_paths_of_its_own(site: Upstream, base: str, led: str) -> None:
    providers = relayed_providers(ENVIRONMENT, {"openai-responses": site.origin + base})
    with serving(Model().runtime(), provider_relay_routes(providers, HttpFetch(trust_env=False))) as server:
        assert server.ask("POST", CHAT, {}).status == 200
    assert site.seen[0].head.startswith(f"POST {led} HTTP/1.1")


def test_a_server_of_ones_own_needs_no_key(site: Upstream) -> None:
    providers = relayed_providers({}, {"openai-compatible": site.origin})
    with serving(Model().runtime(), provider_relay_routes(providers, HttpFetch(trust_env=False))) as server:
        signs = {"authorization": "Bearer of the page"}
        assert server.ask("POST", "/v1/providers/openai-compatible/chat/completions", {}, signs).status == 200
        missing = server.ask("POST", CHAT, {})
    assert "authorization" not in site.seen[0].head.lower()
    assert (missing.status, "openai-compatible" in missing.json["error"]["message"]) == (404, True)


def test_keys_may_be_kept_elsewhere_and_the_environment_comes_first() -> None:
    stored = {"openai": "kept", "anthropic": "kept"}.get
    found = relayed_providers({"ANTHROPIC_API_KEY": " set "}, None, stored)
    assert {name: relayed.key for name, relayed in found.items()} == {"openai": "kept", "anthropic": "set"}


@pytest.mark.parametrize(
    "path",
    ["chat/completions/", "/chat/completions", "chat//completions", "v1/v1/chat/completions", "v1beta/chat/completions",
     "chat/completions/..", "../openai/chat/completions", "%2e%2e/openai/chat/completions", "chat/%63ompletions",
     "chat%2fcompletions", "chat/completions%00", "chat/completions%0d%0ax:y", "chat/completions;x", "chat\\completions",
     "files", "models", "v1/models", "v1/files/1", "v1/fine_tuning/jobs", "v1/organization/api_keys", "",
     "//evil.example/chat/completions", "@evil.example/chat/completions", "https://evil.example/chat/completions",
     "messages", "CHAT/completions", "chat/completions%20", "chat/completions#x", "chat/completi\u00f6ns"],
)  # fmt: skip
def test_no_other_path_is_passed_on(server: Server, site: Upstream, path: str) -> None:
    line = f"POST /v1/providers/openai/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 2\r\n"
    said = server.say(f"{line}Content-Type: application/json\r\n\r\n{{}}".encode())
    assert said.split(b" ")[1] in (b"400", b"404", b"405")
    assert site.seen == []


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1{}", "http://evil.example{}", "//evil.example{}", "http:{}", "127.0.0.1:443"]
)
def test_no_form_of_a_request_line_leads_elsewhere(server: Server, site: Upstream, target: str) -> None:
    line = f"POST {target.format(CHAT)} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 2\r\n"
    said = server.say(f"{line}Content-Type: application/json\r\n\r\n{{}}".encode())
    assert said.split(b" ")[1] in (b"200", b"400", b"404", b"405")
    for seen in site.seen:  # to the one place there is, or not at all
        assert seen.head.startswith("POST /v1/chat/completions HTTP/1.1")
        assert f"host: 127.0.0.1:{site.port}" in seen.head.lower()


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=40))
def test_whatever_path_is_asked_for_only_models_are_reached(server: Server, site: Upstream, text: str) -> None:
    site.forget()
    for path in (text, f"chat/completions{text}", f"{text}/chat/completions"):
        line = f"POST /v1/providers/openai/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        server.say(f"{line}Content-Length: 2\r\nContent-Type: application/json\r\n\r\n{{}}".encode())
    for seen in site.seen:
        assert urlsplit(seen.head.split(" ")[1]).path in ("/v1/chat/completions", "/v1/responses")


def test_what_a_client_signs_in_with_goes_nowhere(server: Server, site: Upstream) -> None:
    signs = ["authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization",
             "openai-organization", "x-forwarded-for", "referer", "anthropic-dangerous-direct-browser-access"]  # fmt: skip
    server.ask("POST", CHAT, {"model": "m"}, dict.fromkeys(signs, "mine"))
    (line,) = site.seen
    assert "mine" not in line.head
    assert f"authorization: Bearer {KEY}" in line.head
    assert json.loads(line.body) == {"model": "m"}


@pytest.mark.parametrize("name", ["x-request-id", "request-id", "retry-after", "content-type"])
@pytest.mark.parametrize(
    "said", [KEY, f"Bearer {KEY}", f"a {KEY} b", quote(KEY, safe=""), b64encode(KEY.encode()).decode()]
)
def test_a_key_in_a_header_does_not_come_back(server: Server, site: Upstream, name: str, said: str) -> None:
    site.play = lambda line: line.send(answer(b"{}", "401 No", f"{name}: {said}"))
    found = server.ask("POST", CHAT, {})
    assert found.status == 401
    assert KEY not in str(found.headers)
    assert said not in found.headers[name]
    assert "[redacted]" in found.headers[name]


def test_a_gateway_that_is_away_is_not_named_to_the_page() -> None:
    providers = relayed_providers(ENVIRONMENT, {"openai": "http://secret-gateway.invalid:1/path"})

    class Away(HttpFetch):
        def open(self, request: object) -> object:
            return super().open(request._replace(url="http://127.0.0.1:1/"))  # type: ignore[attr-defined]

    with serving(Model().runtime(), provider_relay_routes(providers, Away(trust_env=False))) as server:
        found = server.ask("POST", CHAT, {})
    assert (found.status, found.code) == (502, "PROVIDER_UNREACHABLE")
    assert b"secret-gateway" not in found.body
    assert KEY.encode() not in found.body
