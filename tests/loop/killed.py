"""A run that is killed (SIGKILL) at its n-th moment, for every n, and goes on in a new process from what it saved.

`python -m tests.loop.killed SCENARIO MOMENT` prints a JSON line for each kill point, and a last one for the run that
nobody killed: how it ended, which steps were seen before, and which calls of actions and of the model were made. The
processes are forks, so that they start in no time; all that they share is a folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from agrun_wasm import Action, RunResult, Runtime
from agrun_wasm.contracts.model import Finished, ModelEvent, ModelRequest, TextDelta, TokenUsage, ToolCall, ToolCallDone
from agrun_wasm.runtime.run import EventLog
from tests.kit import CountedIds

RUN = "run-1"
SAFE = {"effect": "external_write", "isConcurrencySafe": True}


class FolderStore:
    """The Store port on a folder; a file is there whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def save_run(self, run_id: str, state: Mapping[str, Any]) -> None:
        self._write(run_id, {"state": state, "used": self._used(run_id)})

    async def add_to_run(self, run_id: str, entry: Mapping[str, Any]) -> None:
        saved = self._read(run_id)
        saved["state"]["journal"].append(entry)
        self._write(run_id, saved)

    async def load_run(self, run_id: str) -> Mapping[str, Any] | None:
        saved = self._read(run_id)
        return saved and saved["state"]  # type: ignore[no-any-return]

    async def save_session(self, session_id: str, history: list[Any]) -> None:
        self._write(session_id, history)

    async def load_session(self, session_id: str) -> list[Any] | None:
        return self._read(session_id)

    async def use_approvals(self, approval_ids: list[str], run_id: str, state: Mapping[str, Any]) -> str | None:
        used = self._used(run_id)
        for approval_id in approval_ids:
            if approval_id in used:
                return approval_id
        self._write(run_id, {"state": state, "used": [*used, *approval_ids]})
        return None

    def _used(self, run_id: str) -> list[str]:
        return (self._read(run_id) or {"used": []})["used"]  # type: ignore[no-any-return]

    def _write(self, name: str, value: Any) -> None:
        new = self._folder / f"{name}.new"
        new.write_text(json.dumps(value), encoding="utf-8")
        new.replace(self._folder / f"{name}.json")

    def _read(self, name: str) -> Any:
        file = self._folder / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def call(name: str, args: Mapping[str, Any], id: str = "c") -> ToolCall:  # noqa: A002
    return ToolCall(id=id, name=name, args_text=json.dumps(args))


PLAN = {
    "actions": [
        {"type": "action", "name": "note", "args": {"n": n}, "section": {"prompt": f"part {n}"}} for n in range(3)
    ],
    "synthesize_per_action": True,
    "stitch": {"intro_prompt": "open"},
}
#: scenario -> what the model says at its n-th turn, a turn being the number of its own messages in the request
SCENARIOS: dict[str, list[str | list[ToolCall]]] = {
    "one": [[call("note", {"n": 1})], "The end."],
    "two": [[call("note", {"n": 1}), call("note", {"n": 2}, "d")], [call("note", {"n": 3})], "The end."],
    "plan": [[call("plan", PLAN)]],
    "finalize": [[call("note", {"n": 1})], [call("finalize", {"instruction": "short"})]],
    "approval": [[call("note", {"n": 1}), call("pay", {"n": 2}, "d")], "The end."],
}


class Model:
    """Answers by the request alone, and logs each call when it has been answered."""

    def __init__(self, turns: list[str | list[ToolCall]], log: Path) -> None:
        self._turns = turns
        self._log = log

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        turn = sum(message.role == "assistant" for message in request.messages)
        said = self._turns[turn] if request.purpose == "planner" else f"Text for {request.messages[-1].text[-7:]}."
        for _ in range(2):
            await asyncio.sleep(0)
        if isinstance(said, str):
            for piece in (said[:4], said[4:]):
                yield TextDelta(piece)
        else:
            for one in said:
                yield ToolCallDone(one)
        with self._log.open("a") as log:
            log.write(f"{request.purpose} {turn} {request.messages[-1].text[-7:]}\n".replace("\n", " ") + "\n")
        yield Finished("stop" if isinstance(said, str) else "tool_calls", TokenUsage(input_tokens=3, output_tokens=1))


def runtime(scenario: str, folder: Path) -> Runtime:
    def action(name: str, tier: int) -> Action:
        async def execute(context: Any, args: dict[str, Any]) -> Any:
            await asyncio.sleep(0)
            with (folder / "ran.log").open("a") as log:
                log.write(f"{name} {args['n']} {context.idempotency_key}\n")
            return {"noted": args["n"]}

        schema = {"n": {"type": "integer", "required": True}}
        return Action(name, f"Does {name}.", tier, planner={"argsSchema": schema}, permission=SAFE, execute=execute)

    return Runtime(
        provider="mine:test",
        providers={"mine": Model(SCENARIOS[scenario], folder / "asked.log")},
        ids=CountedIds(),
        store=FolderStore(folder),
        actions=[action("note", 0), action("pay", 1)],
    )


async def begin(scenario: str, folder: Path) -> RunResult:
    async with runtime(scenario, folder) as mine:
        return await answered(mine, await mine.session("session-1").run("Note it."))


async def go_on(scenario: str, folder: Path) -> RunResult:
    async with runtime(scenario, folder) as mine:
        saved = await FolderStore(folder).load_run(RUN)
        assert saved is not None
        over = saved["status"] in ("blocked", "completed")
        return await answered(mine, mine.load(saved) if over else await mine.resume(RUN))


async def answered(mine: Runtime, result: RunResult) -> RunResult:
    while result.status == "blocked":
        assert result.output is not None
        result = await mine.resume(RUN, {result.output["approvals"][0]["approvalId"]: "approve"})
    return result


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(number: int, moment: str, folder: Path) -> None:
    """From here on this process dies at its n-th moment: as it announces an event that nobody has seen yet, or before
    or after it saves. What it announces until then is noted."""
    seen = 0
    publish, write = EventLog.publish, FolderStore._write

    def count() -> bool:
        nonlocal seen
        seen += 1
        return seen == number

    def published(log: EventLog, event: Any) -> None:
        if moment == "event" and count():
            die()
        with (folder / "seen.log").open("a") as seen_log:
            seen_log.write(json.dumps([event.seq, event.type]) + "\n")
        publish(log, event)

    def written(store: FolderStore, name: str, value: Any) -> None:
        now = moment != "event" and count()
        if now and moment == "before-save":
            die()
        write(store, name, value)
        if now:
            die()

    EventLog.publish = published  # type: ignore[method-assign]
    FolderStore._write = written  # type: ignore[method-assign]


def in_a_fork(work: Any, out: Path) -> int:
    """Runs `work` in a process of its own, its result in `out`; gives the exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            result = asyncio.run(work())
            out.write_text(json.dumps(result.to_json()), encoding="utf-8")
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1]


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def at(scenario: str, moment: str, number: int) -> dict[str, Any]:
    """What became of the run that was killed at its n-th moment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = folder / "result.json"

        async def dying() -> RunResult:
            die_at(number, moment, folder)
            return await begin(scenario, folder)

        status = in_a_fork(dying, out)
        if status != 0:
            assert status == signal.SIGKILL, f"the first process ended by itself: {status}"
            saved = (folder / f"{RUN}.json").exists()
            work = go_on if saved else begin
            assert in_a_fork(lambda: work(scenario, folder), out) == 0, f"the second process failed at {number}"
        result = json.loads(out.read_text(encoding="utf-8"))
        return {
            "killed": status != 0,
            "end": [result["status"], result["output"], result["usage"], result["cycles"]],
            "turns": json.loads((folder / "session-1.json").read_text(encoding="utf-8")),
            "steps": [[step["seq"], step["type"], step["cycle"]] for step in result["steps"]],
            "seen": [json.loads(line) for line in lines(folder / "seen.log")],
            "ran": lines(folder / "ran.log"),
            "asked": lines(folder / "asked.log"),
        }


def main() -> None:
    scenario, moment = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:  # once here, so that the forks find all models built
        asyncio.run(begin(scenario, Path(name)))
    number = 0
    killed = True
    while killed:
        number += 1
        told = at(scenario, moment, number)
        killed = told["killed"]
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
