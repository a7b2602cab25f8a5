"""Runs in memory: what a server promises of them, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from agrun_host.local_runs import LocalRuns
from agrun_host.runs import NoSuchRun
from agrun_wasm import Action, ApprovalInvalid, ConfigInvalid, Runtime, StateInvalid
from tests.kit import calls, scripted


class Gated:
    """A model that answers with two pieces, the second when it may."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.asked = 0

    async def stream(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        self.asked += 1
        yield {"type": "text-delta", "text": "One, "}
        await self.may.wait()
        yield {"type": "text-delta", "text": "two."}
        yield {"type": "finished", "reason": "stop"}

    def runtime(self) -> Runtime:
        return Runtime(provider="gated:m", providers={"gated": self})


def ordering(*replies: Mapping[str, Any]) -> tuple[LocalRuns, list[str]]:
    """Runs whose model orders what a person must approve, and what was ordered."""
    ordered: list[str] = []

    async def order(context: Any, args: Any) -> Any:
        ordered.append(args["sku"])
        return {"ordered": args["sku"]}

    schema = {"sku": {"type": "string", "required": True}}
    action = Action("order", "Orders.", 1, planner={"argsSchema": schema}, execute=order)
    runtime, _ = scripted([calls(("order", {"sku": "A"})), *replies], actions=[action])
    return LocalRuns(runtime), ordered


async def told(runs: LocalRuns, run_id: str, after: int = 0) -> list[Mapping[str, Any]]:
    return [event async for event in runs.events(run_id, after)]


async def test_readers_at_any_pace_see_every_step_once() -> None:
    model = Gated()
    async with LocalRuns(model.runtime()) as runs:
        run_id = (await runs.start({"prompt": "x"})).run_id
        readers = [asyncio.create_task(told(runs, run_id)) for _ in range(3)]
        late = runs.events(run_id)
        first = await anext(late)
        model.may.set()
        whole = [await reader for reader in readers]
        slow = [first, *[event async for event in late]]
        after = await told(runs, run_id)
        steps = [event["seq"] for event in after]
        for seen in (*whole, slow):
            numbers = [event["seq"] for event in seen]
            assert numbers == sorted(set(numbers))
            assert set(steps) <= set(numbers)
        assert await told(runs, run_id, steps[-1]) == []
        assert [event["seq"] for event in await told(runs, run_id, steps[2])] == steps[3:]


async def test_a_reader_that_leaves_ends_nothing() -> None:
    model = Gated()
    async with LocalRuns(model.runtime()) as runs:
        run_id = (await runs.start({"prompt": "x"})).run_id
        reader = asyncio.create_task(told(runs, run_id))
        await asyncio.sleep(0)
        reader.cancel()
        await asyncio.wait([reader])
        assert (await runs.view(run_id)).status == "running"
        model.may.set()
        await told(runs, run_id)
        assert (await runs.view(run_id)).status == "completed"


async def test_a_run_that_waits_for_its_session_is_queued_and_its_turn_comes() -> None:
    model = Gated()
    async with LocalRuns(model.runtime()) as runs:
        first = await runs.start({"prompt": "x"}, session="s")
        second = await runs.start({"prompt": "y"}, session="s")
        assert (first.status, second.status) == ("running", "queued")
        reader = asyncio.create_task(told(runs, second.run_id))
        model.may.set()
        assert [event["type"] for event in await reader][-1] == "run-completed"
        assert (await runs.view(second.run_id)).status == "completed"


async def test_a_queued_run_that_is_stopped_does_no_work() -> None:
    model = Gated()
    async with LocalRuns(model.runtime()) as runs:
        await runs.start({"prompt": "x"}, session="s")
        queued = (await runs.start({"prompt": "y"}, session="s")).run_id
        assert (await runs.stop(queued)).status == "queued"
        model.may.set()
        await told(runs, queued)
        assert (await runs.view(queued)).status == "aborted"
        assert model.asked == 1


async def test_one_id_asked_for_at_the_same_time_is_one_run() -> None:
    model = Gated()
    model.may.set()
    async with LocalRuns(model.runtime()) as runs:
        views = await asyncio.gather(*(runs.start({"prompt": "x"}, run_id="run-mine") for _ in range(5)))
        assert {view.run_id for view in views} == {"run-mine"}
        await told(runs, "run-mine")
        assert model.asked == 1


async def test_what_cannot_begin_is_not_known_and_its_id_stays_free() -> None:
    class Source:
        trust_tools = False
        broken = True

        async def list(self) -> list[str]:
            if self.broken:
                raise OSError("the disk is away")
            return []

        async def load(self, name: str) -> Any: ...

    model, source = Gated(), Source()
    model.may.set()
    runtime = Runtime(provider="gated:m", providers={"gated": model}, skill_sources=[source])
    async with LocalRuns(runtime) as runs:
        with pytest.raises(ConfigInvalid, match="the disk is away"):
            await runs.start({"prompt": "x"}, run_id="run-mine")
        with pytest.raises(NoSuchRun):
            await runs.view("run-mine")
        source.broken = False
        await runs.start({"prompt": "x"}, run_id="run-mine")
        assert [event["type"] for event in await told(runs, "run-mine")][-1] == "run-completed"


async def test_an_answer_counts_once_whoever_gives_it() -> None:
    runs, ordered = ordering({"text": "Done."})
    async with runs:
        run_id = (await runs.start({"prompt": "order"})).run_id
        before = await told(runs, run_id)
        ((approval),) = (await runs.view(run_id)).result["output"]["approvals"]  # type: ignore[index]
        answers = [runs.decide(run_id, {approval["approvalId"]: "approve"}) for _ in range(4)]
        given = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(one) for one in given].count(StateInvalid) + [type(one) for one in given].count(
            ApprovalInvalid
        ) == 3
        after = await told(runs, run_id, before[-1]["seq"])
        assert after[-1]["type"] == "run-completed"
        assert [event["seq"] for event in await told(runs, run_id)] == sorted(
            {event["seq"] for event in [*before, *after] if not event["type"].endswith("-delta")}
        )
        with pytest.raises(ApprovalInvalid) as used:
            await runs.decide(run_id, {approval["approvalId"]: "approve"})
        assert used.value.reason == "used"
    assert ordered == ["A"]


async def test_a_refused_answer_leaves_the_run_as_it_was() -> None:
    runs, ordered = ordering()
    async with runs:
        run_id = (await runs.start({"prompt": "order"})).run_id
        await told(runs, run_id)
        before = await runs.view(run_id)
        with pytest.raises(ApprovalInvalid):
            await runs.decide(run_id, {f"{run_id}:approval:7": "approve"})
        assert await runs.view(run_id) == before
        assert (await told(runs, run_id))[-1]["type"] == "run-blocked"
        assert "state" not in before.result  # type: ignore[operator]
    assert ordered == []


async def test_a_run_that_waits_for_approval_can_be_stopped() -> None:
    runs, ordered = ordering()
    async with runs:
        run_id = (await runs.start({"prompt": "order"})).run_id
        await told(runs, run_id)
        await runs.stop(run_id)
        assert (await told(runs, run_id))[-1]["type"] == "run-aborted"
        assert (await runs.view(run_id)).status == "aborted"
        assert (await runs.stop(run_id)).status == "aborted"
    assert ordered == []


async def test_the_oldest_that_are_over_are_forgotten_and_those_that_wait_are_not() -> None:
    runtime, _ = scripted([calls(("order", {"sku": "A"})), *({"text": str(n)} for n in range(5))], actions=[_order()])
    async with LocalRuns(runtime, kept=2) as runs:
        ids = []
        for _ in range(5):
            ids.append((await runs.start({"prompt": "x"})).run_id)
            await told(runs, ids[-1])
        assert (await runs.view(ids[0])).status == "blocked"
        for gone in ids[1:3]:
            with pytest.raises(NoSuchRun):
                await runs.view(gone)
        assert (await runs.view(ids[4])).status == "completed"


def _order() -> Action:
    async def order(context: Any, args: Any) -> Any: ...

    schema = {"sku": {"type": "string", "required": True}}
    return Action("order", "Orders.", 1, planner={"argsSchema": schema}, execute=order)


async def test_leaving_stops_what_runs_and_what_waits_and_ends_every_reader() -> None:
    model = Gated()
    runs = LocalRuns(model.runtime())
    async with runs:
        first = (await runs.start({"prompt": "x"}, session="s")).run_id
        second = (await runs.start({"prompt": "y"}, session="s")).run_id
        readers = [asyncio.create_task(told(runs, one)) for one in (first, second)]
        await asyncio.sleep(0)
    await asyncio.gather(*readers)
    assert (await runs.view(first)).status == "aborted"
    assert (await runs.view(second)).status == "failed"
    assert model.asked == 1


async def test_nobody_knows_a_run_that_was_not_asked_for() -> None:
    async with LocalRuns(Gated().runtime()) as runs:
        for call in (runs.view("x"), runs.stop("x"), runs.decide("x", {}), told(runs, "x")):
            with pytest.raises(NoSuchRun):
                await call
