"""Values and functions that cross between JS and Python, inside Pyodide, through the product's border on both sides.

Only for a page's worker: `js` and `pyodide` are there, and the page's own modules are served under /__src__/.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.cases import read_url
from tests.cases.expect import Actual, NeedsBrowser

_CHUNK = re.compile(r"js calls on_chunk\('(.*?)'\)(?: (\d+) ms later)?")
#: calls a Python function from JS after a while; what it throws comes back
_CALL_LATER = """(receive, text, ms) => new Promise((done, fail) => setTimeout(() => {
    try { done(receive(text)); } catch (error) { fail(error); }
}, ms))"""


async def crossed(item: Mapping[str, Any]) -> Actual:
    if item.get("direction") == "js_to_py":
        return await _to_python(item["js"])
    if item.get("direction") == "py_to_js":
        return await _to_js(item["py"], item["js_check"])
    if "js_throw" in item:
        return await _rejected(item["url"], item["js_throw"])
    if any(_CHUNK.match(step) for step in item.get("steps", ())):
        return await _kept_callback(item["steps"])
    raise NeedsBrowser


def _js(code: str) -> Any:
    from pyodide.code import run_js

    return run_js(code)


async def _border() -> Any:
    return await _js('import("/__src__/border/json.js")')


async def _to_python(literal: str) -> Actual:
    """A JS value as Python gets it."""
    from agrun_wasm.browser.border import from_text

    return Actual(from_text((await _border()).toText(_js(f"({literal})"))))


async def _to_js(literal: str, check: str) -> Actual:
    """A Python value as JS gets it, and what the case's expression makes of it."""
    from agrun_wasm.browser.border import to_text

    value = (await _border()).fromText(to_text(eval(literal, {"__builtins__": {}})))
    return Actual(_js(f"(value) => {check}")(value))


async def _rejected(url: str, thrown: str) -> Actual:
    """What read_url gives when the page's own fetch rejects."""
    from agrun_wasm.browser.fetch import JsFetch

    fetch: Any = JsFetch()
    fetch.requests = []
    original = _js("globalThis.fetch")
    _js(f"globalThis.fetch = async () => {{ throw {thrown}; }}")
    try:
        return await read_url.result_over(fetch, {"url": url})
    finally:
        _js("(fetch) => { globalThis.fetch = fetch; }")(original)


async def _kept_callback(steps: Sequence[str]) -> Actual:
    """A stream of the page whose chunks come when its first call is long over, and one after its end."""
    from agrun_wasm.browser.border import expose, from_text, to_text
    from agrun_wasm.browser.host_functions import HostCalls

    sent: list[dict[str, Any]] = []
    calls = HostCalls(sent.append)
    receive = expose(lambda text: calls.answer(from_text(text)))
    received: list[Any] = []

    async def read() -> None:
        async for chunk in calls.stream(1, []):
            received.append(chunk)  # noqa: PERF401 - what came before a fault counts

    reading = asyncio.ensure_future(read())
    await asyncio.sleep(0)
    later = _js(_CALL_LATER)
    for step in steps:
        chunk = _CHUNK.match(step)
        answer = {"kind": "yield", "value": chunk[1]} if chunk else {"kind": "return", "value": None}
        if chunk or step == "stream ends":
            await later(receive, to_text({"call": sent[0]["call"], **answer}), int(chunk[2] or 0) if chunk else 0)
            await asyncio.sleep(0)
    await reading
    receive.destroy()
    return Actual({"received": received})
