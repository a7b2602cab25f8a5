"""Budgets: steps, deadline, cost. What is left lives in the state and never restarts. Rules: document 2, 2.8."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from agrun_wasm.contracts.config import ModelPrice, RuntimeConfig
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.model import TokenUsage
from agrun_wasm.contracts.result import Usage
from agrun_wasm.contracts.state import Budgets, RunState
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.outcome import OutOfBudget

_TOKEN_FIELDS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")


def new_budgets(config: RuntimeConfig) -> Budgets:
    deadline = config.run_deadline_ms
    return Budgets(
        steps_left=config.max_steps,
        deadline_left_ms=None if deadline is None else float(deadline),
        cost_left_usd=config.max_cost_usd,
        cost_limit_usd=config.max_cost_usd,
    )


#: key of an extension, in either spelling -> is it a whole number?
_EXTENSIONS = {
    "maxSteps": True,
    "max_steps": True,
    "runDeadlineMs": False,
    "run_deadline_ms": False,
    "maxCostUsd": False,
    "max_cost_usd": False,
}


def extend_budgets(state: RunState, extension: Mapping[str, Any], *, priced: bool) -> None:
    """Adds to what is left; what has no limit keeps none. `priced`: is there a price for the model?

    Raises CONFIG_INVALID for an unknown key, a value that adds nothing, or money without a price.
    """
    for key, value in extension.items():
        if key not in _EXTENSIONS:
            raise ConfigInvalid(f"extend: unknown key {key!r}; use maxSteps, runDeadlineMs or maxCostUsd")
        whole = _EXTENSIONS[key]
        number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:
            raise ConfigInvalid(f"extend: {key!r} must be a {'whole ' if whole else ''}number above 0")
        if key in ("maxCostUsd", "max_cost_usd") and not priced:
            raise ConfigInvalid(f"extend: {key!r} needs a price for the model in 'pricing'")
    budgets = state.budgets
    given = {to_camel(key): value for key, value in extension.items()}
    budgets.steps_left += given.get("maxSteps", 0)
    if budgets.deadline_left_ms is not None:
        budgets.deadline_left_ms += given.get("runDeadlineMs", 0)
    if budgets.cost_left_usd is not None and budgets.cost_limit_usd is not None:
        budgets.cost_left_usd += given.get("maxCostUsd", 0)
        budgets.cost_limit_usd += given.get("maxCostUsd", 0)


def book(ctx: RunContext, tokens: TokenUsage) -> None:
    """Books one answered model call, and warns once when the cost budget nears its end."""
    usage = ctx.state.usage
    usage.model_calls += 1
    for name in _TOKEN_FIELDS:
        if (value := getattr(tokens, name)) is not None:
            setattr(usage, name, (getattr(usage, name) or 0) + value)
    if tokens.input_tokens is None or tokens.output_tokens is None:
        ctx.state.diagnostics["usageIncomplete"] = True
    price = (ctx.config.pricing or {}).get(ctx.ports.provider_config.model)
    if price is not None:
        _book_cost(ctx, usage, cost_of(price, tokens))


def cost_of(price: ModelPrice, tokens: TokenUsage) -> float:
    """US dollars for one call; cached input counts at its own price where there is one."""
    cached = tokens.cached_input_tokens or 0
    if price.cached_input_per_m is None:
        cached = 0
    fresh = (tokens.input_tokens or 0) - cached
    per_million = fresh * price.input_per_m + cached * (price.cached_input_per_m or 0.0)
    return (per_million + (tokens.output_tokens or 0) * price.output_per_m) / 1_000_000


def _book_cost(ctx: RunContext, usage: Usage, cost: float) -> None:
    usage.cost_usd = (usage.cost_usd or 0.0) + cost
    budgets = ctx.state.budgets
    if budgets.cost_left_usd is None or budgets.cost_limit_usd is None:
        return
    budgets.cost_left_usd -= cost
    spent = budgets.cost_limit_usd - budgets.cost_left_usd
    if not budgets.cost_warned and spent >= ctx.config.cost_warn_ratio * budgets.cost_limit_usd:
        budgets.cost_warned = True
        ctx.emit("cost-budget-warning", spentUsd=usage.cost_usd, maxCostUsd=budgets.cost_limit_usd)


def cost_spent(ctx: RunContext) -> bool:
    left = ctx.state.budgets.cost_left_usd
    return left is not None and left <= 1e-12


def out_of_budget(ctx: RunContext) -> OutOfBudget | None:
    """The budget that is spent, time before money; steps are `evaluate`'s."""
    if ctx.deadline_passed():
        return OutOfBudget("deadline")
    return OutOfBudget("cost") if cost_spent(ctx) else None
