"""Budgets: steps, deadline, cost. What is left lives in the state and never restarts. Rules: document 2, 2.8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def extend_budgets(state: RunState, extension: Mapping[str, Any]) -> None:
    """Adds to what is left; raises CONFIG_INVALID for an unknown key or a value that adds nothing."""
    budgets = state.budgets
    for key, value in extension.items():
        if key not in ("maxSteps", "max_steps", "runDeadlineMs", "run_deadline_ms", "maxCostUsd", "max_cost_usd"):
            raise ConfigInvalid(f"extend: unknown key {key!r}; use maxSteps, runDeadlineMs or maxCostUsd")
        whole = key in ("maxSteps", "max_steps")
        number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not number or value <= 0:
            raise ConfigInvalid(f"extend: {key!r} must be a {'whole ' if whole else ''}number above 0")
        if whole:
            budgets.steps_left += value
        elif key in ("runDeadlineMs", "run_deadline_ms"):
            budgets.deadline_left_ms = (budgets.deadline_left_ms or 0.0) + value
        else:
            budgets.cost_limit_usd = (budgets.cost_limit_usd or 0.0) + value
            budgets.cost_left_usd = (budgets.cost_left_usd or 0.0) + value
            budgets.cost_warned = False


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
