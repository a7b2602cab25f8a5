"""ask_clarification: the one action that asks the user; `clarify` decisions are calls of it (2.3)."""

from __future__ import annotations

from typing import Any

from agrun_wasm.actions.context import ActionContext
from agrun_wasm.actions.definition import Action, BuiltIn
from agrun_wasm.contracts.effects import QuestionAsked

NAME = "ask_clarification"


def clarification_action() -> Action:
    return Action(
        NAME,
        "Ask the user one question and wait for the answer.",
        0,
        planner={
            "argsSchema": {"question": {"type": "string", "required": True}},
            "argsExample": {"question": "Which year do you mean?"},
            "decisionType": "clarify",
            "guidance": "Only when the request cannot be served without the answer.",
            "standalone": True,
        },
        permission={
            "effect": "none",
            "interruptBehavior": "abort_safe",
            "isConcurrencySafe": False,
            "isDestructive": False,
            "isReadOnly": True,
            "needsApproval": False,
        },
        execute=_ask,
        origin="built-in",
        built_in=BuiltIn(capability="clarification"),
    )


async def _ask(_context: ActionContext, args: dict[str, Any]) -> dict[str, Any]:
    question = args["question"]
    return {
        "control": "continue",
        "output": {"kind": "clarification", "question": question},
        "summary": "asked the user",
        "effects": [QuestionAsked(question)],
    }
