# ruff: noqa: E501 (JS stands in the strings)
"""A page behind a server that holds the keys: model calls through its pass-through, reads through `proxyUrl`.

The server is agrun_host's own on a socket; all that passes between it and the page is written down, and the key is
never in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.browser.relaying import KEY, Tap, relaying, tapped
from tests.browser.serving import DIST, Site
from tests.browser.test_providers import SCRIPT
from tests.fakes.providers import FakeProviders, Stats
from tests.host.relay.upstream import NAME, Line, Upstream, answer, upstream
from tests.host.serve.server import Server

TOKEN = "a-token-of-the-tests-0123456789"
#: what the page names its provider -> the name under /v1/providers, the header of its keys, the key
DIALECTS = {
    "openai": ("openai", "authorization", f"Bearer {KEY}-o"),
    "openai-responses": ("openai", "authorization", f"Bearer {KEY}-o"),
    "anthropic": ("anthropic", "x-api-key", f"{KEY}-a"),
    "gemini": ("gemini", "x-goog-api-key", f"{KEY}-g"),
}
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)
AGENT = """
    void (window.adder = (name, baseUrl, token) => Agrun.createRuntime({
        provider: {name, model: "m", baseUrl, ...(token ? {apiKey: async () => token} : {}), retry: {maxRetries: 0}},
        actions: [Agrun.defineAction({name: "add", description: "Adds.", tier: 0,
            argsSchema: {a: {type: "integer", required: true}, b: {type: "integer", required: true}},
            execute: ({a, b}) => ({sum: a + b})})],
        snapshot: "off",
    }));
    void (window.reader = (url) => Agrun.createRuntime({
        provider: {name: "scripted", model: "m", settings: {replies: [{toolCalls: [{name: "read_url", args: {url}}]}, {text: "read"}]}},
        actionPolicy: {read_url: "allow"}, proxyUrl: "/v1/fetch", proxyToken: window.token, snapshot: "off",
    }));
"""
ADD = """async ([dialect, baseUrl, token]) => {
    const agent = await adder(dialect, baseUrl, token);
    const result = await agent.run("2 + 3 und 4 + 5?").result;
    await agent.close();
    return result;
}"""
READ = """async (url) => {
    const agent = await reader(url);
    const result = await agent.run("read it").result;
    await agent.close();
    return result.state.toolContext.history[0].output;
}"""
STOP = """async ([make, how]) => {
    const agent = await make();
    const run = agent.run("talk");
    for await (const event of run) {
        if (event.type !== (how.at ?? "text-delta")) continue;
        if (how.seconds) await new Promise((done) => setTimeout(done, how.seconds * 1000));
        if (how.by === "leave") break;
        if (how.by === "close") { void agent.close(); break; }
        run.stop("now");
    }
    await agent.close();
}"""


@dataclass
class Served:
    """A page of a server, the server, the provider and the site behind it."""

    page: Page
    tap: Tap
    token: str | None
    fake: FakeProviders
    site: Upstream

    def script(self, *replies: Any) -> None:
        self.fake.replies = replies
        self.fake.stats = Stats()
        self.fake.seen.clear()

    async def closed(self, count: int = 1, seconds: float = 5) -> None:
        """Waits until so many upstream connections were closed by the relay; fails when they are not."""
        until = time.monotonic() + seconds
        while self.fake.stats.closed < count:
            assert time.monotonic() < until, "the upstream connection is still open"
            await asyncio.sleep(0.01)

    def nothing_leaked(self) -> None:
        """Neither has the key come to the page, nor the token to the provider."""
        assert KEY.encode() not in bytes(self.tap.sent) + bytes(self.tap.given)
        assert TOKEN not in str(self.fake.seen)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def fake() -> AsyncIterator[FakeProviders]:
    async with FakeProviders() as fake:
        yield fake


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=[None, TOKEN], ids=["open", "with a token"])
async def kept(request: pytest.FixtureRequest, browser: Browser, fake: FakeProviders) -> AsyncIterator[Served]:
    """Python is booted once for each of the two."""
    token: str | None = request.param
    with upstream() as site, relaying(fake, token=token, page=DIST) as server:
        async with tapped(server.port) as tap:
            page = await browser.new_page()
            await page.goto(f"{tap.url}/about.html")
            await page.add_script_tag(url="agrun.js")
            await page.evaluate(AGENT)
            await page.evaluate(
                """(token) => {
                    window.token = token ?? undefined;
                    void adder("openai", "/v1/providers/openai").then((agent) => { window.kept = agent; });
                }""",
                token,
            )
            yield Served(page, tap, token, fake, site)
            await page.close()


@pytest.fixture
def served(kept: Served) -> Served:
    kept.tap.forget()
    kept.site.forget()
    kept.script(*SCRIPT)
    return kept


@each_dialect
async def test_a_run_whose_key_only_the_server_has(served: Served, dialect: str) -> None:
    name, header, key = DIALECTS[dialect]
    result = await served.page.evaluate(ADD, [dialect, f"/v1/providers/{name}", served.token])
    assert result["status"] == "completed", result["error"]
    assert result["output"]["text"] == "Fünf und neun 🌊"
    assert [record["output"] for record in result["state"]["toolContext"]["history"]] == [{"sum": 5}, {"sum": 9}]
    assert [request.headers[header] for request in served.fake.seen] == [key, key]
    assert f"/v1/providers/{name}/".encode() in served.tap.sent
    served.nothing_leaked()


@pytest.mark.parametrize("by", ["stop", "leave", "close"])
@each_dialect
async def test_a_stop_in_the_page_closes_the_call_of_the_provider(served: Served, dialect: str, by: str) -> None:
    served.script({"text": "one two three four five six", "stallAfter": 6})
    name = DIALECTS[dialect][0]
    make = f"adder({dialect!r}, '/v1/providers/{name}', {served.token!r})".replace("None", "null")
    await served.page.evaluate(f"([how]) => ({STOP})([() => {make}, how])", [{"by": by}])
    await served.closed()
    assert served.fake.stats.bytes_after_close == 0
    served.nothing_leaked()


@each_dialect
async def test_what_the_provider_refuses_is_told_without_the_key(served: Served, dialect: str) -> None:
    name, _, key = DIALECTS[dialect]
    body = f'{{"error": {{"message": "Incorrect API key provided: {key.removeprefix("Bearer ")}", "type": "x"}}}}'
    served.script({"error": {"status": 401, "body": body}})
    result = await served.page.evaluate(ADD, [dialect, f"/v1/providers/{name}", served.token])
    assert result["status"] == "failed"
    assert "Incorrect API key" in result["error"]["message"]
    served.nothing_leaked()


@each_dialect
async def test_a_page_that_does_not_know_the_token_is_told(served: Served, dialect: str) -> None:
    """And where there is none, what the page signs in with goes nowhere."""
    base_url = f"/v1/providers/{DIALECTS[dialect][0]}"
    for wrong in (None, "not-the-token-of-this-server"):
        result = await served.page.evaluate(ADD, [dialect, base_url, wrong])
        if served.token is None:
            assert result["status"] == "completed"
        else:
            assert result["status"] == "failed"
            assert "token" in result["error"]["message"]
    assert bool(served.fake.seen) == (served.token is None)
    assert "not-the-token" not in str(served.fake.seen)


async def test_a_read_goes_through_the_proxy_and_says_where_it_ended(served: Served) -> None:
    def play(line: Line) -> None:
        if line.head.startswith("GET / "):
            line.send(answer(b"", "302 Found", "location: /there"))
        else:
            line.send(answer(b"<title>T</title><p>What the site says.</p>", "200 OK", "content-type: text/html"))

    served.site.play = play
    output = await served.page.evaluate(READ, f"http://{NAME}:{served.site.port}/")
    assert output["ok"], output
    assert "What the site says." in output["text"]
    assert output["finalUrl"].endswith(f":{served.site.port}/there")
    assert len(served.site.seen) == 2
    for line in served.site.seen:
        assert TOKEN not in line.head
        assert "authorization" not in line.head.lower()
        assert "cookie" not in line.head.lower()
        assert "referer" not in line.head.lower()


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/again", "too_many_redirects"), ("/file", "network_or_cors"), ("/zip", "decode_error"), ("/gone", "http_error")],
)
async def test_the_page_is_told_what_kind_of_failure_it_was(served: Served, path: str, kind: str) -> None:
    said = {
        "/again": answer(b"", "302 Found", "location: /again"),
        "/file": answer(b"", "302 Found", "location: file:///etc/passwd"),
        "/zip": answer(b"x", "200 OK", "content-encoding: br"),
        "/gone": answer(b"gone", "410 Gone"),
    }
    served.site.play = lambda line: line.send(said[line.head.split(" ")[1]])
    output = await served.page.evaluate(READ, f"http://{NAME}:{served.site.port}{path}")
    assert (output["ok"], output["error"]) == (False, kind), output
    assert output["message"]


@pytest.mark.parametrize("wrong", [None, "not-the-token-of-this-server"])
async def test_a_proxy_that_wants_another_token_is_not_taken_for_the_site(served: Served, wrong: str | None) -> None:
    await served.page.evaluate("(token) => { window.token = token ?? undefined; }", wrong)
    output = await served.page.evaluate(READ, f"http://{NAME}:{served.site.port}/")
    await served.page.evaluate("(token) => { window.token = token ?? undefined; }", served.token)
    if served.token is None:
        assert output["ok"], output
        assert "not-the-token" not in served.site.seen[0].head
        return
    assert (output["ok"], output["error"]) == (False, "network_or_cors"), output
    assert "token is missing or wrong" in output["message"]
    assert "proxyToken" in output["message"]
    assert served.site.seen == []


async def test_a_stop_in_the_page_closes_the_read(served: Served) -> None:
    left: list[float] = []

    def play(line: Line) -> None:
        line.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nhello")
        began = time.monotonic()
        if line.wait_until_left(20):
            left.append(time.monotonic() - began)

    served.site.play = play
    how = {"by": "stop", "at": "action-executing", "seconds": 0.5}
    make = f"reader('http://{NAME}:{served.site.port}/')"
    await served.page.evaluate(f"([how]) => ({STOP})([() => {make}, how])", [how])
    for _ in range(200):
        if left:
            break
        await asyncio.sleep(0.01)
    assert left, "the connection is still open"
    assert left[0] < 5, "it was the stop that closed it, and not the read's own limit"


@pytest.fixture(scope="module")
def elsewhere(fake: FakeProviders, site: Site) -> Iterator[Server]:
    """A server with a token that allows pages of `site`, another origin."""
    with relaying(fake, token=TOKEN, origins=(site.origin,)) as server:
        yield server


@each_dialect
async def test_a_page_of_another_origin_that_is_allowed(
    page: Page, elsewhere: Server, fake: FakeProviders, dialect: str
) -> None:
    """The headers of each dialect pass the preflight, too."""
    fake.replies, fake.stats = SCRIPT, Stats()
    fake.seen.clear()
    name, header, key = DIALECTS[dialect]
    await page.evaluate(AGENT)
    result = await page.evaluate(ADD, [dialect, f"http://127.0.0.1:{elsewhere.port}/v1/providers/{name}", TOKEN])
    assert result["status"] == "completed", result["error"]
    assert [request.headers[header] for request in fake.seen] == [key, key]
    assert TOKEN not in str(fake.seen)
