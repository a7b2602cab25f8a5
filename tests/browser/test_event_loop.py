"""The worker's event loop: what is due runs in one go, and neither the browser nor a callback loses its turn."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Worker

PRELUDE = """
import asyncio, json
from agrun_wasm.browser import event_loop
loop = asyncio.get_running_loop()
"""


async def cell(worker: Worker, code: str) -> Any:
    """The JSON that Python code ends with."""
    return await worker.evaluate("async (code) => JSON.parse(await pyodide.runPythonAsync(code))", PRELUDE + code)


async def tasks_asked_for(worker: Worker, step: str) -> int:
    """How many tasks the browser is asked for while this Python is done a thousand times."""
    return await cell(
        worker,
        f"""
plain, asked = event_loop.scheduleCallback, []
def counted(callback, delay):
    asked.append(delay)
    plain(callback, delay)
event_loop.scheduleCallback = counted
try:
    for _ in range(1_000):
        {step}
finally:
    event_loop.scheduleCallback = plain
json.dumps(len(asked))
""",
    )


async def test_many_callbacks_take_few_tasks_of_the_browser(worker: Worker) -> None:
    asked = await tasks_asked_for(worker, "await asyncio.sleep(0)")
    assert 0 < asked < 500


async def test_callbacks_run_in_their_order_and_cancelled_ones_not_at_all(worker: Worker) -> None:
    order = await cell(
        worker,
        """
order, done = [], loop.create_future()
def first():
    order.append("first")
    loop.call_soon(order.append, "of first")
    loop.call_soon(done.set_result, None)
loop.call_soon(first)
loop.call_soon(order.append, "never").cancel()
loop.call_soon(order.append, "second")
await done
json.dumps(order)
""",
    )
    assert order == ["first", "second", "of first"]


async def test_timers_ring_in_the_order_of_their_times(worker: Worker) -> None:
    """A late one is set first, a cancelled one is before all, and what is earlier than the next ring still rings."""
    found = await cell(
        worker,
        """
rung, done = [], loop.create_future()
begun = loop.time()
def ring(name):
    rung.append([name, loop.time() - begun])
loop.call_at(begun + 0.3, done.set_result, None)
loop.call_later(0.01, ring, "never").cancel()
loop.call_at(begun + 0.2, ring, "late")
loop.call_at(begun + 0.1, ring, "early")
loop.call_later(float("inf"), ring, "never")
loop.call_at(begun + 0.1, ring, "early too")
loop.call_soon(ring, "now")
await done
json.dumps(rung)
""",
    )
    assert [name for name, _ in found] == ["now", "early", "early too", "late"]
    for (_, at), least in zip(found, (0, 0.099, 0.099, 0.199), strict=True):
        assert at >= least


async def test_the_clock_of_a_run_waits_on_this_loop(worker: Worker) -> None:
    """And is told so without importing it: in a notebook the clock has another way."""
    found = await cell(
        worker,
        """
from agrun_wasm.browser import clock
begun = loop.time()
plain, clock.js = clock.js, None
try:
    await clock.BrowserClock().sleep(20)
finally:
    clock.js = plain
json.dumps(loop.time() - begun)
""",
    )
    assert found >= 0.019


async def test_a_cancelled_timer_holds_nothing_in_the_browser(worker: Worker) -> None:
    """Each call has a time limit, seldom reached: a thousand of them ask the browser once."""
    asked = await tasks_asked_for(worker, "loop.call_later(600, print).cancel()")
    assert asked <= 1


async def test_a_callback_that_ends_python_does_not_take_the_others_with_it(worker: Worker) -> None:
    exits = await cell(
        worker,
        """
exits, done = [], loop.create_future()
plain, loop._system_exit_handler = loop._system_exit_handler, exits.append
def leave():
    raise SystemExit(3)
loop.call_soon(leave)
loop.call_soon(done.set_result, None)
try:
    await asyncio.wait_for(done, 5)
finally:
    loop._system_exit_handler = plain
json.dumps(exits)
""",
    )
    assert exits == [3]


async def test_the_browser_has_its_turn_while_python_is_busy(worker: Worker) -> None:
    """A timer of the browser ends a task that never waits for anything but the loop."""
    turns = await cell(
        worker,
        """
from js import setTimeout
from pyodide.ffi import create_once_callable
rung, turns = [], 0
setTimeout(create_once_callable(lambda: rung.append(1)), 30)
while not rung:
    turns += 1
    await asyncio.sleep(0)
json.dumps(turns)
""",
    )
    assert turns > 10


async def test_what_waits_on_the_stack_keeps_nothing_else_from_running(worker: Worker) -> None:
    """Where the browser can switch stacks, a tool may wait without `await`: the loop must go on meanwhile."""
    order = await cell(
        worker,
        """
from pyodide.ffi import can_run_sync, run_sync
order, done, told = [], loop.create_future(), loop.create_future()
async def answer():
    await asyncio.sleep(0)
    order.append("answer")
    told.set_result("told")
def ask():
    order.append(run_sync(told) if can_run_sync() else "told")
    done.set_result(None)
loop.call_soon(ask)
task = loop.create_task(answer())
await asyncio.wait_for(done, 5)
await task
json.dumps(sorted(order))
""",
    )
    assert order == ["answer", "told"]
