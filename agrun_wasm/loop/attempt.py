"""One try at a call: the action's code within stop, deadline and time limit, its end as a value that a journal keeps.

A call that ended in any way is never made again: not after a crash, and not when its run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from agrun_wasm.actions.context import ActionContext
from agrun_wasm.actions.definition import Action
from agrun_wasm.actions.host_code import call_host
from agrun_wasm.actions.protocol import ActionResult, ProtocolError, read_result
from agrun_wasm.contracts.effects import effects_from_json, effects_to_json
from agrun_wasm.loop.checkpoints import Codec, Keep
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.waiting import DeadlineReached, Stopped, TimedOut, bounded
from agrun_wasm.text.digest import digest

#: permissions of built-in actions that only read and change the run's state: made again, they do the same again
_WITHIN_THE_RUN = frozenset({"none", "runtime_state", "skill_catalog", "virtual_workspace"})


class Tried(NamedTuple):
    """How a try ended: a result, or the words of its failure; both redacted."""

    end: Literal["executed", "failed", "timeout", "protocol_error", "deadline"]
    result: ActionResult | None = None
    error: str = ""


async def try_call(ctx: RunContext, action: Action, context: ActionContext, args: dict[str, Any]) -> Tried:
    """Runs the action, or gives what the journal holds for this call. Raises Stopped only."""
    if action.built_in is not None and action.permission.effect in _WITHIN_THE_RUN:
        return await _run(ctx, action, context, args, lambda tried: tried)
    of = digest([action.name, args])
    codec = Codec(write=_to_json, read=_from_json, of=of)
    return await ctx.checkpoints.once(
        context.idempotency_key, lambda keep: _run(ctx, action, context, args, keep), codec
    )


async def _run(
    ctx: RunContext, action: Action, context: ActionContext, args: dict[str, Any], keep: Keep[Tried]
) -> Tried:
    async def to_its_end() -> Tried:
        try:
            return keep(_read(ctx, action, await call_host(action.execute, context, args)))
        except Exception as error:  # a host's action may fail in any way; the model is told, the run goes on
            return keep(Tried("failed", error=ctx.words_of(error)))

    try:
        return await bounded(
            to_its_end(),
            clock=ctx.clock,
            stop=ctx.stop.cuts_actions,
            timeout_ms=action.timeout_ms,
            deadline_at=ctx.deadline_at,
        )
    except Stopped:
        raise
    except TimedOut:
        return Tried("timeout", error=f"it took longer than {action.timeout_ms} ms and was cancelled")
    except DeadlineReached:
        return Tried("deadline", error="the run's deadline passed while it ran")
    except Exception as error:  # cancelled from inside
        return Tried("failed", error=ctx.words_of(error))


def _read(ctx: RunContext, action: Action, value: Any) -> Tried:
    redactor = ctx.ports.redactor
    try:
        result = read_result(value, built_in=action.built_in is not None)
    except ProtocolError as error:
        return Tried("protocol_error", error=ctx.words_of(error))
    clean = result._replace(
        output=redactor.value(result.output),
        summary=redactor.text(result.summary),
        effects=tuple(type(effect)(*redactor.value(list(effect))) for effect in result.effects),
    )
    return Tried("executed", clean)


def _to_json(tried: Tried) -> dict[str, Any]:
    result = tried.result
    if result is None:
        return {"end": tried.end, "error": tried.error}
    saved = {"end": tried.end, "control": result.control, "output": result.output, "summary": result.summary}
    return {**saved, "effects": effects_to_json(result.effects)} if result.effects else saved


def _from_json(saved: Mapping[str, Any]) -> Tried:
    if saved["end"] in ("failed", "timeout", "protocol_error", "deadline"):
        return Tried(saved["end"], error=str(saved["error"]))
    if saved["end"] != "executed":
        raise ValueError(f"no end is called {saved['end']!r}")
    effects = effects_from_json(saved.get("effects", []))
    result = read_result({key: saved[key] for key in ("control", "output", "summary")}, built_in=False)
    return Tried("executed", result._replace(effects=effects))
