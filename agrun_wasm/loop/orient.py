"""Orient: what the planner is offered and shown now; gives the request of the cycle."""

from __future__ import annotations

from agrun_wasm.contracts.model import Message, ModelRequest
from agrun_wasm.loop.context import RunContext


def orient(ctx: RunContext) -> ModelRequest:
    """The planner's request for the cycle in progress; writes down what was offered."""
    state = ctx.state
    prompt = ctx.prompts.prompt(state)
    ctx.cycle.orient = {"activeSkill": state.agent_skill_context.active, "offered": prompt.names}
    return ctx.prompts.request(prompt, messages(ctx), ctx.ports.provider_config.settings)


def messages(ctx: RunContext, *, as_text: bool | None = None) -> tuple[Message, ...]:
    """The messages to send; as plain text where the request offers no tools."""
    if shortened := ctx.transcript.compact():
        ctx.emit("context-compacted", shortened=shortened)
    return ctx.transcript.view(as_text=ctx.state.planner_mode == "envelope" if as_text is None else as_text)
