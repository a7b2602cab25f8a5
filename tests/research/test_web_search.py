"""web_search: the query verbatim, the limit, clean results, failures as values; and the SearXNG endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.config import WebSearchConfig
from agrun_wasm.contracts.effects import SearchDone
from agrun_wasm.contracts.ports import SearchProvider
from agrun_wasm.research.web_search import web_search_action
from tests.clock import FakeClock
from tests.research.fakes import FakeFetch, Page, built_in_context, run_state

ENDPOINT = "https://search.example/search?lang=nl"
RESULT = {"title": "Veer", "url": "https://veer.example/p", "snippet": "Twee keer per uur."}


class FakeSearch:
    def __init__(self, answer: Any = None) -> None:
        self.answer = [RESULT] if answer is None else answer
        self.asked: list[tuple[str, int]] = []

    async def search(self, query: str, limit: int) -> list[Mapping[str, Any]]:
        self.asked.append((query, limit))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def run(action: Action, args: dict[str, Any], prompt: str = "Hoe vaak gaat de pont?") -> dict[str, Any]:
    result = await action.execute(built_in_context(run_state(prompt)), args)
    assert result["control"] == "continue"
    json.dumps(result["output"])
    return result  # type: ignore[no-any-return]


def with_provider(provider: SearchProvider | None) -> Action:
    return web_search_action(provider, None, FakeClock())


def with_endpoint(page: Page, **config: Any) -> tuple[Action, FakeFetch]:
    clock = FakeClock()

    class AnyUrl(dict[str, Page]):
        def get(self, key: str, default: Any = None) -> Page:
            return page

    fetch = FakeFetch(AnyUrl(), clock)
    return web_search_action(WebSearchConfig(endpoint=ENDPOINT, **config), fetch, clock), fetch


def json_page(value: Any, **fields: Any) -> Page:
    return Page(json.dumps(value).encode(), headers={"content-type": "application/json"}, **fields)


def test_definition() -> None:
    action = with_provider(FakeSearch())
    assert (action.name, action.tier, action.aliases) == ("web_search", 1, ["search"])
    assert action.args_schema is not None
    assert not any(spec.required for spec in action.args_schema.values())
    permission = action.permission
    assert (permission.effect, permission.is_read_only, permission.is_concurrency_safe) == (
        "external_network",
        True,
        True,
    )
    assert (permission.needs_approval, permission.is_destructive) == (True, False)


@pytest.mark.parametrize("provider", [FakeSearch(), None])
def test_it_is_offered_only_with_a_search(provider: FakeSearch | None) -> None:
    action = with_provider(provider)
    assert action.built_in is not None
    assert action.built_in.capability == "web_research"
    assert action.built_in.offered is not None
    assert action.built_in.offered(run_state()) is (provider is not None)


@pytest.mark.parametrize(
    ("args", "query", "limit"),
    [
        ({"query": '  pont "Kruiningen" -trein  site:.nl? '}, '  pont "Kruiningen" -trein  site:.nl? ', 5),
        ({}, "Hoe vaak gaat de pont?", 5),
        ({"query": " \n"}, "Hoe vaak gaat de pont?", 5),
        ({"query": "x", "limit": 2}, "x", 2),
        ({"query": "x", "limit": 2.0}, "x", 2),
        ({"query": "x", "limit": 0}, "x", 5),
        ({"query": "x", "limit": 12}, "x", 12),
    ],
)
async def test_what_a_provider_is_asked(args: dict[str, Any], query: str, limit: int) -> None:
    search = FakeSearch()
    result = await run(with_provider(search), args)
    assert search.asked == [(query, limit)]
    assert isinstance(search.asked[0][1], int)
    assert result["output"] == {"kind": "web_search_result", "ok": True, "query": query, "results": [RESULT]}
    assert result["effects"] == [SearchDone([RESULT])]
    assert result["summary"] == "found 1 result"


async def test_results_are_cleaned_and_cut() -> None:
    dirty = [
        {"title": "A", "url": " https://a.example/ ", "snippet": "s", "score": 1},
        {"title": None, "url": "HTTP://b.example", "content": "from content"},
        {"title": "no URL"},
        {"title": "script", "url": "javascript:alert(1)"},
        {"title": "file", "url": "file:///etc/hostname"},
        "text",
        {"title": "C", "url": "https://c.example"},
    ]
    result = await run(with_provider(FakeSearch(dirty)), {"query": "x", "limit": 2})
    assert result["output"]["results"] == [
        {"title": "A", "url": "https://a.example/", "snippet": "s"},
        {"title": "", "url": "HTTP://b.example", "snippet": "from content"},
    ]


@pytest.mark.parametrize(
    ("answer", "error"),
    [(RuntimeError("quota\nis spent"), "search_failed"), ({"results": []}, "bad_response"), ("text", "bad_response")],
)
async def test_a_provider_that_fails_is_a_search_without_results(answer: Any, error: str) -> None:
    result = await run(with_provider(FakeSearch(answer)), {"query": "x"})
    output = result["output"]
    assert (output["ok"], output["error"], output["results"]) == (False, error, [])
    assert output["message"]
    assert "effects" not in result
    if isinstance(answer, Exception):
        assert output["message"] == "RuntimeError: quota is spent"


async def test_without_a_search_the_call_fails_as_a_value() -> None:
    output = (await run(with_provider(None), {}))["output"]
    assert (output["ok"], output["error"]) == (False, "not_configured")


async def test_the_endpoint_is_asked_in_searxng_form() -> None:
    answer = {"query": "x", "results": [{"title": "T", "url": "https://t.example", "content": "C", "engine": "e"}]}
    action, fetch = with_endpoint(json_page(answer), headers={"Authorization": "Bearer s3cr3t"}, limit=7)
    result = await run(action, {"query": "peat & bog?", "limit": 50})
    (request,) = fetch.requests
    url = urlsplit(request.url)
    assert (url.scheme, url.netloc, url.path) == ("https", "search.example", "/search")
    assert parse_qs(url.query) == {"lang": ["nl"], "q": ["peat & bog?"], "limit": ["7"], "format": ["json"]}
    assert (request.method, request.purpose, request.body) == ("GET", "search", None)
    assert request.headers == {"Authorization": "Bearer s3cr3t", "Accept": "application/json"}
    assert result["output"]["results"] == [{"title": "T", "url": "https://t.example", "snippet": "C"}]
    assert "s3cr3t" not in json.dumps(result["output"])
    assert fetch.open_now == 0


async def test_the_configured_limit_is_a_ceiling_and_the_default() -> None:
    results = [{"title": str(n), "url": f"https://x.example/{n}"} for n in range(9)]
    for asked, count in [({}, 3), ({"limit": 9}, 3), ({"limit": 1}, 1)]:
        action, _ = with_endpoint(json_page({"results": results}), limit=3)
        assert len((await run(action, {"query": "x"} | asked))["output"]["results"]) == count


@pytest.mark.parametrize(
    ("page", "error", "mentions"),
    [
        (Page(b"", status=503), "http_error", "503"),
        (Page(b"", status=401), "http_error", "401"),
        (Page(error="network_or_cors"), "network_or_cors", "fake"),
        (Page(body=[b'{"results":'], body_error="network_or_cors"), "network_or_cors", "fake"),
        (Page(b"<html>"), "decode_error", "not JSON"),
        (json_page([]), "decode_error", "results"),
        (json_page({"results": None}), "decode_error", "results"),
        (Page(b"x" * 2_000_001), "decode_error", "longer"),
        (json_page({"results": []}, head_delay_ms=20_000), "timeout", "10000 ms"),
    ],
)
async def test_an_endpoint_that_fails_is_a_value(page: Page, error: str, mentions: str) -> None:
    action, fetch = with_endpoint(page, headers={"X-Key": "s3cr3t"})
    output = (await run(action, {"query": "x"}))["output"]
    assert (output["ok"], output["error"]) == (False, error)
    assert mentions in output["message"]
    assert "s3cr3t" not in json.dumps(output)
    assert fetch.open_now == 0


async def test_a_byte_order_mark_is_no_fault() -> None:
    action, _ = with_endpoint(Page(b"\xef\xbb\xbf" + json.dumps({"results": [RESULT]}).encode()))
    assert (await run(action, {"query": "x"}))["output"]["results"] == [RESULT]
