"""PageStore: the Store port on the page's own store. The counterpart is web/src/store/port.js.

States, journal entries and histories cross as JSON text that the page keeps as it is: no number is rounded. What is
kept where, and who may write, is the page's business; it says STATE_INVALID where somebody else has written.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, cast

from agrun_wasm.browser.host_functions import FUNCTION_KEY, HostCalls, HostError, HostFunction
from agrun_wasm.contracts.errors import StateConflict, StateInvalid

__all__ = ["PageStore"]


class PageStore:
    """The SharedStore port. `references` are the page's functions by name, as they crossed."""

    def __init__(self, references: Mapping[str, Mapping[str, Any]], calls: HostCalls) -> None:
        self._functions = {name: HostFunction(calls, item[FUNCTION_KEY]) for name, item in references.items()}
        self._leaving: set[asyncio.Task[None]] = set()

    async def save_run(self, run_id: str, state: Mapping[str, Any]) -> None:
        await self._ask("saveRun", *_parts(run_id, state))

    async def add_to_run(self, run_id: str, entry: Mapping[str, Any]) -> None:
        await self._ask("addToRun", run_id, entry["seq"], _text(entry))

    async def load_run(self, run_id: str) -> Mapping[str, Any] | None:
        text = await self._ask("loadRun", run_id)
        return None if text is None else _read(text, f"run {run_id!r}", dict)

    async def save_session(self, session_id: str, history: list[Any]) -> None:
        await self._ask("saveSession", session_id, _text(history))

    async def load_session(self, session_id: str) -> list[Any] | None:
        text = await self._ask("loadSession", session_id)
        return None if text is None else _read(text, f"session {session_id!r}", list)

    async def use_approvals(self, approval_ids: list[str], run_id: str, state: Mapping[str, Any]) -> str | None:
        return cast("str | None", await self._ask("useApprovals", approval_ids, *_parts(run_id, state)))

    async def hold_session(self, session_id: str, wait: bool) -> Callable[[], None] | None:
        """The turn is held by a call in progress: it ends with the turn, or with this Python, however that ends."""
        held = cast("AsyncGenerator[bool]", self._functions["holdSession"].stream(session_id, wait))
        if not await anext(held):
            await held.aclose()
            return None

        def release() -> None:
            task = asyncio.ensure_future(held.aclose())
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

        return release

    async def _ask(self, name: str, *arguments: Any) -> Any:
        try:
            return await self._functions[name](*arguments)
        except HostError as error:
            if (error.fields.get("details") or {}).get("reason") == "conflict":
                raise StateConflict(str(error), hint=str(error.fields.get("hint") or "")) from None
            raise


def _parts(run_id: str, state: Mapping[str, Any]) -> tuple[dict[str, Any], str, list[str]]:
    """What a page can tell runs by, the state without its journal, and the journal; the latter two as text."""
    bare = dict(state)
    journal = bare.pop("journal")
    seq = max([bare["seq"], *(entry["seq"] for entry in journal)])
    head = {"id": run_id, "session": bare["sessionId"], "status": bare["status"], "seq": seq}
    return head, _text(bare), [_text(entry) for entry in journal]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _read(text: str, what: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, kind):
        raise StateInvalid(f"store: what is kept of {what} is no JSON {kind.__name__}", hint="Delete it.")
    return value
