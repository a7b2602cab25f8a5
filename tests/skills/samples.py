"""Skills and run states made by hand, for the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.state import AgentSkillContext, Budgets, RunState
from agrun_wasm.skills.skill import Skill

TIDE_TOOLS = """
from agrun_wasm import skill_tool


@skill_tool(
    description="Look up one tide reading.",
    parameters={
        "type": "object",
        "properties": {
            "port": {"type": "string", "aliases": ["harbour"]},
            "hour": {"type": "integer"},
        },
        "required": ["port"],
    },
)
def tide_at(port, hour=12):
    return {"reading": f"{port.upper()}-{hour}"}


@skill_tool(description="Draw the tides of a day.", parameters={"type": "object", "properties": {}})
async def tide_chart():
    return ["low", "high"]
"""


def skill(name: str = "tide-table", *, front: str = "", body: str = "# Body\n\nDo it well.\n", **files: str) -> Skill:
    """A trusted skill; further files by path, `tools` is short for tools.py."""
    document = f"---\nname: {name}\ndescription: About {name}.\n{front}---\n{body}"
    texts = {"SKILL.md": document, **{path.replace("tools", "tools.py"): text for path, text in files.items()}}
    return Skill.from_files(texts, trust_tools=True)


def with_files(files: dict[str, str], name: str = "port-guide") -> Skill:
    return Skill.from_files({"SKILL.md": f"---\nname: {name}\ndescription: About {name}.\n---\nBody.\n", **files})


def state(**context: Any) -> RunState:
    """A run state with this agentSkillContext."""
    return RunState(
        run_id="r1",
        session_id="s1",
        request=RunInput(prompt="hi"),
        budgets=Budgets(steps_left=8),
        agent_skill_context=AgentSkillContext(**context),
    )


@dataclass
class Context:
    """What a built-in's execute sees of a run."""

    state: RunState


def codes(diagnostics: list[dict[str, str]]) -> list[str]:
    return [found["code"] for found in diagnostics]
