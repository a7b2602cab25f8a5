"""Page: what the page's JS talks to. One function of JS takes all that Python says, one of Python all that JS says.

Owns the messages (the counterpart is web/src/border/channel.js), the runtimes by id and the runs in progress. What a
message asks for is done by the Runtime.
"""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from agrun_wasm import Runtime
from agrun_wasm.browser.batching import EventBatch
from agrun_wasm.browser.border import expose, from_text, to_text
from agrun_wasm.browser.event_loop import run_in_one_go
from agrun_wasm.browser.fetch import JsFetch
from agrun_wasm.browser.host_config import runtime_arguments
from agrun_wasm.browser.host_functions import HostCalls
from agrun_wasm.browser.language_model import PagePrompts
from agrun_wasm.browser.store import PageStore
from agrun_wasm.contracts.errors import AgrunError, ConfigInvalid, ErrorInfo
from agrun_wasm.providers.prompt_api import NAME as PROMPT_API
from agrun_wasm.providers.prompt_api import PromptApi

__all__ = ["Page", "open_page"]

_CLOSED = "this runtime is closed"
#: how long a closing runtime waits for its stopped runs; the page ends the whole of Python after 2 s
_CLOSE_SECONDS = 1.0


def open_page(post: Callable[[str], None]) -> Any:
    """The function for JS to call with each message; `post` takes Python's. JS destroys it when it is done."""
    run_in_one_go()
    gc.enable()  # the boot went without
    gc.freeze()  # what the boot made stays: a collection that went through it all would be a fifth of a cycle's time
    return expose(Page(post).receive)


class Page:
    def __init__(self, post: Callable[[str], None]) -> None:
        self._post = post
        self._calls = HostCalls(self._send)
        self._runtimes: dict[str, Runtime] = {}
        self._fetches: dict[str, JsFetch] = {}
        self._runs: dict[int, Any] = {}
        self._stopped_early: dict[int, str] = {}
        self._running: dict[int, tuple[asyncio.Task[None], str]] = {}
        self._replies: set[asyncio.Task[None]] = set()

    def receive(self, text: str) -> None:
        message = from_text(text)
        kind = message["type"]
        if kind == "answer":
            self._calls.answer(message)
        elif kind == "stop":
            self._stop(message["run"], message["mode"])
        elif kind == "start":
            self._running[message["run"]] = asyncio.ensure_future(self._run(message)), message["params"]["runtime"]
        else:
            task = asyncio.ensure_future(self._reply(message))
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)

    def _send(self, message: dict[str, Any]) -> None:
        self._post(to_text(message))

    async def _reply(self, message: Mapping[str, Any]) -> None:
        try:
            value = await self._REQUESTS[message["method"]](self, message["params"])
        except Exception as error:
            self._send({"type": "refused", "id": message["id"], "error": _told(error)})
        else:
            self._send({"type": "reply", "id": message["id"], "value": value})

    async def _run(self, message: Mapping[str, Any]) -> None:
        """One run from its start to its result; every event goes out on the way."""
        number: int = message["run"]
        batch = EventBatch(lambda events: self._send({"type": "events", "run": number, "events": events}))
        try:
            async with self._opened(message["method"], message["params"]) as run:
                self._runs[number] = run
                if mode := self._stopped_early.pop(number, None):
                    run.stop(mode)
                async for event in run:
                    batch.add(event)
                result = await run.result()
            batch.flush()
            self._send({"type": "result", "run": number, "result": result.to_json()})
        except asyncio.CancelledError:
            self._send({"type": "failed", "run": number, "error": _told(ConfigInvalid(_CLOSED))})
            raise
        except BaseException as error:  # `exit()` in a tool ends its run, not the page's Python
            batch.flush()
            self._send({"type": "failed", "run": number, "error": _told(error)})
        finally:
            batch.close()
            self._runs.pop(number, None)
            self._running.pop(number, None)

    def _opened(self, method: str, params: Mapping[str, Any]) -> AbstractAsyncContextManager[Any]:
        runtime = self._runtime(params)
        if method == "resume":
            extend = params.get("extend")
            return runtime.stream_resume(params["state"], decisions=params.get("decisions") or {}, extend=extend)
        if method == "abort":
            return runtime.stream_abort(params["state"])
        if params.get("session") is not None:
            return runtime.session(params["session"], busy=params["busy"]).stream(_input(params))
        return runtime.stream(_input(params))

    def _stop(self, number: int, mode: str) -> None:
        run = self._runs.get(number)
        if run is not None:
            run.stop(mode)
        elif number in self._running:
            self._stopped_early[number] = mode

    def _runtime(self, params: Mapping[str, Any]) -> Runtime:
        runtime = self._runtimes.get(params["runtime"])
        if runtime is None:
            raise ConfigInvalid(_CLOSED, hint="Create a new one.")
        return runtime

    async def _create(self, params: Mapping[str, Any]) -> None:
        arguments = runtime_arguments(params["config"], self._calls)
        fetch = JsFetch(params.get("proxyUrl"), params.get("proxyToken"))
        store = PageStore(params["store"], self._calls) if params.get("store") else None
        if params.get("languageModel"):
            settings = arguments["provider"].get("settings") if isinstance(arguments["provider"], Mapping) else None
            own = PromptApi(PagePrompts(params["languageModel"], self._calls), settings)
            arguments["providers"] = {**arguments.get("providers", {}), PROMPT_API: own}
        self._runtimes[params["runtime"]] = Runtime(**arguments, fetch=fetch, store=store)
        self._fetches[params["runtime"]] = fetch

    async def _close(self, params: Mapping[str, Any]) -> None:
        """Stops the runtime's runs, ends its connections and forgets it."""
        key = params["runtime"]
        running = {number: task for number, (task, runtime) in self._running.items() if runtime == key}
        for number in running:
            self._stop(number, "now")
        if running:
            _, late = await asyncio.wait(running.values(), timeout=_CLOSE_SECONDS)
            for task in late:
                task.cancel()
        if runtime := self._runtimes.pop(key, None):
            await runtime.aclose()
            await self._fetches.pop(key).aclose()

    async def _describe(self, params: Mapping[str, Any]) -> Any:
        return self._runtime(params).describe_composition()

    async def _inspect(self, params: Mapping[str, Any]) -> Any:
        return self._runtime(params).inspect_prompt(_input(params))

    async def _surface(self, params: Mapping[str, Any]) -> Any:
        return self._runtime(params).surface_index()

    async def _ping(self, _params: Mapping[str, Any]) -> None:
        """Whoever answers is not stuck."""

    _REQUESTS: ClassVar[dict[str, Callable[[Page, Mapping[str, Any]], Awaitable[Any]]]] = {
        "create": _create,
        "close": _close,
        "describe": _describe,
        "inspect": _inspect,
        "ping": _ping,
        "surface": _surface,
    }


def _told(error: BaseException) -> dict[str, Any]:
    """What the page is told of an exception."""
    if isinstance(error, AgrunError):
        return error.info().to_json()
    traceback.print_exception(error)
    return ErrorInfo(
        code="INTERNAL",
        message=f"{type(error).__name__}: {error}",
        hint="This is a fault of agrun_wasm; please report it with the traceback in the console.",
    ).to_json()


def _input(params: Mapping[str, Any]) -> Any:
    """What was given to `run`; JSON leaves `undefined` out, and the runtime says what is wrong with none."""
    return params.get("input")
