"""PagePrompts: the Prompt API's port on a function of the page. The counterpart is web/src/model/built_in_model.js."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from agrun_wasm.browser.host_functions import FUNCTION_KEY, HostCalls, HostError, HostFunction
from agrun_wasm.providers.prompt_api import PromptFault

__all__ = ["PagePrompts"]


class PagePrompts:
    """Leaving the iteration aborts the page's stream and ends its session. `reference`: the page's `stream`."""

    def __init__(self, reference: Mapping[str, Any], calls: HostCalls) -> None:
        self._stream = HostFunction(calls, reference[FUNCTION_KEY])

    async def stream(self, call: Mapping[str, Any]) -> AsyncIterator[Any]:
        try:
            async with aclosing(cast("AsyncGenerator[Any]", self._stream.stream(call))) as pieces:
                async for piece in pieces:
                    yield piece
        except HostError as thrown:
            fields = thrown.fields
            raise PromptFault(
                str(fields.get("name") or ""), str(fields.get("message") or ""), fields.get("details")
            ) from None
