"""A page that stays open for a day: proxies and memory after a thousand runs are what they were."""

from __future__ import annotations

from playwright.async_api import Page, Worker

RUNS = 1_000
WARM_UP = 300  # until Python's heap has grown to what its garbage collector lets live at once


async def test_a_thousand_runs_leave_no_proxy_and_no_memory_behind(page: Page, worker: Worker) -> None:
    await worker.evaluate("() => { pyodide._module.enable_pyproxy_allocation_tracing(); }")
    measure = "() => { pyodide.runPython('import gc; gc.collect()'); return [pyodide._module.pyproxy_alloc_map.size, pyodide._module.HEAP8.length]; }"
    await page.evaluate("""async () => {
        const add = {name: "add", description: "Adds.", tier: 0, argsSchema: {a: {type: "integer"}}, execute: async ({a}) => a + 1};
        const call = {type: "tool-call", id: "c", name: "add", args: {a: 1}};
        const provider = {async *stream({messages}) {
            if (messages.at(-1).role === "tool") yield {type: "text-delta", text: "two"};
            else yield call;
            yield {type: "finished", reason: messages.at(-1).role === "tool" ? "stop" : "tool_calls"};
        }};
        window.counted = await Agrun.createRuntime({provider: "mine:m", providers: {mine: provider}, actions: [add]});
    }""")
    runs = """async (count) => {
        for (let done = 0; done < count; done += 10) {
            const results = await Promise.all(Array.from({length: 10}, () => counted.run("1 + 1?").result));
            if (results.some((result) => result.output.text !== "two")) throw new Error("a run went wrong");
        }
        return performance.memory.usedJSHeapSize;
    }"""
    await page.evaluate(runs, WARM_UP)
    proxies, memory = await worker.evaluate(measure)
    heap = await page.evaluate("async () => { globalThis.gc?.(); return performance.memory.usedJSHeapSize; }")
    await page.evaluate(runs, RUNS)
    proxies_after, memory_after = await worker.evaluate(measure)
    heap_after = await page.evaluate("async () => { globalThis.gc?.(); return performance.memory.usedJSHeapSize; }")
    await page.evaluate("counted.close()")
    await worker.evaluate("() => { pyodide._module.disable_pyproxy_allocation_tracing(); }")
    assert proxies_after - proxies <= 3
    assert memory_after - memory <= 4 * 2**20
    assert heap_after - heap <= 8 * 2**20
