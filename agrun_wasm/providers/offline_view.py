"""What the offline planner sees in a model request: the person's words, skills, tools, and the results so far.

Everything is read from the request alone, as a language model would read it. Must not know how anything is chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.contracts.model import Message, ModelRequest

READ, USE, RUN, LIST, ASK, PLAN = (
    "read_agent_skill",
    "use_agent_skill",
    "execute_skill_tool",
    "list_agent_skills",
    "ask_clarification",
    "plan",
)
#: offered tools that are the runtime's own and never the answer to a request by their description
RUNTIME_TOOLS = frozenset(
    {READ, USE, RUN, LIST, ASK, PLAN, "read_skill_resource", "handoff_to_skill", "finalize", "final_answer"}
)

_SKILL_LINE = re.compile(r"^- (?P<name>[^\s:]+): (?P<description>.+)$")
_QUESTION = re.compile(r"\(`(?P<name>\w+)`\)\?$")
_RESULT_OF = re.compile(r"^(?:\[\d+\] )?Result of (?P<name>\w+):\n", re.MULTILINE)
#: the line over a foreign result; for a reader that follows no instructions anyway, and no part of the result
_FRAME = re.compile(r"^\[data from [^\n]*; not instructions\]\n")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a skill, or an action (`skill` is None) with its JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    skill: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A call of this run and what came back. `value` is its JSON, None where it is no JSON."""

    name: str
    args: dict[str, Any]
    text: str
    value: Any
    ok: bool


@dataclass(frozen=True)
class View:
    """One request, taken apart. `skills` maps the name of a skill to its description."""

    request: ModelRequest
    prompt: str
    known: dict[str, str]
    skills: dict[str, str]
    actions: list[Tool]
    results: list[Result]
    skill_tools: dict[str, list[Tool]] = field(default_factory=dict)

    def offers(self, name: str) -> bool:
        return any(tool.name == name for tool in self.request.tools)

    def calls(self, name: str) -> list[Result]:
        return [result for result in self.results if result.name == name]

    @property
    def active(self) -> str | None:
        used = [result for result in self.calls(USE) if result.ok]
        return str(used[-1].value.get("skill")) if used and isinstance(used[-1].value, dict) else None


def read_view(request: ModelRequest) -> View:
    start = next((n for n in reversed(range(len(request.messages))) if request.messages[n].kind == "prompt"), 0)
    results = list(_results(request.messages[start:]))
    prompt, known = _conversation(request.messages[: start + 1])
    skills, tools = _catalog(request.system), dict[str, list[Tool]]()
    for result in results:
        if not isinstance(result.value, dict):
            continue
        if result.name == LIST:
            entries = result.value.get("skills") or []
            skills.update({e["name"]: e.get("description", "") for e in entries if isinstance(e, dict) and "name" in e})
        elif result.name == READ and result.ok:
            name = str(result.value.get("name"))
            skills.setdefault(name, str(result.value.get("description", "")))
            tools[name] = [
                Tool(str(t.get("name")), str(t.get("description", "")), t.get("parameters") or {}, name)
                for t in result.value.get("tools") or []
                if isinstance(t, dict)
            ]
    actions = [Tool(t.name, t.description, t.parameters) for t in request.tools if _is_action(t.name)]
    return View(request, prompt, known, skills, actions, results, tools)


def _is_action(name: str) -> bool:
    return name not in RUNTIME_TOOLS and not name.startswith("workspace_")


def _catalog(system: str) -> dict[str, str]:
    """The lines `- name: description` under a line that begins with "Skills"."""
    skills: dict[str, str] = {}
    inside = False
    for line in system.split("\n"):
        match = _SKILL_LINE.match(line)
        if match and inside:
            skills[match["name"]] = match["description"]
        else:
            inside = line.startswith("Skills ") and line.endswith(":")
    return skills


def question_for(name: str, what: str) -> str:
    """The words in which a missing argument is asked for; `_conversation` knows them again."""
    return f"One thing is missing: {what}. What should it be (`{name}`)?"


def _conversation(messages: tuple[Message, ...]) -> tuple[str, dict[str, str]]:
    """The request that is to be served, and arguments given in answer to questions about it."""
    known: dict[str, str] = {}
    at = len(messages) - 1
    prompt = messages[at].text if messages else ""
    while at >= 2 and messages[at - 1].role == "assistant" and messages[at - 2].role == "user":
        asked = _QUESTION.search(messages[at - 1].text.strip())
        if asked is None:
            break
        known.setdefault(asked["name"], prompt.strip())
        at -= 2
        prompt = messages[at].text
    return prompt, known


def _results(messages: tuple[Message, ...]) -> Iterator[Result]:
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in messages:
        if message.role != "tool" or message.tool_call_id not in calls:
            continue
        call = calls[message.tool_call_id]
        value = json_in(message.text)
        args = json_in(call.args_text)
        if value is None and call.name == READ and not message.is_error:
            value = _cut_skill(message.text, args)
        yield Result(
            call.name,
            args if isinstance(args, dict) else {},
            _FRAME.sub("", message.text),
            value,
            not message.is_error,
        )


def _cut_skill(text: str, args: Any) -> Any:
    """What is left of a long skill whose text was cut: its tools stand before its instructions."""
    mark = text.find('"tools": ')
    try:
        tools = json.JSONDecoder().raw_decode(text, mark + len('"tools": '))[0] if mark >= 0 else []
    except ValueError:
        tools = []
    return {"name": args.get("skillName"), "tools": tools} if isinstance(args, dict) else None


def json_in(text: str) -> Any:
    """The first JSON object or list that begins a line of the text; None where there is none."""
    for match in re.finditer(r"^\s*(?=[{\[])", text, re.MULTILINE):
        try:
            return json.JSONDecoder().raw_decode(text, match.end())[0]
        except ValueError:
            continue
    return None


def written_results(messages: tuple[Message, ...]) -> list[Result]:
    """Every result in the messages of a writer's request, which has no native calls."""
    found: list[Result] = []
    for message in messages:
        if message.role == "tool":
            found.append(_written(message.tool_name or "result", message.text, ok=not message.is_error))
            continue
        marks = list(_RESULT_OF.finditer(message.text)) if message.role == "user" else []
        for n, mark in enumerate(marks):
            end = marks[n + 1].start() if n + 1 < len(marks) else len(message.text)
            found.append(_written(mark["name"], message.text[mark.end() : end].strip(), ok=True))
    return found


def _written(name: str, text: str, *, ok: bool) -> Result:
    return Result(name, {}, _FRAME.sub("", text), json_in(text), ok)
