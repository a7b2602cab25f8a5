"""What the offline planner says: sentences out of results, questions, and what it is.

Nothing is made up: every figure comes from a result. Must not know how a tool was chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.model import ModelRequest
from agrun_wasm.providers.offline_fill import Filled
from agrun_wasm.providers.offline_view import Result, Tool, View, json_in, question_for, written_results

WHO = (
    "Hello, I am the offline planner of agrun. There is no language model behind me: I match the English words of a "
    "request to skills and tools, run them, and answer from their results."
)
_SENTENCE_KEYS = ("text", "markdown", "answer", "message", "summary")
_MOST_SHOWN = 12


def introduction(view: View) -> str:
    return f"{WHO}\n\n{_abilities(view)}"


def nothing_fits(view: View) -> str:
    lead = "I found nothing here that can serve this request, and without a language model I can only use what is here."
    return f"{lead}\n\n{_abilities(view)}"


def _abilities(view: View) -> str:
    lines = [f"- **{name}**: {_first_sentence(text)}" for name, text in view.skills.items()]
    lines += [f"- **{tool.name}**: {_first_sentence(tool.description)}" for tool in view.actions]
    return (
        "What I can use here:\n" + "\n".join(lines) if lines else "There is no skill or action here that I could use."
    )


def _first_sentence(text: str) -> str:
    first, dot, _ = " ".join(text.split()).partition(". ")
    return first + (dot.strip() or "")


def question(tool: Tool, filled: Filled) -> tuple[str, str]:
    """The question for the first missing argument, and its name."""
    name = filled.missing[0]
    part = (tool.parameters.get("properties") or {}).get(name) or {}
    told = re.split(r"[.:;,](?:\s|$)", str(part.get("description") or name.replace("_", " ")).strip())[0]
    choices = part.get("enum")
    if choices:
        told += f" ({', '.join(str(choice) for choice in choices)})"
    return question_for(name, told[:1].lower() + told[1:]), name


def result_sentence(result: Result) -> str:
    """A result in words; a refusal or a failure is said as one."""
    value = result.value
    if not result.ok:
        return f"That did not work: {_ended(_plain(result.text))}"
    if value is None:
        text = result.text.strip()
        return text if len(text.split()) > 3 else f"Result of `{result.name}`: {text}"
    if isinstance(value, Mapping) and value.get("kind") == "agent_skill_tool_result":
        return value_sentence(str(value.get("tool")), value.get("result"))
    if isinstance(value, Mapping) and value.get("kind") == "read_url_result":
        return _page(value)
    return value_sentence(result.name, value)


def value_sentence(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        if value.get("ok") is False:
            return _failure(value)
        for key in _SENTENCE_KEYS:
            told = value.get(key)
            if isinstance(told, str) and told.strip():
                return _ended(told.strip())
        if links := _links(value.get("results")):
            return f"`{name}` found:\n{links}"
        facts = [f"{key}: {_short(part)}" for key, part in value.items() if key not in ("ok", "kind")]
        return f"Result of `{name}`:\n" + "\n".join(f"- {fact}" for fact in facts) if facts else f"`{name}` is done."
    if isinstance(value, list):
        shown = [f"- {_short(part)}" for part in value[:_MOST_SHOWN]]
        more = f"\n({len(value) - _MOST_SHOWN} more)" if len(value) > _MOST_SHOWN else ""
        return f"Result of `{name}`:\n" + "\n".join(shown) + more
    return f"Result of `{name}`: {_short(value)}"


def _links(results: Any) -> str:
    """A list of `{title, url, snippet}` as Markdown."""
    found = [entry for entry in results or [] if isinstance(entry, Mapping) and entry.get("url")]
    return "\n".join(
        f"- [{entry.get('title') or entry['url']}]({entry['url']}): {_short(entry.get('snippet') or '')}"
        for entry in found[:_MOST_SHOWN]
    )


def _failure(value: Mapping[str, Any]) -> str:
    text = f"That did not work: {_ended(str(value.get('error') or value.get('message') or 'no reason was given'))}"
    known = value.get("known")
    if isinstance(known, list) and known:
        more = ", …" if len(known) > _MOST_SHOWN else ""
        text += f" Known are: {', '.join(str(part) for part in known[:_MOST_SHOWN])}{more}."
    return text


def _page(value: Mapping[str, Any]) -> str:
    if value.get("ok") is False:
        return f"The page could not be read: {value.get('message') or value.get('error')}."
    text = " ".join(str(value.get("text") or "").split())
    start = text if len(text) <= 600 else text[:600].rsplit(" ", 1)[0] + " …"
    title = value.get("title") or value.get("url")
    return f"[{title}]({value.get('url')}) begins: {start}" if start else f"[{title}]({value.get('url')}) has no text."


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"


def _plain(text: str) -> str:
    found = json_in(text)
    if isinstance(found, Mapping) and isinstance(found.get("error"), str):
        return str(found["error"])
    return text.strip()


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。", "`", ")", "|", ":")) or "\n" in text else f"{text}."


def written(request: ModelRequest) -> str:
    """A writer's text: the results in the request, each in its own words."""
    if request.purpose in ("intro", "outro"):
        return "Here is what was found." if request.purpose == "intro" else "That is all that was found."
    told: list[str] = []
    for result in written_results(request.messages):
        if result.name in ("read_agent_skill", "use_agent_skill", "list_agent_skills"):
            continue
        sentence = result_sentence(result)
        if sentence not in told:
            told.append(sentence)
    if not told and (value := json_in(request.messages[-1].text if request.messages else "")) is not None:
        told.append(result_sentence(Result("result", {}, "", value, True)))
    return "\n\n".join(told) or "There is no result to write from."
