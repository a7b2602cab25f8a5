"""A scenario played: its stages through the public API, each ending in the actual record that check.py judges.

Owns the stages of FORMAT.md and the record's form. Pure Python without files, so that the very same runs in Pyodide.
"""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm import Runtime
from tests.conformance.check import check
from tests.conformance.world import ScenarioError, World

_SLOTS = ("toolContext", "researchContext", "agentSkillContext", "virtualWorkspace", "loopState")
_SESSION = "scenario"


@dataclass
class Played:
    """What came of a scenario: the failures, none when all holds, and the record of each stage."""

    failures: list[str]
    records: list[dict[str, Any]]


async def run_scenario(scenario: Mapping[str, Any]) -> list[str]:
    """The failures of a scenario, none when all holds."""
    return (await play(scenario)).failures


async def play(scenario: Mapping[str, Any], world: World | None = None) -> Played:
    """Play every stage and judge it, in a world of the scenario's own unless one is given."""
    world = world or World(scenario)
    records = await perform(scenario, world)
    expects = scenario.get("expectEach") or [None] * (len(records) - 1) + [scenario.get("expect")]
    failures = []
    for number, (expect, record) in enumerate(zip(expects, records, strict=True)):
        where = f"stage {number}: " if len(records) > 1 else ""
        failures += [where + failure for failure in (check(expect, record) if expect else [])]
    return Played(failures + world.faults(), records)


async def perform(scenario: Mapping[str, Any], world: World) -> list[dict[str, Any]]:
    """The record of every stage, unjudged."""
    first = {"build": True} if scenario.get("build") else {"run": scenario.get("run")}
    stages = _Stages(world, scenario.get("stopAt"))
    try:
        return [await stages.perform(what) for what in (first, *scenario.get("then", []))]
    finally:
        await world.close()


@dataclass
class _Stages:
    """Performs stages one after another; keeps the runtime and the state that the next one goes on from."""

    world: World
    stop_at: Mapping[str, Any] | None
    runtime: Runtime | None = None
    result: dict[str, Any] | None = None
    seen: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    async def perform(self, what: Mapping[str, Any]) -> dict[str, Any]:
        """One stage and its record; what the API raises is part of the record."""
        self.world.mark()
        self.events = []
        raised, outcome = None, {}
        try:
            outcome = await self._perform(what)
        except Exception as error:
            raised = _raised(error)
        result = outcome.get("result")
        self.result = result or self.result
        state = (self.result or {}).get("state") or {}
        record: dict[str, Any] = _json(
            {
                "raised": raised,
                "result": result,
                "events": self.events,
                **self.world.asked(),
                "runState": {slot: state.get(slot) for slot in _SLOTS},
                "inspect": outcome.get("inspect"),
                "describe": outcome.get("describe"),
            }
        )
        return record

    async def _perform(self, what: Mapping[str, Any]) -> dict[str, Any]:
        if self.runtime is None:
            self.runtime = await self.world.build()
        if what.get("build"):
            return {}
        if "run" in what:
            return {"result": await self._follow(self.runtime.session(_SESSION).stream(what["run"]))}
        if "resume" in what or "extend" in what:
            return {"result": await self._resume(what)}
        if "inspect" in what:
            return {"inspect": await _settled(self.runtime.inspect_prompt(what["inspect"]))}
        if "describe" in what:
            return {"describe": await _settled(self.runtime.describe_composition())}
        if "stateRoundTrip" in what:
            return {"result": await self._round_trip()}
        raise ScenarioError(f"unknown stage {what}")

    async def _resume(self, what: Mapping[str, Any]) -> dict[str, Any]:
        """`resume` and `extend`; the options may stand in the stage or inside `resume`."""
        options = {**what.get("resume", {}), **what}
        state = _json(self._latest()["state"])
        if options.get("fresh"):
            replaced = {key: options[key] for key in ("config", "actions") if key in options}
            self.runtime = await self.world.build(replaced)
        assert self.runtime is not None
        approvals = _pending(self._latest())
        decisions = _decisions(options.get("decisions", {}), approvals, options.get("note"))
        if "tamper" in options:
            _tamper(state, decisions, options["tamper"])
        if options.get("expired"):
            until = max(approval["expiresAt"] for approval in approvals)
            self.world.clock.advance(until - self.world.clock.now() + 1)
        result = {}
        for _ in range(2 if options.get("again") else 1):
            result = await self._follow(
                self.runtime.stream_resume(_json(state), decisions=decisions, extend=options.get("extend"))
            )
        return result

    async def _follow(self, opening: Any) -> dict[str, Any]:
        """Take the events of a run as they come, stop it where the scenario says so, and give its result."""
        async with opening as run:
            async for event in run:
                seen = event.to_json()
                self.events.append(seen)
                if self._stops_at(seen):
                    assert self.stop_at is not None
                    await _settled(run.stop(self.stop_at["how"]))
            result = await run.result()
        return dict(_json(result.to_json()))

    def _stops_at(self, event: Mapping[str, Any]) -> bool:
        if not self.stop_at or event["type"] != self.stop_at["event"]:
            return False
        self.seen += 1
        return self.seen == int(self.stop_at.get("nth", 1))

    async def _round_trip(self) -> dict[str, Any]:
        """Export, import into a new runtime, export again: the result that the second export holds."""
        first = (await self.world.build()).load(_json(self._latest()["state"]))
        second = (await self.world.build()).load(_json(first.to_json()["state"]))
        return dict(_json(second.to_json()))

    def _latest(self) -> dict[str, Any]:
        if self.result is None:
            raise ScenarioError("no earlier stage gave a result")
        return self.result


def _pending(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list((result.get("output") or {}).get("approvals") or [])


def _decisions(by_index: Mapping[str, Any], approvals: list[dict[str, Any]], note: str | None) -> dict[str, Any]:
    """Decisions by approval id; a key that is no place among the pending ones is passed on as an id."""
    decisions = {}
    for key, decision in by_index.items():
        approval = approvals[int(key)] if key.isdigit() and int(key) < len(approvals) else {"approvalId": key}
        if note is not None and decision in ("deny", {"decision": "deny"}):
            decision = {"decision": "deny", "note": note}
        decisions[approval["approvalId"]] = decision
    return decisions


def _tamper(state: dict[str, Any], decisions: Mapping[str, Any], altered: Mapping[str, Any]) -> None:
    for approval in state["approvals"]["pending"]:
        if approval["approvalId"] in decisions:
            approval.update(altered)


def _raised(error: Exception) -> dict[str, Any]:
    code = getattr(error, "code", None)
    trace = [] if code else "".join(traceback.format_exception(error)).splitlines()[-16:]
    return {
        "type": type(error).__name__,
        "code": code,
        "message": getattr(error, "message", str(error)),
        "trace": trace,
    }


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _json(value: Any) -> Any:
    """A deep copy by way of JSON text: whatever is no JSON fails here."""
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False))
