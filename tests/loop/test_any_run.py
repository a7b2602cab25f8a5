"""Runs over replies made at random: whatever a model says, stops, budgets and people do, these things hold.

No run is lost or fails in the runtime itself, every request is one that a provider accepts, every step spent has its
record, and every state goes on from its JSON.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_wasm import Action, RunResult, Runtime, Skill
from agrun_wasm.contracts.model import ModelRequest
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.clock import FakeClock
from tests.conformance.web import FakeFetch, FakeSearch
from tests.kit import CountedIds

SAFE = {
    "effect": "external_network",
    "interruptBehavior": "abort_safe",
    "isConcurrencySafe": True,
    "isDestructive": False,
    "isReadOnly": True,
    "needsApproval": False,
}
SCHEMA = {"x": {"type": "integer", "required": True, "aliases": ["ex"]}, "tag": {"type": "string", "enum": ["a", "b"]}}
MAX_STEPS = 6


def action(name: str, clock: FakeClock, ran: list[str], **keys: Any) -> Action:
    async def execute(context: Any, args: dict[str, Any]) -> Any:
        ran.append(context.idempotency_key)
        await clock.sleep(10 * args["x"])
        if args["x"] == 3:
            raise RuntimeError("three does not work")
        if args["x"] == 2:
            return {"ok": False, "why": "two"}
        if name == "close":
            return {"control": "complete", "output": {"text": "closed", "x": args["x"]}, "summary": "closed"}
        return {"name": name, "x": args["x"]}

    parts = {"description": f"Does {name}.", "tier": 0, "planner": {"argsSchema": SCHEMA, "aliases": [f"{name}2"]}}
    return Action(name, execute=execute, timeout_ms=45, **{**parts, **keys})


def actions(clock: FakeClock, ran: list[str]) -> list[Action]:
    """Actions that note the key of every call that reaches them."""
    kinds: dict[str, dict[str, Any]] = {
        "look": {"permission": SAFE},
        "write": {},
        "pay": {"tier": 1},
        "ban": {"tier": 3},
        "close": {},
        "alone": {"planner": {"argsSchema": SCHEMA, "standalone": True}},
        "hidden": {"planner": False},
    }
    return [action(name, clock, ran, **keys) for name, keys in kinds.items()]


SKILL = """---
name: tides
description: Tides of a port
---
Use it."""
TOOLS = """from agrun_wasm import skill_tool

@skill_tool(description="Final.", parameters={"type": "object", "properties": {"x": {"type": "integer"}}},
            result_kind="final")
def report(x=0):
    return {"ok": x != 2, "markdown": "" if x == 1 else "# Report", "provenance": 5 if x == 3 else "tables"}

@skill_tool(description="A step.", parameters={"type": "object", "properties": {"x": {"type": "integer"}}})
def step(x=0):
    return {"x": x, "resultKind": "lookup"}
"""
FOUND = [{"title": f"Page {n}", "url": f"https://example.org/{n}", "snippet": "tides"} for n in range(3)]
PAGES = [{"url": page["url"], "headers": {"content-type": "text/plain"}, "body": page["title"]} for page in FOUND[:2]]

good = st.builds(lambda x: {"x": x}, st.integers(0, 5))
plain_calls = st.tuples(st.sampled_from(["look", "write", "pay", "LOOK2", "functions.write"]), good)
odd_calls = st.tuples(
    st.sampled_from(["ban", "close", "alone", "hidden", "nope", "look"]),
    st.one_of(good, st.sampled_from([{}, {"ex": 1}, {"x": "1"}, {"x": 1, "tag": "z"}, {"x": 1, "tag": "a"}])),
)
built_in_calls = st.one_of(
    st.sampled_from(
        [
            ("web_search", {"query": "tides"}),
            ("read_url", {"url": "https://example.org/0"}),
            ("read_url", {"url": "https://example.org/9"}),
            ("read_agent_skill", {"skillName": "tides"}),
            ("use_agent_skill", {}),
            ("handoff_to_skill", {"skillName": "tides", "inputFilter": {"toolHistory": {"keepLast": 0}}}),
            ("workspace_write", {"path": "a.md", "content": "# A"}),
            ("workspace_publish_candidate", {"path": "a.md"}),
        ]
    ),
    st.builds(
        lambda tool, x: ("execute_skill_tool", {"toolName": tool, "args": {"x": x}}),
        st.sampled_from(["report", "step", "nope"]),
        st.integers(0, 3),
    ),
)
items = st.builds(
    lambda call: {"type": "action", "name": call[0], "args": call[1], "section": {"prompt": "Write it."}},
    st.one_of(plain_calls, plain_calls, plain_calls, built_in_calls, odd_calls),
)
plans = st.builds(
    lambda listed, extra: ("plan", {"actions": listed, **extra}),
    st.lists(items, max_size=4),
    st.sampled_from(
        [
            {"partial_ok": True},
            {"synthesize_instruction": "direct"},
            {"partial_ok": True, "synthesize_instruction": "Sum up."},
            {"synthesize_per_action": True},
            {
                "synthesize_per_action": True,
                "partial_ok": True,
                "stitch": {"intro_prompt": "Open.", "followups": ["?"]},
            },
        ]
    ),
)
tool_calls = st.one_of(
    plain_calls,
    plain_calls,
    odd_calls,
    built_in_calls,
    plans,
    st.sampled_from(
        [
            ("final_answer", {"answer": "the end"}),
            ("final_answer", {}),
            ("finalize", {"instruction": "short"}),
            ("ask_clarification", {"question": "Which?"}),
        ]
    ),
)


#: what only makes sense one after another, each a reply of its own
WAYS = [
    [("read_agent_skill", {"skillName": "tides"})],
    [("use_agent_skill", {"skillName": "tides"})],
    [("execute_skill_tool", {"toolName": "report", "args": {"x": 0}})],
    [("web_search", {"query": "tides"})],
    [("plan", {"actions": [{"type": "action", "name": "look", "args": {"x": n}} for n in (0, 1)]})],
]


@st.composite
def native_replies(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from([*["calls"] * 9, "text", "error", "broken"]))
    usage = {"usage": {"inputTokens": draw(st.integers(0, 5)), "outputTokens": 1}}
    if kind == "text":
        texts = ["the end", "", '{"type":"final","answer":"x"}', '{"type":"plan","actions":[]}', "{", "<think>"]
        return {"text": draw(st.sampled_from(texts)), **usage}
    if kind == "error":
        statuses = [400, 401, 503, 503, 503]
        status = draw(st.sampled_from(statuses))
        return {"error": {"status": status, "body": draw(st.sampled_from(["", "tools are not known"]))}}
    named = draw(st.one_of(st.lists(tool_calls, min_size=1, max_size=4), st.sampled_from(WAYS)))
    calls = [{"name": name, "args": given_} for name, given_ in named]
    if kind == "broken":
        calls[0] = {"name": calls[0]["name"], "argsText": draw(st.sampled_from(['{"x":', "[1]", "", "null", '"s"']))}
    reply: dict[str, Any] = {"toolCalls": calls, **usage}
    if draw(st.integers(0, 9)) == 0:
        reply["finishReason"] = "length"
    if draw(st.booleans()):
        reply["text"] = "Let me see."
    return reply


@st.composite
def envelope_replies(draw: st.DrawFn) -> dict[str, Any]:
    name, given_ = draw(tool_calls)
    words = {"final_answer": "final", "finalize": "finalize", "plan": "plan", "ask_clarification": "clarify"}
    if name in words:
        envelope: dict[str, Any] = {"type": words[name], **given_}
    else:
        envelope = {"type": "action", "name": name, "args": given_}
    text = json.dumps(envelope)
    usage = {"usage": {"inputTokens": draw(st.integers(0, 5)), "outputTokens": 1}}
    spoiled = st.sampled_from(["", text[:-2], "plain words", f"```json\n{text}\n```", text + text, "[" + text + ",{}]"])
    return {"text": draw(st.one_of(st.just(text), st.just(text), spoiled)), **usage}


def assert_a_provider_accepts(request: ModelRequest) -> None:
    """Every call has its result right after its message, and nothing else has one."""
    waiting: list[str] = []
    for message in request.messages:
        if message.role == "tool":
            assert waiting, "a result without its call"
            assert message.tool_call_id == waiting.pop(0)
        else:
            assert waiting == [], "a call without its result"
            waiting = [call.id for call in message.tool_calls]
            for call in message.tool_calls:
                assert isinstance(json.loads(call.args_text or "{}"), dict)
    assert waiting == []


ENDS = {
    "completed": "run-completed",
    "blocked": "run-blocked",
    "continuation": "run-continuation",
    "failed": "run-failed",
    "aborted": "run-aborted",
}


def assert_holds(result: RunResult, steps_given: int) -> None:
    text = json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False)
    text.encode()
    assert result.error is None or result.error.code != "INTERNAL", result.error
    assert result.steps[-1].type == ENDS[result.status]
    seqs = [step.seq for step in result.steps]
    assert seqs == sorted(set(seqs))
    assert result.final_answer_source == result.terminalized_by
    assert (result.output is None) == (result.status in ("failed", "aborted"))
    assert (result.error is not None) == (result.status == "failed")
    spent = steps_given - result.state["budgets"]["stepsLeft"]
    assert len(result.cycles) == spent, "one record for each step spent"
    assert [record.cycle for record in result.cycles] == sorted({record.cycle for record in result.cycles})
    counts = [s.type for s in result.steps]
    assert counts.count("cycle-started") >= spent
    answered = {"action-executed", "action-failed", "action-timeout", "action-protocol-error"}
    executing = counts.count("action-executing")
    done = sum(counts.count(type_) for type_ in answered)
    assert done <= executing
    if result.status != "aborted":
        assert done == executing
        assert len(result.state["toolContext"]["history"]) == counts.count("action-executed")
    approvals = result.state["approvals"]
    assert counts.count("approval-required") == len(approvals["pending"]) + len(approvals["resolved"])
    assert counts.count("approval-resolved") == len(approvals["resolved"])
    if result.status == "blocked" and result.output is not None and result.output["kind"] == "approval_required":
        assert [a["approvalId"] for a in result.output["approvals"]] == [
            a["approvalId"] for a in result.state["approvals"]["pending"]
        ]


Choose = Callable[[list[Any]], Any]


def drawn(data: st.DataObject) -> Choose:
    return lambda options: data.draw(st.sampled_from(options))


class Player:
    """Drives one run to its last end: answers approvals, extends budgets, in fresh runtimes where that was drawn."""

    def __init__(self, replies: list[dict[str, Any]], config: dict[str, Any], choose: Choose) -> None:
        self._clock = FakeClock()
        self._ids = CountedIds()
        self._ran: list[str] = []
        self._provider = ScriptedProvider(
            [*replies, *({"text": "the last words"} for _ in range(40))], allow_unused=True
        )
        self._config = config
        self._choose = choose
        self._with_host_parts = choose([False, True])
        self._runtime = self._new()

    def _new(self) -> Runtime:
        return Runtime(
            provider="scripted:test",
            providers={"scripted": self._provider},
            clock=self._clock,
            ids=self._ids,
            actions=actions(self._clock, self._ran),
            skills=[Skill.from_files({"SKILL.md": SKILL, "tools.py": TOOLS}, trust_tools=True)],
            fetch=FakeFetch(PAGES, self._clock),
            web_search=FakeSearch(FOUND),
            **self._hosts(),
            **self._config,
        )

    def _hosts(self) -> dict[str, Any]:
        """A judge and hooks that answer by the arguments and texts they see, some after a while, some never well."""
        if not self._with_host_parts:
            return {}

        async def judge(decision: dict[str, Any], args: dict[str, Any]) -> Any:
            await self._clock.sleep(7_000 if args.get("x") == 5 else 3)
            return {0: "allow", 1: "deny", 4: "well"}.get(args.get("x", 0), "allow")

        async def before_action(decision: dict[str, Any], args: dict[str, Any]) -> str | None:
            await self._clock.sleep(2)
            if args.get("x") == 4:
                raise ValueError("the hook fails")
            return "not today" if args.get("tag") else None

        async def after_action(output: Any) -> Any:
            return {"seen": output} if isinstance(output, dict) and output.get("x") == 0 else None

        async def before_finalize(output: dict[str, Any]) -> str | None:
            await self._clock.sleep(2)
            return "too short" if len(output["text"]) < 8 else None

        return {
            "action_permission_judge": judge,
            "hooks": {"beforeAction": before_action, "afterAction": after_action, "beforeFinalize": before_finalize},
        }

    async def play(self, stop_at: tuple[int, Any] | None) -> RunResult:
        given_ = self._config["max_steps"]
        result = await self._follow(self._runtime.stream("go"), stop_at)
        assert_holds(result, given_)
        for _ in range(12):
            state = json.loads(json.dumps(result.state))
            assert self._new().load(state).to_json() == result.to_json()
            if self._choose([False, True]):
                self._runtime = self._new()
            waits = result.output or {}
            if waits.get("kind") == "approval_required":
                answers = {
                    approval["approvalId"]: self._choose(["approve", "deny"])
                    for approval in waits["approvals"][: self._choose([1, 2, 3])]
                }
                result = await self._follow(self._runtime.stream_resume(state, answers), None)
            elif result.status == "continuation":
                more = {"maxSteps": 2, "runDeadlineMs": 400, "maxCostUsd": 50}
                wanted = {key: more[key] for key in more if key == "maxSteps" or self._limits(key)}
                given_ += 2
                result = await self._follow(self._runtime.stream_resume(state, extend=wanted), None)
            else:
                break
            assert_holds(result, given_)
        for request in self._provider.requests:
            assert_a_provider_accepts(request)
        assert len(self._ran) == len(set(self._ran)), "a call ran twice"
        cut = result.status == "aborted" or "run_deadline_ms" in self._config
        assert len(self._provider.requests) - cut * 12 <= result.usage.model_calls <= len(self._provider.requests)
        return result

    def _limits(self, key: str) -> bool:
        return {"runDeadlineMs": "run_deadline_ms", "maxCostUsd": "max_cost_usd"}[key] in self._config

    @staticmethod
    async def _follow(opening: Any, stop_at: tuple[int, Any] | None) -> RunResult:
        async with opening as run:
            seen = 0
            shown = ""
            async for event in run:
                seen += 1
                if event.type == "text-delta":
                    shown += event.detail["text"]
                elif event.type == "answer-superseded":
                    shown = ""
                if stop_at is not None and seen == stop_at[0]:
                    run.stop(stop_at[1])
            result: RunResult = await asyncio.wait_for(run.result(), 20)
        if result.status == "aborted":
            assert shown == result.diagnostics["partialText"]
        if result.status == "completed":
            assert shown == result.text, "a reader of the stream ends with another text than the one delivered"
        if stop_at is not None and seen >= stop_at[0] and result.status != "aborted":
            # A stop that came in time wins; one that came with the last step's event is too late.
            assert seen - stop_at[0] <= LATE, f"stopped {seen - stop_at[0]} events before the end"
        return result


#: events that a drive may send without giving a reader its turn
LATE = 12

configs = st.fixed_dictionaries(
    {"max_steps": st.integers(1, MAX_STEPS)},
    optional={
        "max_plan_actions": st.integers(1, 3),
        "max_plan_parallel": st.integers(1, 3),
        "max_invalid_decisions": st.integers(1, 4),
        "finalize_on_exhaustion": st.booleans(),
        "run_deadline_ms": st.integers(20, 300),
        "action_policy": st.just({"web_search": "allow", "read_url": "allow"}),
        "requested_citations": st.just({"minUrlCount": 1, "maxReviews": 1}),
        "single_tool_fast_path": st.just(True),
        "skill_policy": st.just({"tides.step": "ask"}),
        "context_budget": st.just({"maxChars": 2_000, "keepLastCycles": 1}),
        "action_guardrail": st.just({"enabled": True, "exactFailureBlockAfter": 1, "noProgressBlockAfter": 1}),
    },
)
stops = st.none() | st.tuples(st.integers(1, 25), st.sampled_from(["now", "after_step"]))


@given(st.lists(native_replies(), max_size=8), configs, stops, st.data())
@settings(max_examples=60, deadline=None)
def test_any_native_run(
    replies: list[dict[str, Any]], config: dict[str, Any], stop_at: tuple[int, Any] | None, data: st.DataObject
) -> None:
    async def play() -> None:
        await Player(replies, config, drawn(data)).play(stop_at)

    asyncio.run(play())


@given(st.lists(envelope_replies(), max_size=8), configs, stops, st.data())
@settings(max_examples=40, deadline=None)
def test_any_envelope_run(
    replies: list[dict[str, Any]], config: dict[str, Any], stop_at: tuple[int, Any] | None, data: st.DataObject
) -> None:
    async def play() -> None:
        await Player(replies, {**config, "planner_mode": "envelope"}, drawn(data)).play(stop_at)

    asyncio.run(play())


@given(st.lists(native_replies(), max_size=8), configs, st.floats(0.5, 20), st.data())
@settings(max_examples=40, deadline=None)
def test_any_run_that_costs_money(
    replies: list[dict[str, Any]], config: dict[str, Any], limit: float, data: st.DataObject
) -> None:
    price = {"inputPerM": 1_000_000, "outputPerM": 500_000}

    async def play() -> None:
        await Player(replies, {**config, "max_cost_usd": limit, "pricing": {"test": price}}, drawn(data)).play(None)

    asyncio.run(play())
