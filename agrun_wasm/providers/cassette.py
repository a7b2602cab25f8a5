"""Cassettes at the fetch border: a port that records what another one does, and one that plays it again.

Above this border stand every dialect's own request and parser, so a replay takes the path of the real thing. Owned
here: recording with chunk borders, finding the exchange again, a miss told with its nearest neighbour. Must not know:
files (`agrun_host.cassette` has them), and what a request is for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, cast

from agrun_wasm.contracts.errors import AgrunError, ProviderError
from agrun_wasm.contracts.ports import Clock, Fetch, FetchError, FetchFailureKind, FetchRequest, FetchResponse
from agrun_wasm.providers.cassette_request import canonical_request, differences
from agrun_wasm.providers.cassette_secrets import CassetteSecrets
from agrun_wasm.providers.cassette_text import Exchange, exchange_text, write_text

__all__ = ["CassetteMiss", "RecordingFetch", "ReplayingFetch"]

#: what an answer's reader can depend on; others are the server's own affair, or sign somebody in
_KEPT_ANSWER_HEADERS = frozenset({"content-type", "content-language", "retry-after", "retry-after-ms", "location"})


class CassetteMiss(AgrunError):
    """A request that the cassette does not hold (any more). `details`: request, nearest, differences."""

    code = "CASSETTE_MISS"


class RecordingFetch:
    """Passes every call on to `fetch`, and keeps what came. With a `clock` the waits between chunks are kept too.

    `on_end` is called when a call is over, for whoever keeps the recording as it grows: with the text of that call and
    False, or with the text of all that are over and True, where a secret has come up that earlier ones may hold.
    """

    def __init__(
        self,
        fetch: Fetch,
        *,
        secrets: Iterable[str] = (),
        clock: Clock | None = None,
        on_end: Callable[[str, bool], None] | None = None,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._secrets = CassetteSecrets(secrets)
        self._exchanges: list[Exchange] = []
        #: the ids of those that are over
        self._over: set[int] = set()
        self._on_end = on_end
        #: how many secrets were known when a call was told of last
        self._known = -1

    @property
    def platform(self) -> Literal["browser", "host"]:
        return self._fetch.platform

    def open(self, request: FetchRequest) -> AbstractAsyncContextManager[FetchResponse]:
        return self._recorded(request)

    def text(self) -> str:
        """The cassette so far, without any secret that was seen, in the order in which the calls began."""
        return write_text(self._clean(exchange) for exchange in self._exchanges)

    def _tell(self, exchange: Exchange) -> None:
        self._over.add(id(exchange))
        if self._on_end is None:
            return
        known, self._known = self._known, self._secrets.count
        if known == self._known:
            self._on_end(exchange_text(self._clean(exchange)), False)
        else:
            over = [exchange for exchange in self._exchanges if id(exchange) in self._over]
            self._on_end(write_text(self._clean(exchange) for exchange in over), True)

    @asynccontextmanager
    async def _recorded(self, request: FetchRequest) -> AsyncIterator[FetchResponse]:
        self._secrets.learn(request)
        exchange = Exchange(canonical_request(request), end="left")
        self._exchanges.append(exchange)
        try:
            async with self._fetch.open(request) as response:
                exchange.head = {
                    "status": response.status,
                    "statusText": response.status_text,
                    "headers": {
                        name: value for name, value in response.headers.items() if name in _KEPT_ANSWER_HEADERS
                    },
                    "url": response.url,
                }
                yield _Recorded(response, exchange, self._clock)
        except FetchError as fault:
            exchange.end = {"kind": fault.kind, "message": fault.message}
            raise
        finally:
            self._tell(exchange)

    def _clean(self, exchange: Exchange) -> Exchange:
        bodies = self._secrets.chunks([chunk for chunk, _ in exchange.chunks]) if exchange.chunks else []
        waits = [wait for _, wait in exchange.chunks]
        waits += [None if self._clock is None else 0.0] * (len(bodies) - len(waits))
        return Exchange(
            self._secrets.value(exchange.request),
            self._secrets.value(exchange.head),
            [(body, wait) for body, wait in zip(bodies, waits, strict=False) if body],
            self._secrets.value(exchange.end),
        )


class _Recorded:
    """A response that is passed on, its chunks kept."""

    def __init__(self, response: FetchResponse, exchange: Exchange, clock: Clock | None) -> None:
        self.status = response.status
        self.status_text = response.status_text
        self.headers: Mapping[str, str] = response.headers
        self.url = response.url
        self._response = response
        self._exchange = exchange
        self._clock = clock

    async def chunks(self) -> AsyncIterator[bytes]:
        before = self._now()
        chunks = self._response.chunks()
        try:
            async for chunk in chunks:
                now = self._now()
                self._exchange.chunks.append((chunk, None if now is None or before is None else now - before))
                yield chunk
                before = self._now()
            self._exchange.end = "complete"
        except FetchError as fault:
            self._exchange.end = {"kind": fault.kind, "message": fault.message}
            raise
        finally:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()

    def _now(self) -> float | None:
        return None if self._clock is None else self._clock.now()


class ReplayingFetch:
    """Answers from recorded exchanges alone: equal requests in the order in which they were recorded.

    With a `clock` the recorded waits are kept to. A miss is a failed call for the run (PROVIDER_BAD_RESPONSE where the
    model was asked, a failed read elsewhere), and stands in `misses`.
    """

    platform: Literal["browser", "host"] = "host"

    def __init__(
        self, exchanges: Iterable[Exchange], *, secrets: Iterable[str] = (), clock: Clock | None = None
    ) -> None:
        self._clock = clock
        self._secrets = CassetteSecrets(secrets)
        self._all = list(exchanges)
        self._left: dict[str, list[Exchange]] = defaultdict(list)
        for exchange in self._all:
            self._left[exchange.key].append(exchange)
        self.misses: list[CassetteMiss] = []

    @property
    def unused(self) -> list[dict[str, Any]]:
        """The recorded requests that nobody made."""
        return [exchange.request for exchanges in self._left.values() for exchange in exchanges]

    def open(self, request: FetchRequest) -> AbstractAsyncContextManager[FetchResponse]:
        return self._replayed(request)

    @asynccontextmanager
    async def _replayed(self, request: FetchRequest) -> AsyncIterator[FetchResponse]:
        exchange = self._take(request)
        if exchange.head is None:
            raise _ending(exchange)
        yield _Replayed(exchange, self._clock)

    def _take(self, request: FetchRequest) -> Exchange:
        self._secrets.learn(request)
        asked = self._secrets.value(canonical_request(request))
        same = self._left.get(Exchange(asked).key)
        if same:
            return same.pop(0)
        miss = self._miss(asked, known=same is not None)
        self.misses.append(miss)
        if request.purpose == "model":
            details = {"reason": "cassette_miss", **miss.details}
            raise ProviderError("PROVIDER_BAD_RESPONSE", miss.message, hint=miss.hint, details=details)
        raise FetchError("network_or_cors", miss.message, url=request.url)

    def _miss(self, asked: dict[str, Any], *, known: bool) -> CassetteMiss:
        what = f"{asked['method']} {asked['url']}"
        if known:
            times = sum(Exchange(asked).key == exchange.key for exchange in self._all)
            return CassetteMiss(
                f"the cassette holds {what} {times} times, and it was asked once more", details={"request": asked}
            )
        compared = [(differences(exchange.request, asked, limit=10_000), exchange) for exchange in self._all]
        if not compared:
            return CassetteMiss(f"the cassette is empty, and {what} was asked", details={"request": asked})
        _, nearest = min(compared, key=lambda pair: len(pair[0]))
        shown = differences(nearest.request, asked)
        rows = "\n  ".join(shown)
        return CassetteMiss(
            f"the cassette does not hold {what}; the nearest recorded request is number "
            f"{self._all.index(nearest) + 1}, which differs in\n  {rows}",
            hint="Record the cassette again if the request is meant to be another one.",
            details={"request": asked, "nearest": nearest.request, "differences": shown},
        )


class _Replayed:
    def __init__(self, exchange: Exchange, clock: Clock | None) -> None:
        head = exchange.head or {}
        self.status: int = head["status"]
        self.status_text: str = head["statusText"]
        self.headers: Mapping[str, str] = head["headers"]
        self.url: str = head["url"]
        self._exchange = exchange
        self._clock = clock

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk, after in self._exchange.chunks:
            if self._clock is not None and after:
                await self._clock.sleep(after)
            yield chunk
        if self._exchange.end != "complete":
            raise _ending(self._exchange)


def _ending(exchange: Exchange) -> FetchError:
    """How a call ended that did not end well."""
    url = str(exchange.request["url"])
    if isinstance(exchange.end, dict):
        return FetchError(cast("FetchFailureKind", exchange.end["kind"]), exchange.end["message"], url=url)
    return FetchError("network_or_cors", "the recording of this call ends here: nobody had read further", url=url)
