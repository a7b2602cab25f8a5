"""e-read-url: read_url in a real run, over a fetch port that serves the responses and follows redirects (2.10)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

from agrun_wasm.contracts.ports import FetchError, FetchRequest
from agrun_wasm.text.urls import check_public_url
from tests.cases.expect import READ_ERRORS, Actual, equal
from tests.clock import FakeClock
from tests.conformance.scenario import perform
from tests.conformance.web import FakeFetch, FakeResponse
from tests.conformance.world import World

_MAX_REDIRECTS = 5


async def actual(item: Mapping[str, Any]) -> Actual:
    """The read_url_result that lands in the run's state."""
    fetch = ServedPages(item)
    result = await result_over(fetch, item)
    hosts = {urlsplit(asked["url"]).hostname for asked in fetch.requests}
    cited = result.value.get("text", "").splitlines() if result.ok and result.value.get("ok") else []
    return replace(result, facts={"asked": [f"a request to {host}" for host in hosts], "cited_as_evidence": cited})


async def result_over(fetch: Any, item: Mapping[str, Any]) -> Actual:
    """What read_url gives for `url`, `mode` and `max_bytes` over a fetch port."""
    given = {"url": item["url"], "mode": item.get("mode"), "maxBytes": item.get("max_bytes")}
    scenario = {
        "config": {"actionPolicy": {"read_url": "allow"}, "research": {"autoRead": 0}},
        "model": [
            {"toolCalls": [{"name": "read_url", "args": {k: v for k, v in given.items() if v is not None}}]},
            {"text": "Read."},
        ],
        "run": {"prompt": "Read the page."},
    }
    (record,) = await perform(scenario, World(scenario, fetch))
    if record["raised"]:
        return Actual(error=record["raised"]["code"] or record["raised"]["type"], message=record["raised"]["message"])
    results = (record["runState"]["researchContext"] or {}).get("readSources") or [{"error": "no result"}]
    return Actual(results[-1])


def compare(expected: Any, actual: Any) -> list[str]:
    """The fields that a case names, and its own words for what a text holds and which errors will do."""
    faults: list[str] = []
    for key, value in expected.items():
        if key == "text_contains":
            faults += [f"text lacks {part!r}" for part in value if part not in actual.get("text", "")]
        elif key == "text_lacks":
            faults += [f"text holds {part!r}" for part in value if part in actual.get("text", "")]
        elif key == "message_mentions":
            words = [value] if isinstance(value, str) else value
            faults += [f"message lacks {w!r}" for w in words if w.lower() not in str(actual.get("message")).lower()]
        elif key == "error_any_of":
            right = {ours for name in value for ours in READ_ERRORS.get(name, (name,))}
            faults += [] if actual.get("error") in right else [f"error: none of {sorted(right)}"]
        elif key == "json" and "json" not in actual:
            faults += equal(value, _parsed(actual.get("text")), key)
        elif key == "never":
            faults += [f"error: never {word}" for word in value if word == actual.get("error")]
        else:
            faults += equal(value, actual.get(key), key)
    return faults


def _parsed(text: Any) -> Any:
    """A JSON page's value: 2.10 gives its text, which a case writes out."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


class ServedPages(FakeFetch):
    """The case's responses as a fetch port: redirects are followed as ports must, each target checked again.

    `resolve` maps a host to the addresses its name leads to; a port that resolves names checks every one of them.
    """

    def __init__(self, item: Mapping[str, Any]) -> None:
        super().__init__([_page(response) for response in item.get("responses", [])], FakeClock())
        self.platform: Literal["browser", "host"] = item.get("transport", "host")
        self._resolve: Mapping[str, Sequence[str]] = item.get("resolve", {})

    @asynccontextmanager
    async def open(self, request: FetchRequest) -> AsyncIterator[FakeResponse]:
        url = request.url
        for hop in range(_MAX_REDIRECTS + 1):
            self._check(url, hop)
            async with super().open(request._replace(url=url)) as response:
                place = response.headers.get("location")
                if not (300 <= response.status < 400 and place):
                    yield response
                    return
            url = urljoin(url, place)
            await asyncio.sleep(0)
        raise FetchError("too_many_redirects", f"more than {_MAX_REDIRECTS} redirects", url=request.url)

    def _check(self, url: str, hop: int) -> None:
        addresses = self._resolve.get(urlsplit(url).hostname or "", [])
        spelled = [f"http://{f'[{address}]' if ':' in address else address}/" for address in addresses]
        if any(check_public_url(place) for place in (url, *spelled)):
            raise FetchError("redirect_private" if hop else "private_address", "the address is private", url=url)


def _page(response: Mapping[str, Any]) -> dict[str, Any]:
    page = {key: value for key, value in response.items() if key != "body_b64"}
    return {**page, "bodyBase64": response.get("body_b64", "")}
