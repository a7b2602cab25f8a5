"""An answer from elsewhere on its way through this server to a client: piece by piece, no faster than it is taken.

Owned here: that the call ends with the client, at any moment and before an answer too; how long it may last and how
much it may bring. Must not know: whose answer it is, and what of it is passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from agrun_host.serve.problems import Refused
from agrun_wasm.contracts.ports import Fetch, FetchError, FetchRequest, FetchResponse

__all__ = ["INERT", "PassedOn"]

#: what comes from elsewhere can do nothing on this server's origin, however it is opened
INERT = {
    "cache-control": "no-store",
    "content-disposition": "attachment",
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
}
#: those that servers of HTTP can say; there are sites that answer 999
_STATUSES = range(200, 600)

Pieces = AsyncIterator[bytes]


@dataclass
class PassedOn:
    """An ASGI answer: the one to `asked`.

    `headers` says which headers of it are passed on, `refused` how a call without an answer is told, `through` what the
    body goes through. The whole of it, a slow reader's time included, takes at most `seconds`, its body at most
    `most_bytes`. Raises Refused before the answer begins, ConnectionAbortedError after: a body that just ended would
    pass for a whole one.
    """

    fetch: Fetch
    asked: FetchRequest
    headers: Callable[[FetchResponse], dict[str, str]]
    refused: Callable[[FetchError], Refused]
    seconds: float
    most_bytes: int
    through: Callable[[Pieces], Pieces] = lambda pieces: pieces

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        passing = asyncio.ensure_future(self._pass(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            (passing if passing.done() else leaving).result()
        finally:
            passing.cancel()
            leaving.cancel()
            await asyncio.gather(passing, leaving, return_exceptions=True)

    async def _pass(self, send: Send) -> None:
        begun = False
        try:
            async with asyncio.timeout(self.seconds), self.fetch.open(self.asked) as answer:
                pieces = self.through(self._limited(answer.chunks()))
                if answer.status not in _STATUSES:
                    raise Refused(502, "STATUS_INVALID", f"the answer has the status {answer.status}, which is none")
                begun = True
                await send(_head(answer.status, self.headers(answer)))
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except TimeoutError as error:
            fault = FetchError("timeout", f"no whole answer came within {self.seconds:g} s", url=self.asked.url)
            raise self._ended(fault, begun=begun) from error
        except FetchError as error:
            raise self._ended(error, begun=begun) from error

    def _ended(self, fault: FetchError, *, begun: bool) -> Exception:
        return ConnectionAbortedError(f"the answer broke off ({fault.kind})") if begun else self.refused(fault)

    async def _limited(self, pieces: Pieces) -> Pieces:
        taken = 0
        async for piece in pieces:
            taken += len(piece)
            if taken > self.most_bytes:
                raise ConnectionAbortedError(f"the answer has more than {self.most_bytes} bytes")
            yield piece


def _head(status: int, headers: dict[str, str]) -> dict[str, object]:
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": lines}


async def _left(receive: Receive) -> None:
    """Waits until the client is gone. Raises Refused for a body that is too large, or too slow."""
    while (await receive())["type"] != "http.disconnect":
        pass
