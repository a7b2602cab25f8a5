# ruff: noqa: E501 (JS stands in the strings)
"""The warm start: a second visit takes Python from a memory snapshot, and from nothing that does not fit exactly."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page

from tests.browser.conftest import open_page
from tests.browser.serving import DIST, Site
from tests.browser.test_boot import STAGES, body, status

BOOT = """async (options) => {
    const events = [];
    try {
        const onBoot = (event) => void (event.status === "progress" || events.push(event));
        window.agent = await T.agent([{text: "ok"}], {snapshot: "auto", ...options, onBoot});
        return {events, text: (await agent.run("x")).output.text};
    } catch (error) {
        return {events, error: error.message};
    }
}"""
KEYS = "() => caches.open('agrun-snapshots').then((cache) => cache.keys()).then((keys) => keys.map(({url}) => url))"
#: the one that was made stays under another name, for tests that spoil it
COPY = """async ([from, to]) => {
    const [source, target] = await Promise.all([caches.open(from), caches.open(to)]);
    for (const key of await target.keys()) await target.delete(key);
    for (const key of await source.keys()) await target.put(key, await source.match(key));
}"""


async def kept(page: Page, count: int = 1, seconds: float = 90) -> list[str]:
    """The names of the snapshots, once there are so many."""
    for _ in range(int(seconds * 10)):
        if len(keys := await page.evaluate(KEYS)) >= count:
            return keys
        await asyncio.sleep(0.1)
    return []


def is_warm(found: dict[str, Any]) -> bool:
    assert found.get("text") == "ok", found
    return bool(found["events"][-1]["warm"])


def reasons(found: dict[str, Any]) -> list[str]:
    return [event["reason"] for event in found["events"] if event["status"] == "snapshot-rejected"]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def profile(browser: Browser, site: Site) -> AsyncIterator[BrowserContext]:
    """A browser profile that has been here once, and has made its snapshot in idle time."""
    context = await browser.new_context()
    page = await open_page(context, site)
    assert not is_warm(await page.evaluate(BOOT, {}))
    assert len(await kept(page)) == 1
    await page.evaluate(COPY, ["agrun-snapshots", "spare"])
    await page.close()
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(profile: BrowserContext, site: Site) -> AsyncIterator[Page]:
    """A page at the second visit, with nothing booted yet."""
    page = await open_page(profile, site)
    await page.evaluate(COPY, ["spare", "agrun-snapshots"])
    yield page
    await page.close()


@pytest.mark.parametrize("thread", ["worker", "page"])
async def test_the_second_visit_is_warm_and_runs_skills_and_actions(visit: Page, thread: str) -> None:
    found = await visit.evaluate(BOOT, {"thread": thread})
    assert is_warm(found)
    assert [event["stage"] for event in found["events"] if event["status"] == "done"] == STAGES
    results = await visit.evaluate("""async () => {
        const add = {name: "add", description: "Adds.", tier: 0, argsSchema: {a: {type: "integer", required: true}}, execute: async ({a}) => ({sum: a + 1})};
        const acting = await T.agent([{calls: [{name: "add", args: {a: "x"}}]}, {calls: [{name: "add", args: {a: 41}}]}, {text: "42"}], {actions: [add]});
        const acted = await acting.run("41 + 1?");
        const offline = await Agrun.createRuntime({provider: "offline", skills: "skills.json"});
        const answered = await offline.run("How many kilometres are 26.2 miles?");
        return {acted, answered};
    }""")
    assert results["acted"]["output"]["text"] == "42"
    assert results["acted"]["state"]["toolContext"]["lastResult"]["output"] == {"sum": 42}
    assert results["answered"]["status"] == "completed"
    assert "42.16" in results["answered"]["output"]["text"]


async def test_a_first_run_imports_nothing_more_of_ours(visit: Page) -> None:
    names = "() => JSON.parse(pyodide.runPython(\"import json, sys; json.dumps([n for n in sys.modules if n.startswith('agrun_wasm')])\"))"
    assert is_warm(await visit.evaluate(BOOT, {}))
    before = await visit.workers[0].evaluate(names)
    run = "Agrun.createRuntime({provider: 'offline', skills: 'skills.json'}).then((agent) => agent.run('How many kilometres are 26.2 miles?')).then((r) => r.status)"
    assert await visit.evaluate(run) == "completed"
    assert sorted(await visit.workers[0].evaluate(names)) == sorted(before)


#: what is changed in a snapshot, and whether its checksum is made right again
SPOIL = """async ([change, seal]) => {
    const cache = await caches.open("agrun-snapshots");
    const [key] = await cache.keys();
    let bytes = new Uint8Array(await (await cache.match(key)).arrayBuffer());
    const facts = JSON.parse(new TextDecoder().decode(bytes.subarray(32, 1024)));
    const changes = {
        flip: () => void (bytes[20_000_000] ^= 1),
        cut: () => void (bytes = bytes.slice(0, 10_000_000)),
        empty: () => void (bytes = bytes.slice(0, 10)),
        key: () => void (facts.key = facts.key.replace(/-[0-9a-f]{16}-/, "-0123456789abcdef-")),
        place: () => void (facts.fit.place[0] += 16),
        pyodide: () => void bytes.fill(7, 1024 + 16, 1024 + 48),
        memory: () => void bytes.fill(0, 2_000_000),
    };
    changes[change]();
    if (seal) {
        bytes.set(new TextEncoder().encode(JSON.stringify(facts).padEnd(992)), 32);
        bytes.set(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(32))));
    }
    await cache.put(key, new Response(bytes));
}"""
SPOILED: dict[str, tuple[str, bool, str]] = {
    "one bit is another": ("flip", False, "checksum"),
    "half of it is missing": ("cut", False, "checksum"),
    "next to nothing is left": ("empty", False, "too short"),
    "it is of another bundle": ("key", True, "was made for"),
    "the native code lies elsewhere": ("place", True, "native code lies at"),
    "it is of another Pyodide": ("pyodide", True, "Starting Python"),
    "its memory is empty": ("memory", True, ""),
}


@pytest.mark.parametrize("case", SPOILED)
async def test_a_snapshot_that_does_not_fit_is_told_of_and_thrown_away(visit: Page, case: str) -> None:
    change, seal, reason = SPOILED[case]
    await visit.evaluate(SPOIL, [change, seal])
    found = await visit.evaluate(BOOT, {})
    assert not is_warm(found)
    (told,) = reasons(found)
    assert reason in told
    assert [event["stage"] for event in found["events"] if event["status"] == "done"] == STAGES
    assert await visit.evaluate(KEYS) == []


async def test_without_jspi_the_other_snapshot_is_not_even_looked_at(
    profile: BrowserContext, visit: Page, site: Site
) -> None:
    before = await visit.evaluate(KEYS)
    page = await open_page(profile, site)
    await page.evaluate("delete WebAssembly.Suspending")
    found = await page.evaluate(BOOT, {"thread": "page"})
    assert not is_warm(found)
    assert reasons(found) == []
    assert await page.evaluate(KEYS) == before
    await page.close()


async def test_without_jspi_a_browser_makes_one_of_its_own(browser: Browser, site: Site) -> None:
    worker = b"delete WebAssembly.Suspending;\n" + (DIST / "worker.mjs").read_bytes()
    manifest = json.loads((DIST / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["worker.mjs"] = {"bytes": len(worker), "sha256": hashlib.sha256(worker).hexdigest()}
    site.answers["/worker.mjs"] = body(worker, "text/javascript")
    site.answers["/manifest.json"] = body(json.dumps(manifest).encode(), "application/json")
    context = await browser.new_context()
    try:
        page = await open_page(context, site)
        assert not is_warm(await page.evaluate(BOOT, {}))
        (key,) = await kept(page)
        await page.close()
        page = await open_page(context, site)
        found = await page.evaluate(BOOT, {})
    finally:
        del site.answers["/worker.mjs"], site.answers["/manifest.json"]
    assert key.endswith("-plain")
    assert is_warm(found)
    await context.close()


REFUSALS = {
    "refused": "() => { caches.open = async () => { throw new DOMException('The operation is insecure.', 'SecurityError'); }; }",
    "absent": "() => { delete window.caches; if ('caches' in window) throw new Error('still there'); }",
}


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_browser_without_storage_starts_as_ever(visit: Page, refusal: str) -> None:
    await visit.evaluate(REFUSALS[refusal])
    found = await visit.evaluate(BOOT, {"thread": "page"})
    assert not is_warm(found)
    assert reasons(found) == (["The operation is insecure."] if refusal == "refused" else [])


async def test_off_neither_uses_nor_makes_one(visit: Page) -> None:
    assert not is_warm(await visit.evaluate(BOOT, {"snapshot": "off"}))
    await visit.evaluate("caches.delete('agrun-snapshots')")
    await asyncio.sleep(3)
    assert len(visit.workers) == 1
    assert await visit.evaluate(KEYS) == []


async def test_two_tabs_make_one_snapshot(browser: Browser, site: Site) -> None:
    context = await browser.new_context()
    pages = [await open_page(context, site) for _ in range(2)]
    found = await asyncio.gather(*(page.evaluate(BOOT, {}) for page in pages))
    assert not any(map(is_warm, found))
    assert len(await kept(pages[0])) == 1
    for page in pages:
        assert await page.evaluate("agent.run('y').then((result) => result.status)") == "completed"
        await page.close()
    again = [await open_page(context, site) for _ in range(2)]
    assert all(map(is_warm, await asyncio.gather(*(page.evaluate(BOOT, {}) for page in again))))
    await context.close()


RANDOM = "import json, random, secrets, uuid; json.dumps([random.random(), random.Random().random(), secrets.token_hex(8), str(uuid.uuid4())])"


async def test_two_pythons_of_one_snapshot_are_not_the_same(profile: BrowserContext, visit: Page, site: Site) -> None:
    other = await open_page(profile, site)
    drawn, runs = [], []
    for page in (visit, other):
        assert is_warm(await page.evaluate(BOOT, {}))
        drawn.append(json.loads(await page.workers[0].evaluate("(code) => pyodide.runPython(code)", RANDOM)))
        runs.append(await page.evaluate("agent.run('z').then((result) => result.runId ?? result.state.runId)"))
    assert all(one != two for one, two in zip(*drawn, strict=True))
    assert runs[0] != runs[1]
    await other.close()


LATE = """
import importlib, sys, zipfile
files = [n for n in zipfile.ZipFile("/lib/agrun/site.zip").namelist() if n.endswith(".pyc") and not n.startswith("native/")]
names = [n.removesuffix(".pyc").removesuffix("/__init__").replace("/", ".") for n in files]
late = [n for n in names if n not in sys.modules and n.startswith(("justhtml.", "markdown_it.", "pydantic.", "ruamel.yaml."))][:12]
for name in [*late, "tomllib", "graphlib", "sched"]:
    importlib.import_module(name)
len(late)
"""


async def test_modules_that_are_imported_later_are_there(visit: Page) -> None:
    assert is_warm(await visit.evaluate(BOOT, {}))
    assert await visit.workers[0].evaluate("(code) => pyodide.runPython(code)", LATE) > 0


async def test_the_time_zone_is_the_visitors(browser: Browser, site: Site, built: bytes) -> None:
    context = await browser.new_context(timezone_id="Asia/Kolkata")
    page = await open_page(context, site)
    site.answers["/snapshot.bin.gz"] = body(built)
    found = await page.evaluate(BOOT, {"thread": "page", "snapshot": "snapshot.bin.gz"})
    del site.answers["/snapshot.bin.gz"]
    assert is_warm(found)
    skill = "import time, json\\nfrom agrun_wasm import skill_tool\\n@skill_tool(description='Now.', parameters={'type': 'object', 'properties': {}})\\ndef zone(**args):\\n    return {'zone': time.timezone, 'now': time.localtime().tm_gmtoff}\\n"
    output = await page.evaluate(f"""async () => {{
        const skill = {{files: {{"SKILL.md": "---\\nname: look\\ndescription: Looks.\\n---\\nLook.", "tools.py": `{skill}`}}, trustTools: true}};
        const agent = await T.agent([
            {{calls: [{{name: "read_agent_skill", args: {{skillName: "look"}}}}]}},
            {{calls: [{{name: "use_agent_skill", args: {{}}}}]}},
            {{calls: [{{name: "execute_skill_tool", args: {{toolName: "zone", args: {{}}}}}}]}},
            {{text: "ok"}},
        ], {{skills: [skill]}});
        return (await agent.run("x")).state.toolContext.lastResult.output.result;
    }}""")
    assert output == {"zone": -19_800, "now": 19_800}
    await context.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def built(browser: Browser, site: Site) -> bytes:
    """A snapshot as `build.py snapshot` makes it."""
    received: list[bytes] = []

    def receive(handler: Any) -> bool:
        received.append(handler.rfile.read(int(handler.headers["content-length"])))
        handler.send_response(204)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    site.answers["/made"] = receive
    page = await open_page(browser, site)
    await page.evaluate("""async () => {
        const manifest = await (await fetch("manifest.json")).json();
        const {makeSnapshot} = await import("/worker.mjs");
        await fetch("/made", {method: "POST", body: await makeSnapshot(new URL(".", location.href).href, manifest)});
    }""")
    await page.close()
    del site.answers["/made"]
    return gzip.compress(received[0], compresslevel=1)


async def test_one_at_an_address_is_used_and_not_kept(fresh: Page, site: Site, built: bytes) -> None:
    site.answers["/snapshot.bin.gz"] = body(built)
    found = await fresh.evaluate(BOOT, {"snapshot": "snapshot.bin.gz"})
    del site.answers["/snapshot.bin.gz"]
    assert is_warm(found)
    assert await fresh.evaluate(KEYS) == []


async def test_an_address_without_one_is_told_of(fresh: Page, site: Site) -> None:
    site.answers["/snapshot.bin.gz"] = status(404)
    found = await fresh.evaluate(BOOT, {"snapshot": "snapshot.bin.gz"})
    del site.answers["/snapshot.bin.gz"]
    assert not is_warm(found)
    (told,) = reasons(found)
    assert "snapshot.bin.gz answered 404" in told


@pytest.mark.parametrize("value", ["true", "''", "7", "'http://['"])
async def test_a_setting_that_is_none_is_refused_by_name(fresh: Page, value: str) -> None:
    error = await fresh.evaluate(f"T.error(() => Agrun.createRuntime({{provider: 'offline', snapshot: {value}}}))")
    assert error["code"] == "CONFIG_INVALID"
    assert "'snapshot'" in error["message"]
