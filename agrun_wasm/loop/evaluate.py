"""Evaluate: may this answer leave, and how does the cycle end? Rules: document 2, 2.8, 2.10.

Before the door, in this order: autoRead, the writer where one is due, citation review, the host's veto. What is sent
back stands in an observation and the next cycle decides.
"""

from __future__ import annotations

from agrun_wasm.contracts.decision import Call
from agrun_wasm.contracts.errors import ErrorInfo, ProviderError
from agrun_wasm.contracts.result import CycleRecord
from agrun_wasm.loop.budget import out_of_budget
from agrun_wasm.loop.calls import new_call, run_calls
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import call_hook, reason_of
from agrun_wasm.loop.finish import compose, requested_citations
from agrun_wasm.loop.model_call import call_model
from agrun_wasm.loop.orient import messages
from agrun_wasm.loop.outcome import Answer, Blocked, Failed, GoOn, Outcome, OutOfBudget, WriteAnswer
from agrun_wasm.loop.telling import results_record, tell
from agrun_wasm.loop.waiting import Interrupted
from agrun_wasm.planner.messages import plan_results
from agrun_wasm.planner.reading import decide_record
from agrun_wasm.planner.writing import finalizer_request
from agrun_wasm.research.auto_read import auto_read_targets
from agrun_wasm.research.citations import cite
from agrun_wasm.research.review import review, review_observation

MAX_VETOES = 2
_LABELS: dict[type, str] = {
    GoOn: "continue",
    Answer: "final",
    Blocked: "blocked",
    OutOfBudget: "continuation",
    Failed: "failed",
}


async def evaluate(ctx: RunContext, outcome: Outcome) -> Outcome:
    """The outcome after everything that stands before the door; closes the cycle's record."""
    chosen = isinstance(outcome, WriteAnswer) and outcome.chosen
    if chosen or (isinstance(outcome, Answer) and outcome.source == "planner_final"):
        draft = outcome.text if isinstance(outcome, Answer) else ""
        if await auto_read(ctx, draft):
            return close_cycle(ctx, GoOn())
    if isinstance(outcome, WriteAnswer):
        outcome = await write(ctx, outcome)
    if isinstance(outcome, Answer):
        outcome = await before_door(ctx, outcome)
    return close_cycle(ctx, outcome)


async def write(ctx: RunContext, wanted: WriteAnswer) -> Answer | Failed:
    """The finaliser's answer; its failure is the run's."""
    ctx.emit("finalize-requested", instruction=wanted.instruction)
    ctx.supersede("the writer composes the answer")
    request = finalizer_request(
        ctx.state,
        messages(ctx, as_text=True),
        wanted.instruction,
        directives=ctx.config.planner_directives,
        settings=ctx.ports.provider_config.settings,
    )
    reply = await call_model(ctx, request, shown=True)
    if not reply.text.strip():
        raise ProviderError(
            "PROVIDER_BAD_RESPONSE", "the writer's reply is empty", hint="Try again or change the model."
        )
    if reply.finish == "length":
        ctx.state.diagnostics["truncated"] = "the answer was cut at the token limit"
    ctx.emit("finalize-completed", characters=len(reply.text))
    return Answer(text=reply.text, source="runtime_finalize")


async def before_door(ctx: RunContext, answer: Answer) -> Outcome:
    """Citation review, then the veto; the answer itself when both let it pass."""
    research, counters = ctx.state.research_context, ctx.state.loop_state
    steps_left = _steps_left(ctx)
    cited = cite(answer.text, answer.citations, research)
    verdict = review(
        requested_citations(ctx),
        cited.cited_read,
        source=answer.source,
        reviews_done=counters.citation_reviews,
        steps_left=steps_left,
        severity=ctx.config.candidate_quality.source_issue_severity,
    )
    if verdict.verdict == "review":
        counters.citation_reviews += 1
        ctx.emit("citation-review", **verdict.step_detail())
        can_read = any(action.name == "read_url" for action in ctx.surface.offered(ctx.state))
        told = review_observation(verdict, answer.text, cited.unread, research, can_read=can_read)
        return _send_back(ctx, told)
    if verdict.verdict == "blocked":
        return Failed(
            ErrorInfo(
                code="CITATIONS_BLOCKED",
                message=f"the answer cites {verdict.have} of the {verdict.need} read pages that are required",
                hint="Lower requestedCitations.minUrlCount, allow more reviews, or set severity to advisory.",
                details={"text": answer.text, "have": verdict.have, "need": verdict.need},
            )
        )
    if reason := await _veto(ctx, answer):
        if counters.vetoes < MAX_VETOES and steps_left > 0:
            counters.vetoes += 1
            return _send_back(ctx, f"The answer was refused: {reason}\nThe text that was sent back:\n{answer.text}")
        ctx.state.diagnostics.setdefault("vetoesIgnored", []).append(reason)
    return answer


def _steps_left(ctx: RunContext) -> int:
    """Steps that could still follow: none once time or money are spent, and an answer is then delivered as it is."""
    return 0 if out_of_budget(ctx) else ctx.state.budgets.steps_left


async def auto_read(ctx: RunContext, draft: str) -> bool:
    """Reads unread candidates of the latest search first, once; True when the planner is to be asked again (2.10)."""
    research = ctx.state.research_context
    action = ctx.surface.registry.get("read_url")
    limit = ctx.config.research.auto_read
    if not research.auto_read_candidates or _steps_left(ctx) < 1 or limit < 1 or action is None:
        return False
    if action not in ctx.surface.offered(ctx.state) or ctx.surface.policy(action).action != "allow":
        return False
    targets = auto_read_targets(ctx.state, limit)
    research.auto_read_candidates = []
    if not targets:
        return False
    calls = []
    for url in targets:
        ctx.emit("auto-read", url=url)
        call = new_call(ctx.state, Call(named="read_url", action_name="read_url", args={"url": url}), None)
        await run_calls(ctx, [call], None, may_ask=False)  # nobody is asked for what the runtime does by itself
        calls.append(call)
    told = plan_results([(place, call.call, call.outcome) for place, call in enumerate(calls) if call.outcome])
    text = f"Before the answer, the runtime read what the search found:\n{told}"
    if draft:
        text += f"\n\nYour draft, not delivered yet:\n{draft}"
    ctx.supersede("found pages are read first")
    tell(ctx, text + "\nDecide again, from what was read.", calls)
    return True


def close_cycle(ctx: RunContext, outcome: Outcome, *, label: str | None = None, keep: bool = False) -> Outcome:
    """Writes the record of a step spent. A blocked cycle, or one that is kept for an extension, stays in progress: its
    record goes on then."""
    cycle = ctx.state.cycle
    if cycle is None or cycle.decision is None:
        return outcome
    label = label or _LABELS[type(outcome)]
    record = CycleRecord(
        cycle=cycle.cycle,
        observe=cycle.observe,
        orient=cycle.orient,
        decide=decide_record(cycle.decision),
        act={"results": [] if keep and cycle.phase == "decided" else results_record(ctx)},
        evaluate={"outcome": label},
    )
    if ctx.state.cycles and ctx.state.cycles[-1].cycle == cycle.cycle:
        ctx.state.cycles.pop()
    ctx.state.cycles.append(record)
    if not isinstance(outcome, Blocked) and not keep:
        ctx.emit("cycle-completed", outcome=label)
        ctx.state.cycle = None
    return outcome


def _send_back(ctx: RunContext, text: str) -> GoOn:
    ctx.supersede("the answer was sent back")
    tell(ctx, text)
    return GoOn()


async def _veto(ctx: RunContext, answer: Answer) -> str | None:
    """The beforeFinalize hook's reason against the output as it would be delivered."""
    if "beforeFinalize" not in ctx.ports.hooks:
        return None
    try:
        return reason_of(ctx, await call_hook(ctx, "beforeFinalize", compose(ctx, answer).output))
    except Interrupted:
        raise
    except Exception as error:  # a hook that fails refuses nothing; the host finds the failure noted
        notes = ctx.state.diagnostics.setdefault("hooks", [])
        notes.append({"hook": "beforeFinalize", "error": ctx.words_of(error)})
        return None
