"""A fetch port that serves prepared pages, and the context a built-in action gets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urljoin

from agrun_wasm.actions.context import BuiltInContext
from agrun_wasm.contracts.ports import Clock, FetchError, FetchFailureKind, FetchRequest
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.state import Budgets, RunState
from agrun_wasm.text.urls import check_public_url


@dataclass
class Page:
    """What is served for a URL. `final` is where it says it came from; delays are waited for on the clock."""

    body: bytes | list[bytes] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: FetchFailureKind | None = None
    body_error: FetchFailureKind | None = None
    final: str | None = None
    head_delay_ms: float = 0
    chunk_delay_ms: float = 0
    screenshot_data_url: str | None = None
    screenshot_mime_type: str | None = None


class FakeFetch:
    """Serves `pages`, any other URL is a network error. Redirects are followed and checked as a port must."""

    platform: Literal["browser", "host"] = "host"

    def __init__(self, pages: Mapping[str, Page], clock: Clock | None = None) -> None:
        self.pages = pages
        self.clock = clock
        self.requests: list[FetchRequest] = []
        self.chunks_served = 0
        self.open_now = 0

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.requests]

    @asynccontextmanager
    async def open(self, request: FetchRequest) -> AsyncIterator[FakeResponse]:
        self.requests.append(request)
        self.open_now += 1
        try:
            page, url = self._served(request.url)
            await self.wait(page.head_delay_ms)
            if page.error:
                raise FetchError(page.error, f"fake {page.error}", url=url)
            yield FakeResponse(self, page, page.final or url)
        finally:
            self.open_now -= 1

    def _served(self, url: str) -> tuple[Page, str]:
        while True:
            page = self.pages.get(url)
            if page is None:
                raise FetchError("network_or_cors", f"no answer from {url}", url=url)
            if not (300 <= page.status < 400 and "location" in page.headers):
                return page, url
            url = urljoin(url, page.headers["location"])
            if check_public_url(url):
                raise FetchError("redirect_private", f"redirected to {url}", url=url)

    async def wait(self, ms: float) -> None:
        if ms and self.clock:
            await self.clock.sleep(ms)


class FakeResponse:
    def __init__(self, fetch: FakeFetch, page: Page, url: str) -> None:
        self._fetch = fetch
        self._page = page
        self.status = page.status
        self.status_text = {200: "OK", 404: "Not Found", 403: "Forbidden"}.get(page.status, "")
        self.headers = page.headers
        self.url = url
        if page.screenshot_data_url:
            self.screenshot_data_url = page.screenshot_data_url
            self.screenshot_mime_type = page.screenshot_mime_type

    async def chunks(self) -> AsyncIterator[bytes]:
        body = self._page.body
        for chunk in [body] if isinstance(body, bytes) else body:
            await self._fetch.wait(self._page.chunk_delay_ms)
            self._fetch.chunks_served += 1
            yield chunk
        if self._page.body_error:
            raise FetchError(self._page.body_error, f"fake {self._page.body_error}")


class NeverCancelled:
    cancelled = False


def run_state(prompt: str = "hi", **fields: Any) -> RunState:
    return RunState(
        run_id="run-1", session_id="session-1", request=RunInput(prompt=prompt), budgets=Budgets(steps_left=8), **fields
    )


def built_in_context(state: RunState | None = None, key: str = "run-1:1") -> BuiltInContext:
    return BuiltInContext(idempotency_key=key, cancel=NeverCancelled(), _state=state or run_state())
