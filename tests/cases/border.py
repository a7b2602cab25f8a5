"""Values and functions that cross between JS and Python, inside Pyodide, through the product's border on both sides.

Only for a page's worker: `js` and `pyodide` are there, and the page's own modules are served under /__src__/.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.ports import FetchError
from tests.cases.expect import Actual, NeedsBrowser


async def crossed(item: Mapping[str, Any]) -> Actual:
    if item.get("direction") == "js_to_py":
        return await _to_python(item["js"])
    if item.get("direction") == "py_to_js":
        return await _to_js(item["py"], item["js_check"])
    if "js_throw" in item:
        return await _rejected(item["url"], item["js_throw"])
    raise NeedsBrowser


async def _border() -> Any:
    from pyodide.code import run_js

    return await run_js('import("/__src__/border/json.js")')


async def _to_python(literal: str) -> Actual:
    """A JS value as Python gets it."""
    from pyodide.code import run_js

    from agrun_wasm.browser.border import from_text

    value = from_text((await _border()).toText(run_js(f"({literal})")))
    json.dumps(value)
    return Actual(value)


async def _to_js(literal: str, check: str) -> Actual:
    """A Python value as JS gets it, and what the case's expression makes of it."""
    from pyodide.code import run_js

    from agrun_wasm.browser.border import to_text

    value = (await _border()).fromText(to_text(eval(literal, {"__builtins__": {}})))
    return Actual(run_js(f"(value) => {check}")(value))


async def _rejected(url: str, thrown: str) -> Actual:
    """What read_url gives when the page's own fetch rejects."""
    from pyodide.code import run_js

    from agrun_wasm.browser.fetch import JsFetch
    from tests.cases import host, read_url

    original = run_js("globalThis.fetch")
    run_js(f"globalThis.fetch = async () => {{ throw {thrown}; }}")
    try:
        result = await read_url.result_over(JsFetch(), {"url": url})
    except FetchError as error:
        return Actual(error=error.kind, message=error.message)
    finally:
        run_js("(fetch) => { globalThis.fetch = fetch; }")(original)
    return Actual(host.Outcome(result.value)) if result.ok else result
