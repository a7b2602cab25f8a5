"""Durable runs in one process: asked for once, answered once, stopped anywhere, read along by anyone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agrun_host.durable.runs import DurableRuns
from agrun_host.runs import NoSuchRun, RunIdTaken, RunView
from agrun_wasm import Action, ApprovalInvalid, ConfigInvalid, Runtime, StateInvalid
from tests.host.postgres import Postgres

KEY = "sk-test-0123456789abcdef"


class Model:
    """Answers by what it is asked alone; `hold` keeps it from answering."""

    def __init__(self) -> None:
        self.hold = asyncio.Event()
        self.hold.set()
        self.asked: list[Any] = []
        self.news = asyncio.Condition()
        self.done: list[str] = []

    async def stream(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        async with self.news:
            self.asked.append(request)
            self.news.notify_all()
        yield {"type": "text-delta", "text": "Let me see. "}
        await self.hold.wait()
        prompt = next(m for m in reversed(request.messages) if m.role == "user").text
        results = sum(message.role == "tool" for message in request.messages)
        if "order" in prompt and not results:
            yield {"type": "tool-call", "id": "c1", "name": "order", "args": {"sku": "A"}}
            yield {"type": "finished", "reason": "tool_calls"}
            return
        yield {"type": "text-delta", "text": f"You said {prompt!r}, {len(request.messages)} messages. {KEY}"}
        yield {"type": "finished", "reason": "stop"}

    async def was_asked(self, times: int = 1) -> None:
        async with self.news:
            await self.news.wait_for(lambda: len(self.asked) >= times)

    def runtime(self, journal: Any) -> Runtime:
        async def order(context: Any, args: Any) -> Any:
            self.done.append(args["sku"])
            return {"ordered": args["sku"], "key": KEY}

        schema = {"sku": {"type": "string", "required": True}}
        return Runtime(
            provider={"name": "fake", "model": "m", "apiKey": KEY},
            providers={"fake": self},
            actions=[Action("order", "Orders.", 1, planner={"argsSchema": schema}, execute=order)],
            journal=journal,
        )


async def ended(runs: DurableRuns, run_id: str) -> RunView:
    async for _ in runs.events(run_id):
        pass
    return await runs.view(run_id)


def approvals(view: RunView) -> list[str]:
    assert view.result is not None
    return [approval["approvalId"] for approval in view.result["output"]["approvals"]]


async def test_a_run_is_asked_for_once_and_read_by_many(database_url: str) -> None:
    model = Model()
    model.hold.clear()
    async with await DurableRuns.open(model.runtime, database_url) as runs:
        asked = await asyncio.gather(*(runs.start({"prompt": "hello"}, run_id="mine") for _ in range(3)))
        assert {view.run_id for view in asked} == {"mine"}
        for other, session in (({"prompt": "other"}, None), ({"prompt": "hello"}, "s")):
            with pytest.raises(RunIdTaken):
                await runs.start(other, run_id="mine", session=session)

        there = asyncio.Semaphore(0)

        async def read() -> list[Any]:
            events = []
            async for event in runs.events("mine"):
                events.append(event)
                if event["type"] == "text-delta":
                    there.release()
            return events

        readers = [asyncio.create_task(read()) for _ in range(3)]
        for _ in readers:  # one that came later would not see the deltas of a step that is over
            await there.acquire()
        model.hold.set()
        read_along = await asyncio.gather(*readers)
        assert len(model.asked) == 1
        view = await runs.view("mine")
        assert view.status == "completed"
        assert view.result is not None
        assert "state" not in view.result
        steps = [event for event in read_along[0] if "delta" not in event["type"]]
        assert steps == view.result["steps"]
        assert [event async for event in runs.events("mine")] == steps, "deltas are there while they are news"
        assert [event async for event in runs.events("mine", after=steps[-2]["seq"])] == steps[-1:]
        for events in read_along:
            assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
            assert "".join(e["detail"]["text"] for e in events if e["type"] == "text-delta").startswith(
                "Let me see. You"
            )
        with pytest.raises(NoSuchRun):
            await runs.view("other")
        with pytest.raises(ConfigInvalid):
            await runs.start({"promt": "x"})


async def test_an_approval_counts_once_whoever_answers_and_also_after_a_restart(database_url: str) -> None:
    model = Model()
    async with await DurableRuns.open(model.runtime, database_url) as runs:
        first = await runs.start({"prompt": "order A"}, session="shop")
        blocked = await ended(runs, first.run_id)
        assert blocked.status == "blocked"
        with pytest.raises(ApprovalInvalid) as unknown:
            await runs.decide(first.run_id, {"made:up": "approve"})
        assert unknown.value.reason == "unknown"
        assert await runs.view(first.run_id) == blocked, "a refused answer changes nothing"
    async with await DurableRuns.open(model.runtime, database_url) as runs:
        (approval,) = approvals(await runs.view(first.run_id))
        answers = await asyncio.gather(
            *(runs.decide(first.run_id, {approval: "approve"}) for _ in range(4)), return_exceptions=True
        )
        assert sum(isinstance(answer, RunView) for answer in answers) == 1
        done = await ended(runs, first.run_id)
        assert done.status == "completed"
        assert model.done == ["A"]
        seen = [event["seq"] async for event in runs.events(first.run_id)]
        assert seen == sorted(set(seen))
        with pytest.raises(ApprovalInvalid) as used:
            await runs.decide(first.run_id, {approval: "approve"})
        assert used.value.reason == "used"
        with pytest.raises(StateInvalid):
            await runs.decide(first.run_id, {})
        after = await ended(runs, (await runs.start({"prompt": "and now?"}, session="shop")).run_id)
        assert after.result is not None
        assert "3 messages" in after.result["output"]["text"], "the turn before is seen"


async def test_a_stop_ends_a_run_that_runs_one_that_waits_for_its_turn_and_one_that_waits_for_a_person(
    database_url: str,
) -> None:
    model = Model()
    async with await DurableRuns.open(model.runtime, database_url) as runs:
        waiting = await runs.start({"prompt": "order A"}, run_id="waits")
        assert (await ended(runs, waiting.run_id)).status == "blocked"
        model.hold.clear()
        await runs.start({"prompt": "hello"}, run_id="runs", session="s")
        await model.was_asked(2)
        await runs.start({"prompt": "me too"}, run_id="queues", session="s")
        for run_id in ("queues", "runs", "waits"):
            await runs.stop(run_id)
            assert (await ended(runs, run_id)).status == "aborted", run_id
        assert (await runs.stop("runs")).status == "aborted"
        assert len(model.asked) == 2
        assert model.done == []
        model.hold.set()
        assert (await ended(runs, (await runs.start({"prompt": "again"}, session="s")).run_id)).status == "completed"


async def test_a_run_goes_on_where_it_was_when_its_process_closed(database_url: str) -> None:
    model = Model()
    model.hold.clear()
    async with await DurableRuns.open(model.runtime, database_url, executor_id="one") as runs:
        await runs.start({"prompt": "hello"}, run_id="r", session="s")
        await model.was_asked()
    model.hold.set()
    async with await DurableRuns.open(model.runtime, database_url, executor_id="one") as runs:
        events = [event async for event in runs.events("r")]
        assert (await runs.view("r")).status == "completed"
        assert [event["type"] for event in events].count("run-started") == 1
        assert len(model.asked) == 2


def files(folder: Path) -> str:
    return b"".join(path.read_bytes() for path in folder.glob("test.db*")).decode("latin-1")


async def test_no_key_is_in_the_database(database_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    model = Model()
    async with await DurableRuns.open(model.runtime, database_url) as runs:
        await ended(runs, (await runs.start({"prompt": "hello"}, session="s")).run_id)
        blocked = await ended(runs, (await runs.start({"prompt": "order A"}, session="s")).run_id)
        await runs.decide(blocked.run_id, {approvals(blocked)[0]: "approve"})
        assert (await ended(runs, blocked.run_id)).status == "completed"
    if database_url.startswith("sqlite"):
        kept = files(tmp_path)
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        kept = postgres.dump(database_url)
    assert "ordered" in kept
    assert KEY not in kept
