# ruff: noqa: E501 (JS stands in the strings)
"""A page that stays open for a day: proxies and memory after a thousand runs are what they were."""

from __future__ import annotations

from playwright.async_api import Page, Worker

RUNS = 1_000
WARM_UP = 300  # until Python's heap has grown to what its garbage collector lets live at once


MEASURE = """() => {
    const blocks = pyodide.runPython("import gc, sys; gc.collect(); sys.getallocatedblocks()");
    return {proxies: pyodide._module.pyproxy_alloc_map.size, blocks, bytes: pyodide._module.HEAP8.length};
}"""
AGENT = """async () => {
    const add = {name: "add", description: "Adds.", tier: 0, argsSchema: {a: {type: "integer"}}, execute: async ({a}) => a + 1};
    const provider = {async *stream({messages}) {
        const answered = messages.at(-1).role === "tool";
        yield answered ? {type: "text-delta", text: "two"} : {type: "tool-call", id: "c", name: "add", args: {a: 1}};
        yield {type: "finished", reason: answered ? "stop" : "tool_calls"};
    }};
    window.counted = await Agrun.createRuntime({provider: "mine:m", providers: {mine: provider}, actions: [add]});
}"""
RUN = """async (count) => {
    for (let done = 0; done < count; done += 10) {
        const results = await Promise.all(Array.from({length: 10}, () => counted.run("1 + 1?").result));
        if (results.some((result) => result.output.text !== "two")) throw new Error("a run went wrong");
    }
}"""


async def heap_of(page: Page) -> int:
    """Bytes of the page's JS objects that are still reachable."""
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    usage = await session.send("Runtime.getHeapUsage")
    await session.detach()
    return int(usage["usedSize"])


async def test_a_thousand_runs_leave_no_proxy_and_no_memory_behind(page: Page, worker: Worker) -> None:
    await worker.evaluate("() => { pyodide._module.enable_pyproxy_allocation_tracing(); }")
    await page.evaluate(AGENT)
    await page.evaluate(RUN, WARM_UP)
    heap = await heap_of(page)
    before = await worker.evaluate(MEASURE)
    await page.evaluate(RUN, RUNS)
    heap_after = await heap_of(page)
    after = await worker.evaluate(MEASURE)
    await page.evaluate("counted.close()")
    await worker.evaluate("() => { pyodide._module.disable_pyproxy_allocation_tracing(); }")
    assert after["proxies"] - before["proxies"] <= 3
    assert after["blocks"] - before["blocks"] <= 1_000, "less than one object a run"
    assert after["bytes"] <= before["bytes"] * 1.25, "at most one step of the heap's own growth"
    assert heap_after - heap <= 2**20
