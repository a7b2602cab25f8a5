# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""The fetch port by itself, in the worker: kinds of failure, what it passes on, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from playwright.async_api import Worker

from tests.browser.serving import Site, SlowPeer

SETUP = """
import asyncio, gc, json
from pyodide_js import _module as module
from agrun_wasm import Runtime
from agrun_wasm.browser.fetch import JsFetch
from agrun_wasm.contracts.ports import FetchError, FetchRequest

async def told(url, method="GET", *, read=None, proxy=None, token=None, **request):
    try:
        async with JsFetch(proxy, token).open(FetchRequest(method, url, **request)) as response:
            body = b""
            async for chunk in response.chunks():
                assert type(chunk) is bytes
                body += chunk
                if read is not None and len(body) >= read:
                    break
            return {"status": response.status, "headers": dict(response.headers), "url": response.url, "body": body.decode()}
    except FetchError as error:
        return {"kind": error.kind, "message": error.message, "url": error.url}

async def cancelled(url):
    task = asyncio.ensure_future(told(url))
    await asyncio.sleep(0.2)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return "cancelled"

async def proxies_left(urls, rounds):
    module.enable_pyproxy_allocation_tracing()
    try:
        for _ in range(rounds):
            for url in urls:
                await told(url, timeout_ms=60_000)
        gc.collect()
        return module.pyproxy_alloc_map.size
    finally:
        module.disable_pyproxy_allocation_tracing()

async def read_page(url):
    replies = [{"toolCalls": [{"name": "read_url", "args": {"url": url}}]}, {"text": "no luck"}]
    provider = {"name": "scripted", "model": "m", "settings": {"replies": replies}}
    result = await Runtime(provider=provider, action_policy={"read_url": "allow"}).run("read it")
    return result.state["toolContext"]["lastResult"]["output"]
"""


async def python(worker: Worker, code: str) -> Any:
    """What the coroutine expression `code` gives, as JSON, beside SETUP."""
    source = f"{SETUP}\njson.dumps(await ({code}))"
    return json.loads(
        await worker.evaluate("(source) => pyodide.runPythonAsync(source, {globals: pyodide.toPy({})})", source)
    )


async def test_a_response_comes_whole_with_lower_case_headers(worker: Worker, site: Site) -> None:
    found = await python(worker, f"told('{site.origin}/skills.json')")
    assert found["status"] == 200
    assert found["headers"]["content-type"].startswith("application/json")
    assert json.loads(found["body"])["skills"]


async def test_a_status_is_no_error(worker: Worker, site: Site) -> None:
    found = await python(worker, f"told('{site.origin}/nothing-here')")
    assert found["status"] == 404


async def test_a_body_and_headers_are_sent_as_they_are(worker: Worker, site: Site) -> None:
    seen: list[tuple[str | None, bytes]] = []

    def echo(handler: Any) -> bool:
        length = int(handler.headers["content-length"])
        seen.append((handler.headers["x-mine"], handler.rfile.read(length)))
        handler.send_response(204)
        handler.end_headers()
        return True

    site.answers["/echo"] = echo
    found = await python(
        worker, f"told('{site.origin}/echo', 'POST', headers={{'X-Mine': 'yes'}}, body='é\\x00'.encode())"
    )
    assert found["status"] == 204
    assert found["body"] == ""
    assert seen == [("yes", "é\x00".encode())]


async def test_failures_of_the_network_name_cors_and_the_host(worker: Worker, peer: SlowPeer) -> None:
    """g07: a TypeError of fetch is neither an abort nor a timeout nor a raised JsException."""
    peer.allow_origin = False
    for url in ("http://127.0.0.1:9/a", f"{peer.origin}/b", "https://nocors.invalid/a"):
        found = await python(worker, f"told('{url}')")
        assert found["kind"] == "network_or_cors"
        assert "CORS" in found["message"]
        assert url.split("/")[2] in found["message"]
        assert found["url"] == url


async def test_read_url_tells_a_blocked_page_as_network_or_cors(worker: Worker) -> None:
    """g07 as an action sees it."""
    output = await python(worker, "read_page('https://nocors.invalid/a')")
    assert output["kind"] == "read_url_result"
    assert output["ok"] is False
    assert output["error"] == "network_or_cors"
    assert output["url"] == "https://nocors.invalid/a"
    assert "CORS" in output["message"]
    assert output["platform"] == "browser"


async def test_a_proxy_relays_requests_to_other_origins_only(worker: Worker, site: Site) -> None:
    asked: list[tuple[str, str | None]] = []

    def relay(handler: Any) -> bool:
        asked.append((handler.path, handler.headers["x-mine"]))
        handler.send_response(200)
        handler.send_header("Content-Length", "5")
        handler.send_header("X-Agrun-Final-Url", "https://other.invalid/moved")
        handler.end_headers()
        handler.wfile.write(b"fetch")
        return True

    site.answers["/relay"] = relay
    other = "https://other.invalid/a?q=1&r=é"
    found = await python(worker, f"told('{other}', headers={{'X-Mine': 'yes'}}, proxy='{site.origin}/relay')")
    assert found["body"] == "fetch"
    assert found["url"] == "https://other.invalid/moved"
    assert asked == [("/relay?url=https%3A%2F%2Fother.invalid%2Fa%3Fq%3D1%26r%3D%C3%A9", "yes")]
    own = await python(worker, f"told('{site.origin}/skills.json', proxy='{site.origin}/relay')")
    assert own["url"] == f"{site.origin}/skills.json"
    assert len(asked) == 1


async def test_the_token_of_a_proxy_goes_to_the_proxy_alone(worker: Worker, site: Site) -> None:
    seen: list[tuple[str, str | None, str | None]] = []

    def note(handler: Any) -> bool:
        seen.append((handler.path.partition("?")[0], handler.headers["authorization"], handler.headers["x-api-key"]))
        handler.send_response(204)
        handler.end_headers()
        return True

    site.answers["/own"] = site.answers["/relay"] = note
    options = (
        f"proxy='{site.origin}/relay', token='t-1', headers={{'Authorization': 'Bearer mine', 'X-Api-Key': 'mine'}}"
    )
    for url in (f"{site.origin}/own", "https://other.invalid/a"):
        assert (await python(worker, f"told('{url}', {options})"))["status"] == 204
    assert seen == [("/own", "Bearer mine", "mine"), ("/relay", "Bearer t-1", "mine")]


async def test_a_header_that_no_browser_sends_is_an_error_of_ours(worker: Worker, site: Site) -> None:
    found = await python(worker, f"told('{site.origin}/skills.json', headers={{'bad header': 'x'}})")
    assert found["kind"] == "network_or_cors"
    assert "cannot be made" in found["message"]


async def test_a_timeout_before_the_head_and_between_pieces(worker: Worker, peer: SlowPeer) -> None:
    peer.silent = True
    found = await python(worker, f"told('{peer.origin}/a', timeout_ms=150)")
    assert found["kind"] == "timeout"
    assert "150 ms" in found["message"]
    peer.silent = False
    peer.pause = 5.0
    found = await python(worker, f"told('{peer.origin}/a', timeout_ms=300)")
    assert found["kind"] == "timeout"
    assert await asyncio.to_thread(peer.wait_closed, 2, 6.0)


async def test_a_cancelled_task_closes_its_connection(worker: Worker, peer: SlowPeer) -> None:
    assert await python(worker, f"cancelled('{peer.origin}/a')") == "cancelled"
    assert await asyncio.to_thread(peer.wait_closed, 1, 1.0)


async def test_leaving_the_block_early_closes_the_connection(worker: Worker, peer: SlowPeer) -> None:
    found = await python(worker, f"told('{peer.origin}/a', read=20)")
    assert len(found["body"]) >= 20
    assert await asyncio.to_thread(peer.wait_closed, 1, 1.0)


async def test_many_calls_leave_no_proxy_behind(worker: Worker, site: Site) -> None:
    urls = [f"{site.origin}/icon.svg", f"{site.origin}/none", "http://127.0.0.1:9/"]
    assert await python(worker, f"proxies_left({urls}, 50)") <= 3, "what the event loop itself has in hand"
