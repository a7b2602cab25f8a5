# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""Stopping a run ends its connection: by `stop`, by leaving the loop, by closing the runtime; in a worker and in the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.browser.conftest import open_page, without_workers
from tests.browser.serving import Site, SlowPeer

#: one delta of a chat completion, as a slow model sends it
PIECE = b'data: {"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'

AGENT = """
    void (window.slow = (peer, options = {}) => Agrun.createRuntime({
        provider: {name: "openai-compatible", model: "m", baseUrl: peer, apiKey: "k", retry: {maxRetries: 0}}, ...options,
    }))
"""


@pytest_asyncio.fixture(params=["worker", "page"], scope="module", loop_scope="session")
async def threaded(request: pytest.FixtureRequest, browser: Browser, booted: Page, site: Site) -> AsyncIterator[Page]:
    """A page whose `slow(peer)` gives an agent that runs in the worker or in the page's own thread."""
    page = booted if request.param == "worker" else await open_page(browser, site)
    await page.evaluate(AGENT)
    await page.evaluate("(thread) => void (window.thread = {thread})", request.param)
    if request.param == "page":
        await page.evaluate("T.agent([], thread).then((agent) => void (window.kept = agent))")
    yield page
    if page is not booted:
        await page.close()


async def closed_soon(peer: SlowPeer) -> bool:
    return await asyncio.to_thread(peer.wait_closed, 1, 1.0)


async def test_stop_closes_the_connection(threaded: Page, peer: SlowPeer) -> None:
    peer.piece = PIECE
    result = await threaded.evaluate(
        """async (peer) => {
            const agent = await slow(peer, thread);
            const run = agent.run("talk");
            let deltas = 0;
            for await (const event of run) if (event.type === "text-delta" && ++deltas === 3) run.stop("now");
            const result = await run.result;
            await agent.close();
            return result;
        }""",
        peer.origin,
    )
    assert await closed_soon(peer)
    assert peer.opened == peer.closed == 1
    assert result["status"] == "aborted"
    assert result["diagnostics"]["partialText"].startswith("word word")


async def test_no_byte_is_read_after_the_stop(threaded: Page, peer: SlowPeer) -> None:
    peer.piece = PIECE
    await threaded.evaluate(
        """async (peer) => {
            const agent = await slow(peer, thread);
            const run = agent.run("talk");
            for await (const event of run) if (event.type === "text-delta") break;
            await run.result;
            await agent.close();
        }""",
        peer.origin,
    )
    assert await closed_soon(peer)
    sent = peer.pieces
    await asyncio.sleep(0.2)
    assert peer.pieces == sent


async def test_leaving_the_loop_stops_the_run_on_the_wire(threaded: Page, peer: SlowPeer) -> None:
    peer.piece = PIECE
    status = await threaded.evaluate(
        """async (peer) => {
            window.left = await slow(peer, thread);
            window.run = left.run("talk");
            for await (const event of run) if (event.type === "text-delta") break;
            return (await run.result).status;
        }""",
        peer.origin,
    )
    assert await closed_soon(peer), "before the runtime is closed"
    assert status == "aborted"
    await threaded.evaluate("left.close()")


async def test_a_throw_inside_the_loop_stops_the_run_too(threaded: Page, peer: SlowPeer) -> None:
    peer.piece = PIECE
    error = await threaded.evaluate(
        """async (peer) => {
            window.left = await slow(peer, thread);
            return T.error(async () => {
                for await (const event of left.run("talk")) if (event.type === "text-delta") throw new Error("mine");
            });
        }""",
        peer.origin,
    )
    assert error["message"] == "mine"
    assert await closed_soon(peer)
    await threaded.evaluate("left.close()")


async def test_closing_the_runtime_closes_its_connections(threaded: Page, peer: SlowPeer) -> None:
    peer.piece = PIECE
    await threaded.evaluate(
        """async (peer) => {
            const agent = await slow(peer, thread);
            const run = agent.run("talk");
            await new Promise((resolve) => (async () => {
                for await (const event of run) if (event.type === "text-delta") resolve();
            })());
            await agent.close();
        }""",
        peer.origin,
    )
    assert await closed_soon(peer)


async def test_a_stop_before_the_head_of_the_response_closes_it(threaded: Page, peer: SlowPeer) -> None:
    peer.silent = True
    status = await threaded.evaluate(
        """async (peer) => {
            window.left = await slow(peer, thread);
            const run = left.run("talk");
            setTimeout(() => run.stop("now"), 300);
            return (await run.result).status;
        }""",
        peer.origin,
    )
    assert await closed_soon(peer)
    assert status == "aborted"
    await threaded.evaluate("left.close()")


async def test_a_timeout_closes_the_connection_and_is_called_one(threaded: Page, peer: SlowPeer) -> None:
    peer.silent = True
    result = await threaded.evaluate(
        """async (peer) => {
            const provider = {name: "openai-compatible", model: "m", baseUrl: peer, timeoutMs: 200, retry: {maxRetries: 0}};
            window.left = await Agrun.createRuntime({provider, ...thread});
            return left.run("talk");
        }""",
        peer.origin,
    )
    assert result["error"]["code"] == "PROVIDER_TIMEOUT"
    assert await closed_soon(peer)
    await threaded.evaluate("left.close()")


async def test_a_blocked_origin_is_told_with_its_host_and_the_two_ways_out(threaded: Page, peer: SlowPeer) -> None:
    peer.allow_origin = False
    result = await threaded.evaluate(
        """async (peer) => {
            window.left = await slow(peer, thread);
            return left.run("talk");
        }""",
        peer.origin,
    )
    error = result["error"]
    assert error["code"] == "NETWORK_OR_CORS"
    assert "127.0.0.1" in error["message"]
    words = f"{error['message']} {error['hint']}"
    assert "CORS" in words
    assert "proxyUrl" in words
    assert "disable" not in words.lower()
    await threaded.evaluate("left.close()")


async def test_stop_after_the_step_lets_the_action_finish(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const done = [];
        const slow = {name: "slow", description: "Takes its time.", tier: 0, argsSchema: {},
                      execute: async (args, context) => { await T.sleep(200); done.push(context.signal.aborted); return "done"; }};
        const agent = await T.agent([{calls: [{name: "slow", args: {}}]}, {text: "unreached"}], {actions: [slow]});
        const run = agent.run("x");
        for await (const event of run) if (event.type === "action-executing") run.stop("after_step");
        const result = await run.result;
        await agent.close();
        return {done, status: result.status, asked: agent.model.seen.requests.length};
    }""")
    assert found == {"done": [False], "status": "aborted", "asked": 1}


async def test_stop_now_aborts_the_signal_of_a_running_action(page: Page) -> None:
    found = await page.evaluate("""async () => {
        let aborted = false;
        const wait = {name: "wait", description: "Waits.", tier: 0, argsSchema: {}, execute: (args, {signal}) => new Promise((_, reject) => {
            signal.addEventListener("abort", () => { aborted = true; reject(signal.reason); });
        })};
        const agent = await T.agent([{calls: [{name: "wait", args: {}}]}], {actions: [wait]});
        const run = agent.run("x");
        for await (const event of run) if (event.type === "action-executing") run.stop("now");
        const {status} = await run.result;
        await agent.close();
        return {aborted, status};
    }""")
    assert found == {"aborted": True, "status": "aborted"}


@pytest.mark.parametrize("late", ["yield", "return"])
async def test_what_the_page_says_after_the_end_is_ignored(page: Page, late: str) -> None:
    """g06: pieces come after the call returned, the stream ends, a late one is no crash."""
    found = await page.evaluate(
        """async (late) => {
            const provider = {async *stream() {
                await T.sleep(10);
                yield {type: "text-delta", text: "a"};
                yield {type: "text-delta", text: "b"};
                if (late === "return") { yield {type: "finished", reason: "stop"}; return; }
                await T.sleep(300); // the run is stopped by now
                yield {type: "text-delta", text: "late"};
            }};
            const agent = await Agrun.createRuntime({provider: "mine:m", providers: {mine: provider}});
            const run = agent.run("x");
            let text = "";
            if (late === "yield") setTimeout(() => run.stop("now"), 150);
            for await (const event of run) if (event.type === "text-delta") text += event.detail.text;
            await T.sleep(400);
            const alive = (await agent.describeComposition()) !== undefined;
            await agent.close();
            return {text, alive};
        }""",
        late,
    )
    assert found == {"text": "ab", "alive": True}


HANGS = """
from agrun_wasm import skill_tool

@skill_tool(description="Hangs.", parameters={"type": "object", "properties": {}})
def hang():
    while True:
        pass
"""


async def test_a_worker_that_does_not_answer_is_ended_within_two_seconds(browser: Browser, site: Site) -> None:
    page = await open_page(browser, site)
    found = await page.evaluate(
        """async (tools) => {
            const skill = {files: {"SKILL.md": "---\\nname: hang\\ndescription: Hangs.\\n---\\nHang.", "tools.py": tools}, trustTools: true};
            const agent = await T.agent([
                {calls: [{name: "read_agent_skill", args: {skillName: "hang"}}]},
                {calls: [{name: "use_agent_skill", args: {}}]},
                {calls: [{name: "execute_skill_tool", args: {toolName: "hang"}}]},
            ], {skills: [skill]});
            const run = agent.run("x");
            await T.sleep(1000);
            const since = performance.now();
            await agent.close();
            return {ms: performance.now() - since, error: await T.error(run)};
        }""",
        HANGS,
    )
    assert found["ms"] < 3_000
    assert found["error"]["code"] == "CLOSED"
    assert await without_workers(page)
    await page.close()
