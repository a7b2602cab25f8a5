"""The boot: named stages with progress, and for each way it can fail an error that says what to do."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from tests.browser.conftest import open_page, without_workers
from tests.browser.serving import DIST, Answer, Site

STAGES = ["assets", "runtime", "packages", "core", "ready"]
START = """async (options) => {
    const stages = [];
    try {
        const agent = await T.agent([{text: "ok"}], {...options, onBoot: (event) => stages.push(event)});
        const text = (await agent.run("x")).output.text;
        await agent.close();
        return {stages, text};
    } catch (error) {
        const {name, code, message, hint, details} = error;
        return {stages, error: {name, code, message, hint, details}};
    }
}"""


@pytest.mark.parametrize("thread", ["worker", "page"])
async def test_a_boot_tells_its_stages_in_order_with_progress(fresh: Page, thread: str) -> None:
    found = await fresh.evaluate(START, {"thread": thread})
    assert found.get("text") == "ok", found
    begun = [event["stage"] for event in found["stages"] if event["status"] == "started"]
    done = [event["stage"] for event in found["stages"] if event["status"] == "done"]
    assert begun == STAGES[:-1]
    assert done == STAGES
    progress = [event for event in found["stages"] if event["status"] == "progress"]
    assert progress[-1]["loaded"] == progress[-1]["total"] > 1_000_000
    loaded = [event["loaded"] for event in progress]
    assert loaded == sorted(loaded)
    assert all(event["ms"] >= 0 for event in found["stages"] if event["status"] == "done" and event["stage"] != "ready")
    assert await without_workers(fresh), "the last runtime ends Python"


async def test_everything_comes_from_the_pages_own_origin(browser: Browser, site: Site) -> None:
    page = await open_page(browser, site)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    assert (await page.evaluate(START, {}))["text"] == "ok"
    assert [url for url in asked if not url.startswith(site.origin)] == []
    await page.close()


async def test_a_second_runtime_shares_the_running_python(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const since = performance.now();
        const agent = await T.agent([]);
        await agent.close();
        return performance.now() - since;
    }""")
    assert found < 1_500
    assert len(page.workers) == 1


def status(code: int) -> Answer:
    def answer(handler: Any) -> bool:
        handler.send_error(code)
        return True

    return answer


def body(data: bytes, content_type: str = "application/octet-stream") -> Answer:
    def answer(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        return True

    return answer


def hang(handler: Any) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.flush()
    time.sleep(4)
    handler.close_connection = True
    return True


def other_build() -> bytes:
    manifest = json.loads((DIST / "manifest.json").read_text(encoding="utf-8"))
    return json.dumps({**manifest, "build": "0123"}).encode()


def pyodide(name: str) -> str:
    return f"/{json.loads((DIST / 'manifest.json').read_text(encoding='utf-8'))['pyodide']}/{name}"


FAULTS: dict[str, tuple[str, Any, str, list[str]]] = {
    "no manifest": ("/manifest.json", status(404), "assets", ["manifest.json", "404"]),
    "a page instead of a manifest": ("/manifest.json", body(b"<html>", "text/html"), "assets", ["manifest.json"]),
    "a manifest of another build": ("/manifest.json", lambda h: body(other_build())(h), "assets", ["build"]),
    "no worker": ("/worker.mjs", status(404), "assets", ["worker.mjs", "404"]),
    "another worker": ("/worker.mjs", body(b"// old"), "assets", ["worker.mjs", "not the file of this build"]),
    "no packages": ("/site.zip.zst", status(500), "assets", ["site.zip.zst", "500"]),
    "other packages": ("/site.zip.zst", body(b"PK"), "assets", ["site.zip.zst", "not the file of this build"]),
    "no side module": ("/pydantic_core.so.zst", status(404), "assets", ["pydantic_core.so.zst"]),
    "no Python": (pyodide("pyodide.asm.wasm"), status(404), "assets", ["pyodide.asm.wasm", "404"]),
    "no Pyodide": (pyodide("pyodide.asm.mjs"), status(404), "assets", ["pyodide.asm.mjs"]),
    "no standard library": (pyodide("python_stdlib.zip"), status(404), "assets", ["python_stdlib.zip"]),
    "another standard library": (pyodide("python_stdlib.zip"), body(b"PK"), "assets", ["not the file of this build"]),
    "a broken Python": (pyodide("pyodide.asm.wasm"), body(b"\0asm"), "assets", ["pyodide.asm.wasm", "compiled"]),
    "no skills": ("/skills.json", body(b'{"skills": []}'), "assets", ["skills.json", "not the file of this build"]),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_file_that_is_missing_or_wrong_is_named(fresh: Page, site: Site, fault: str) -> None:
    path, answer, stage, mentions = FAULTS[fault]
    site.answers[path] = answer
    try:
        found = await fresh.evaluate(START, {"skills": "skills.json"})
    finally:
        del site.answers[path]
    error = found["error"]
    assert error["name"] == "AgrunError"
    assert error["code"] == "BOOT_FAILED"
    assert error["details"]["stage"] == stage
    for mention in mentions:
        assert mention in error["message"]
    assert "folder of agrun.js" in error["hint"]


async def test_a_server_that_does_not_know_the_type_of_wasm_files_will_do(fresh: Page, site: Site) -> None:
    path = pyodide("pyodide.asm.wasm")
    site.answers[path] = body((DIST / path[1:]).read_bytes(), "application/octet-stream")
    try:
        assert (await fresh.evaluate(START, {}))["text"] == "ok"
    finally:
        del site.answers[path]


async def test_a_download_that_stands_still_is_given_up(fresh: Page, site: Site) -> None:
    site.answers["/site.zip.zst"] = hang
    try:
        found = await fresh.evaluate(START, {"stageTimeouts": {"assets": 1500}})
    finally:
        del site.answers["/site.zip.zst"]
    assert found["error"]["code"] == "BOOT_TIMEOUT"
    assert found["error"]["details"]["stage"] == "assets"
    assert "1.5 s" in found["error"]["message"]


async def test_a_failed_boot_can_be_tried_again(fresh: Page, site: Site) -> None:
    site.answers["/site.zip.zst"] = status(503)
    try:
        first = await fresh.evaluate(START, {})
    finally:
        del site.answers["/site.zip.zst"]
    assert first["error"]["code"] == "BOOT_FAILED"
    assert (await fresh.evaluate(START, {}))["text"] == "ok"
