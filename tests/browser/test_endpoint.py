# ruff: noqa: E501 (JS stands in the strings)
"""Runs that a server drives, from a page: the same chat and the same face, and no Python in the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.chat import answered, ask, shot
from tests.browser.serving import DIST
from tests.host.serve.server import serving
from tests.host.serve.test_runs import Model

TOKEN = "a-token-of-the-tests-0123456789"
MOUNT = """(token) => {
    window.told = {steps: [], results: []};
    window.tokens = 0;
    const chat = document.createElement("agrun-chat");
    chat.setAttribute("endpoint", "/v1");
    chat.options = {token: async () => (tokens++, token)};
    chat.addEventListener("agrun-step", (event) => told.steps.push(event.detail));
    chat.addEventListener("agrun-result", (event) => told.results.push(event.detail));
    document.body.replaceChildren(chat);
}"""


@dataclass
class Line:
    """What stands between the page and the server, and can be cut."""

    url: str = ""
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    #: since it was cut last, somebody has come
    taken: asyncio.Event = field(default_factory=asyncio.Event)

    def cut(self) -> None:
        self.taken.clear()
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


@asynccontextmanager
async def line_to(port: int) -> AsyncIterator[Line]:
    line = Line()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to = await asyncio.open_connection("127.0.0.1", port)
        line.writers += [writer, to]
        line.taken.set()
        await asyncio.gather(_pass(reader, to), _pass(there, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    line.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield line
    finally:
        server.close()
        line.cut()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@dataclass
class Served:
    page: Page
    model: Model
    line: Line
    requested: list[str]


@pytest_asyncio.fixture(loop_scope="session")
async def served(browser: Browser) -> AsyncIterator[Served]:
    model = Model()
    with serving(model.runtime(), page=DIST, token=TOKEN) as server:
        async with line_to(server.port) as line:
            page = await browser.new_page(viewport={"width": 900, "height": 700}, color_scheme="light")
            requested: list[str] = []
            page.on("request", lambda request: requested.append(request.url))
            await page.goto(f"{line.url}/about.html")
            await page.add_script_tag(url="agrun.js")
            yield Served(page, model, line, requested)
            model.may.set()
            await page.close()


def no_python(requested: list[str]) -> bool:
    return not any(part in url for url in requested for part in ("pyodide", "site.zip", ".wasm", "worker"))


async def test_a_chat_with_an_endpoint_runs_on_the_server_and_boots_no_python(served: Served) -> None:
    page = served.page
    await page.evaluate(MOUNT, TOKEN)
    served.model.may.clear()
    await ask(page, "hello")
    await expect(page.locator(".turn.agent .markdown")).to_contain_text("One,")
    served.model.may.set()
    await answered(page)
    await expect(page.locator(".turn.agent")).to_contain_text("One, two of 1.")
    await ask(page, "and then?")
    await answered(page, 2)
    await expect(page.locator(".turn.agent").nth(1)).to_contain_text("two of 3.")
    await expect(page.locator(".boot")).to_be_hidden()
    await expect(page.locator(".provider")).to_be_hidden()
    assert no_python(served.requested)
    assert await page.evaluate("tokens") >= 4, "it is asked for at each request"
    assert not any(TOKEN in url for url in served.requested)
    assert await page.evaluate("told.results.every((result) => !('state' in result))")


async def test_a_person_approves_a_call_of_the_server(served: Served) -> None:
    page = served.page
    await page.evaluate(MOUNT, TOKEN)
    await ask(page, "order")
    await page.get_by_role("button", name="Approve").wait_for()
    assert served.model.ordered == []
    await shot(page, "endpoint-approval")
    await page.get_by_role("button", name="Approve").click()
    await answered(page)
    await expect(page.locator(".turn.agent")).to_contain_text("two of")
    assert served.model.ordered == ["A"]
    assert await page.evaluate("told.results.map((result) => result.status)") == ["blocked", "completed"]


async def test_a_stream_that_breaks_is_taken_up_where_it_ended(served: Served) -> None:
    page = served.page
    await page.evaluate(MOUNT, TOKEN)
    served.model.may.clear()
    await ask(page, "hello")
    await expect(page.locator(".turn.agent .markdown")).to_contain_text("One,")
    for _ in range(2):
        served.line.cut()
        async with asyncio.timeout(20):
            await served.line.taken.wait()
    served.model.may.set()
    await answered(page)
    await expect(page.locator(".turn.agent .markdown")).to_have_text("One, two of 1.")
    seen = await page.evaluate("told.steps.map((step) => step.seq)")
    assert seen == sorted(set(seen))
    assert await page.evaluate("told.steps.filter((step) => step.type === 'run-completed').length") == 1
    assert served.model.asked == 1


async def test_a_run_that_a_person_stops_is_stopped_at_the_server(served: Served) -> None:
    page = served.page
    await page.evaluate(MOUNT, TOKEN)
    served.model.may.clear()
    await ask(page, "hello")
    await expect(page.locator(".turn.agent .markdown")).to_contain_text("One,")
    await page.get_by_role("button", name="Stop").click()
    await answered(page)
    assert await page.evaluate("told.results[0].status") == "aborted"


async def test_what_the_server_refuses_is_told_with_what_to_do(served: Served) -> None:
    page = served.page
    await page.evaluate(MOUNT, "not-the-token-of-this-server")
    await ask(page, "hello")
    await expect(page.locator(".turn.agent .failure")).to_contain_text("token")
    assert served.model.asked == 0


async def test_a_program_drives_runs_with_the_same_face(served: Served) -> None:
    seen = await served.page.evaluate(
        """async (token) => {
            const agent = await Agrun.createRemoteRuntime({endpoint: "/v1", token});
            const run = agent.run({prompt: "order"});
            const types = [];
            for await (const event of run) types.push(event.type);
            const {runId, output} = await run;
            const forged = await agent.resume(runId, {[`${runId}:approval:9`]: "approve"}).result.catch((error) => error.code);
            const {approvalId} = output.approvals[0];
            const done = await agent.resume(runId, {[approvalId]: {decision: "deny", note: "too dear"}});
            const replayed = await agent.resume(runId, {[approvalId]: "approve"}).result.catch((error) => error.code);
            const asked = await agent.inspectPrompt("x").catch((error) => error.code);
            await agent.close();
            const late = await agent.run("x").result.catch((error) => error.code);
            return {types, forged, status: done.status, replayed, asked, late};
        }""",
        TOKEN,
    )
    assert seen["types"][0] == "run-started"
    assert seen["types"][-1] == "run-blocked"
    assert (seen["forged"], seen["replayed"]) == ("APPROVAL_INVALID", "APPROVAL_INVALID")
    assert (seen["status"], seen["asked"], seen["late"]) == ("completed", "NOT_TOLD", "ABORTED")
    assert served.model.ordered == []
