"""What a provider's dialect is: a request to its HTTP form, its stream to model events.

Owned here: the two protocols, and the order of a call (`http_request`, then one decoder for its reply). Must not know:
connections, keys' origins, retries. A dialect is one file, has no branch on a model's name, and holds no state but
caches.
"""

from __future__ import annotations

from typing import Any, Protocol

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.model import ModelEvent, ModelRequest
from agrun_wasm.contracts.ports import FetchRequest
from agrun_wasm.text.sse import SseEvent

__all__ = ["Dialect", "StreamDecoder"]


class StreamDecoder(Protocol):
    """Reads one reply. Raises ProviderError for an error inside it.

    `ended`: a terminal signal has come, so that the reply is whole should the connection break now. `done`: the server
    has said its last word, nothing more need be read.
    """

    ended: bool
    done: bool

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        """The events of one server-sent event. An event that is no JSON raises ProviderError."""
        ...

    def whole(self, payload: Any) -> list[ModelEvent]:
        """The events of a body that came as one JSON value instead of a stream."""
        ...

    def finish(self) -> list[ModelEvent]:
        """The tool calls and Finished. Raises ProviderError when no terminal signal was seen."""
        ...


class Dialect(Protocol):
    """A provider's way to speak."""

    name: str
    default_base_url: str | None
    #: calls without a key are refused by this provider's own server
    key_required: bool

    def http_request(
        self, request: ModelRequest, config: ProviderConfig, api_key: str | None, *, browser: bool
    ) -> FetchRequest:
        """The HTTP form of a call. A setting `stream: false` asks for one JSON body."""
        ...

    def decoder(self, request: ModelRequest) -> StreamDecoder: ...
