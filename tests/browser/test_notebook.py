"""What a notebook does, in a plain Pyodide page: no worker, no shim, Pyodide's own packages, micropip and an index."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.browser.notebook_site import build_notebook_site
from tests.browser.serving import DIST, ROOT, Site, SlowPeer, served
from tests.fakes.providers import FakeProviders

BOOT = """async ([loader, options]) => {
  const { loadPyodide } = await import(loader);
  window.pyodide = await loadPyodide(options);
}"""
#: like a cell: top-level await, the names stay, and the last value is the cell's output
CELL = """async (code) => {
  const value = await pyodide.runPythonAsync(code);
  const plain = value?.toJs ? value.toJs({ dict_converter: Object.fromEntries }) : value;
  value?.destroy?.();
  return plain;
}"""
INSTALL = """
import micropip
micropip.set_index_urls(["{origin}/simple"])
await micropip.install("agrun-wasm")
from agrun_wasm import Runtime, action
"""
SHOW = "document.querySelector('main').innerHTML"


@pytest.fixture(scope="module")
def notebook_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if not (DIST / "wheels").exists():
        pytest.fail("web/dist/wheels is not there; `python build.py web` makes it")
    folder = tmp_path_factory.mktemp("notebook")
    build_notebook_site(folder)
    with served(folder) as site:
        yield site


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def notebook(browser: Browser, notebook_site: Site) -> AsyncIterator[Page]:
    """A page in which agrun-wasm was installed by micropip; the cells of all tests share its names."""
    page = await browser.new_page()
    await page.goto(f"{notebook_site.origin}/index.html")
    await page.evaluate(BOOT, ["/pyodide/pyodide.mjs", {}])
    await page.evaluate("pyodide.loadPackage('micropip')")
    await page.evaluate(CELL, INSTALL.format(origin=notebook_site.origin))
    yield page
    await page.close()


async def cell(page: Page, code: str) -> Any:
    return await page.evaluate(CELL, code)


async def test_micropip_takes_ours_from_the_index_and_the_rest_from_pyodide(
    notebook: Page, notebook_site: Site
) -> None:
    versions = await cell(
        notebook,
        "from importlib.metadata import version\n"
        "[version(name) for name in ('agrun-wasm', 'pydantic', 'pydantic-core', 'markdown-it-py')]",
    )
    assert versions[1:3] == ["2.14.0", "2.50.0"], "Pyodide's own, which is older than the page's"
    assert any(path.startswith("/packages/agrun_wasm-") for path in notebook_site.requested)
    assert not any("worker" in path for path in notebook_site.requested)
    assert notebook.workers == []


async def test_the_runtime_picks_the_browsers_fetch_by_itself(notebook: Page) -> None:
    assert await cell(notebook, "type(Runtime(provider='offline')._fetch).__module__") == "agrun_wasm.browser.fetch"


async def test_a_run_with_the_offline_provider_appears_in_the_page_as_html(notebook: Page) -> None:
    await cell(
        notebook,
        """
@action(tier=0)
async def add(context, a: int, b: int) -> int:
    "Add two integers a and b."
    return a + b

runtime = Runtime(provider="offline", actions=[add])
result = await runtime.run("add a=2 and b=3")
from js import document
document.querySelector("main").innerHTML = result._repr_mimebundle_()["text/html"]
None
""",
    )
    view = notebook.locator("main .agrun-run")
    assert await view.get_attribute("data-status") == "completed"
    call = view.locator("details", has_text="add")
    assert not await call.locator("pre").first.is_visible()
    await call.locator("summary").click()
    assert '"a": 2' in await call.locator("pre").first.inner_text()
    assert "5" in await view.locator(".agrun-answer").inner_text()
    assert await notebook.locator("main script").count() == 0


async def test_a_streamed_answer_of_a_model_is_streamed_into_the_cell(notebook: Page) -> None:
    replies: list[dict[str, Any]] = [
        {"toolCalls": [{"id": "k1", "name": "add", "args": {"a": 2, "b": 3}}]},
        {"text": "Fünf 🌊", "split": "every_byte"},
    ]
    async with FakeProviders(replies) as server:
        pieces, text = await cell(
            notebook,
            f"""
provider = {{"name": "openai", "model": "m", "baseUrl": "{server.url}", "apiKey": "sk-notebook"}}
runtime = Runtime(provider=provider, actions=[add])
pieces = []
async with runtime.stream("2 + 3?") as run:
    async for event in run:
        if event.type == "text-delta":
            pieces.append(event.detail["text"])
    result = await run.result()
[pieces, result.text]
""",
        )
    assert text == "Fünf 🌊"
    assert "".join(pieces) == text


def blocks(name: str, language: str) -> list[str]:
    """The code of a document of the repository."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


async def test_the_cells_of_the_document_on_notebooks_run_one_after_another(notebook: Page) -> None:
    install, run, watch = blocks("docs/notebooks.md", "python")
    await cell(notebook, install)
    assert "5" in await cell(notebook, f"{run}\nresult.text")
    assert "9" in await cell(notebook, f"{watch}\nresult.text")


async def test_the_notebook_example_of_the_readme_runs(notebook: Page) -> None:
    (example,) = [block for block in blocks("README.md", "python") if block.endswith("\nresult.text\n")]
    replies: list[dict[str, Any]] = [
        {"toolCalls": [{"id": "k1", "name": "add", "args": {"a": 2, "b": 3}}]},
        {"text": "Five."},
    ]
    async with FakeProviders(replies) as server:
        here = example.replace('"apiKey": key', f'"apiKey": "sk-notebook", "baseUrl": "{server.url}"')
        assert await cell(notebook, here) == "Five."


async def test_a_run_that_is_stopped_closes_its_connection(notebook: Page, peer: SlowPeer) -> None:
    status = await cell(
        notebook,
        f"""
import asyncio
runtime = Runtime(provider={{"name": "openai-compatible", "model": "m", "baseUrl": "{peer.origin}"}})
async with runtime.stream("hi") as run:
    async for event in run:
        if event.type == "planner-requested":
            break
    await asyncio.sleep(0.2)
    run.stop()
    stopped = await run.result()
stopped.status
""",
    )
    assert status == "aborted"
    assert peer.opened >= 1
    assert peer.wait_closed(peer.opened, seconds=5)


async def test_load_package_by_our_lock_file_needs_no_other_server(browser: Browser, site: Site) -> None:
    context = await browser.new_context()
    foreign: list[str] = []
    page = await context.new_page()
    page.on("request", lambda request: None if request.url.startswith(site.origin) else foreign.append(request.url))
    await page.goto(f"{site.origin}/licenses.txt")
    (loader,) = DIST.glob("pyodide-*/pyodide.mjs")
    await page.evaluate(
        BOOT, [f"/{loader.relative_to(DIST).as_posix()}", {"lockFileURL": f"{site.origin}/pyodide-lock.json"}]
    )
    await page.evaluate("pyodide.loadPackage('agrun-wasm')")
    text = await cell(
        page,
        "import jsonschema, rpds\nfrom agrun_wasm import Runtime\n"
        "(await Runtime(provider='offline').run('How are you?')).status",
    )
    assert text in ("completed", "blocked")
    assert foreign == []
    await context.close()
