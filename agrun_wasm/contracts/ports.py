"""Ports: everything the core needs of the world, as protocols. Adapters stand in `browser/` and `agrun_host`.

A run is cancelled by cancelling its task: every port lets `asyncio.CancelledError` pass and frees what it holds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from agrun_wasm.contracts.model import ModelEvent, ModelRequest

FetchFailureKind = Literal[
    "aborted", "timeout", "network_or_cors", "private_address", "redirect_private", "too_many_redirects", "decode_error"
]

#: how a relay (`proxyUrl`) says which URL its redirects led to, and that it has no answer: the kind of failure
FINAL_URL = "x-agrun-final-url"
FETCH_FAILURE = "x-agrun-fetch-failure"


class FetchRequest(NamedTuple):
    """One HTTP request. `timeout_ms` bounds the time to the response's head and each wait for a chunk.

    `purpose` "model" is a call the host configured (any address); "read" and "search" come from the model's wishes:
    a port that can resolve names refuses every non-public address for "read", on each redirect again.
    """

    method: str
    url: str
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes | None = None
    timeout_ms: float | None = None
    purpose: Literal["model", "search", "read"] = "model"


class FetchResponse(Protocol):
    """A response whose head has come. Header names are lower case. `url` is the final one, after redirects."""

    @property
    def status(self) -> int: ...

    @property
    def status_text(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def url(self) -> str: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, after content decoding. Raises FetchError."""
        ...


class FetchError(Exception):
    """No (more) response. `kind` aborted only where our own side cut the call; `message` says what to do.

    `relayed`: the call went through a relay (`proxyUrl`), so that CORS of the site called is not the reason.
    """

    def __init__(self, kind: FetchFailureKind, message: str, *, url: str = "", relayed: bool = False) -> None:
        super().__init__(message)
        self.relayed = relayed
        self.kind = kind
        self.message = message
        self.url = url


class Fetch(Protocol):
    """`async with fetch.open(request) as response:`; leaving the block closes the connection, however it is left."""

    @property
    def platform(self) -> Literal["browser", "host"]: ...

    def open(self, request: FetchRequest) -> AbstractAsyncContextManager[FetchResponse]: ...


class Clock(Protocol):
    """Time, in milliseconds. `now` is the wall clock since the epoch; `sleep` is the only way to wait."""

    def now(self) -> float: ...

    async def sleep(self, ms: float) -> None: ...


class Ids(Protocol):
    """New ids. Only runs and sessions draw one; every other id derives from the run's and a sequence number."""

    def new(self, kind: Literal["run", "session"]) -> str: ...


class Store(Protocol):
    """Saved states by run id, sessions by session id, and which approvals were used. All values are JSON; a store reads
    what it is given and changes nothing of it.

    A store that others write to raises StateConflict instead of overwriting what it has not given or taken itself.
    """

    async def save_run(self, run_id: str, state: Mapping[str, Any]) -> None:
        """Saves a run's state whole, in place of the one before and of what was added to that one's journal."""
        ...

    async def add_to_run(self, run_id: str, entry: Mapping[str, Any]) -> None:
        """Adds an entry to the `journal` list of the saved state; far smaller, and far more often, than a state."""
        ...

    async def load_run(self, run_id: str) -> Mapping[str, Any] | None:
        """The state that was saved last, its `journal` followed by the entries that were added to it, in order."""
        ...

    async def save_session(self, session_id: str, history: list[Any]) -> None: ...

    async def load_session(self, session_id: str) -> list[Any] | None: ...

    async def use_approvals(self, approval_ids: list[str], run_id: str, state: Mapping[str, Any]) -> str | None:
        """Marks the approvals as used and saves the run's state, both or neither: gives the first id that was used
        before, and has then changed nothing. Atomic."""
        ...


class SharedStore(Store, Protocol):
    """A store that other processes use at the same time: it also gives the turn of a session to one of them."""

    async def hold_session(self, session_id: str, wait: bool) -> Callable[[], None] | None:
        """Takes the session's turn; gives the function that gives it on. None: another has it, and `wait` is False."""
        ...


class Journal(Protocol):
    """What finished calls of models and actions gave, so that none is made again after a crash; a durable engine.

    Keys derive from the run's id and a sequence. Without such a port the run's saved state is the journal.
    """

    async def once(self, key: str, call: Callable[[], Awaitable[Any]]) -> Any:
        """What was recorded for `key`, or else the JSON value of `call()`, recorded before it is given.

        An exception of `call` passes through, and records nothing.
        """
        ...


class ModelProvider(Protocol):
    """A transport to a language model: an async generator (or a coroutine that gives an async iterator) of events.

    Raises ProviderError. Closing the iterator, or cancelling the task in it, closes the connection at once.
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent] | Awaitable[AsyncIterator[ModelEvent]]: ...


class SearchProvider(Protocol):
    """A host's own search: `[{title, url, snippet}]`, best first."""

    async def search(self, query: str, limit: int) -> list[Mapping[str, Any]]: ...


class SkillSource(Protocol):
    """Where skills come from at the start of each run; `load` gives the files of `Skill.from_files`."""

    trust_tools: bool

    async def list(self) -> list[str]: ...

    async def load(self, name: str) -> Mapping[str, str]: ...


class CancelToken(Protocol):
    """What an action can ask while it works: has the run been stopped?"""

    @property
    def cancelled(self) -> bool: ...
