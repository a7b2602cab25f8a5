"""A host's own transport as a provider: its events read, its faults made values of ours.

Owned here: what a host's `stream` may be and give. Must not know: what the transport talks to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from inspect import isawaitable
from typing import Any

from agrun_wasm.contracts.errors import ConfigInvalid, ProviderError
from agrun_wasm.contracts.model import ModelEvent, ModelRequest, ToolCall, ToolCallDone
from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.providers.errors import HINTS, bad_response, fetch_error
from agrun_wasm.providers.event_json import model_event
from agrun_wasm.providers.tool_calls import InventedIds
from agrun_wasm.text.shorten import one_line, words_of

__all__ = ["HostProvider"]


class HostProvider:
    """Calls the host's `stream(request)`, an async generator function or a coroutine that gives an async iterator.

    Events may be ours or their JSON form. Exceptions other than ProviderError become one that says what they said.
    """

    def __init__(self, name: str, transport: Any) -> None:
        if not callable(getattr(transport, "stream", None)):
            raise ConfigInvalid(f"config: providers[{name!r}] needs an async `stream(request)`")
        self._name = name
        self._transport = transport

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        ids = InventedIds(request.messages)
        events: Any = None
        try:
            events = self._transport.stream(request)
            if isawaitable(events):
                events = await events
            if not hasattr(events, "__aiter__"):
                raise bad_response(f"provider {self._name!r}: stream() gave {type(events).__name__}, no async iterator")
            async for value in events:
                event = model_event(value)
                if isinstance(event, ToolCallDone) and not event.call.id:
                    event = ToolCallDone(_with_id(event.call, ids))
                yield event
        except ProviderError:
            raise
        except FetchError as failure:
            raise fetch_error(failure, url=failure.url, platform="host", head_came=False, timeout_ms=0) from failure
        except TimeoutError as fault:
            raise _failed("PROVIDER_TIMEOUT", self._name, fault) from fault
        except OSError as fault:
            raise _failed("NETWORK_OR_CORS", self._name, fault) from fault
        except Exception as fault:
            raise _failed("PROVIDER_BAD_RESPONSE", self._name, fault) from fault
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()


def _failed(code: str, name: str, fault: Exception) -> ProviderError:
    said = one_line(words_of(fault), 300)
    text = f"provider {name!r} raised {type(fault).__name__}" + (f": {said}" if said != type(fault).__name__ else "")
    hint = (
        "The failure is in the provider that the host registered." if code == "PROVIDER_BAD_RESPONSE" else HINTS[code]
    )
    return ProviderError(code, text, hint=hint)


def _with_id(call: ToolCall, ids: InventedIds) -> ToolCall:
    return call.model_copy(update={"id": ids.new()})
