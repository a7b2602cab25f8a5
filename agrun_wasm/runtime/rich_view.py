"""A run as HTML, Markdown and plain text, for a notebook's output cell.

Owned here: what of a run a person is shown and what to call next. Without scripts and widgets: a saved notebook keeps
it, and any front end shows it. Colours are the page's own (`currentColor`), so that dark and light fit by themselves.
Must not know: where it is shown, nor how it is brought up to date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.result import RunResult, Usage
from agrun_wasm.contracts.state import RunState
from agrun_wasm.runtime.call_rows import CallRow, call_rows
from agrun_wasm.text.markdown_html import link, markdown_html
from agrun_wasm.text.shorten import cut_middle, one_line

__all__ = ["RunView", "view_of_result", "view_of_state"]

#: characters of one value; the whole of it stands in the result
SHOWN_CHARS = 4_000
SUMMARY_CHARS = 120

#: JupyterLab styles what Markdown has under two classes of its own, so those rules name ours twice
STYLE = """
.agrun-run{color-scheme:light dark;font:14px/1.5 system-ui,sans-serif;max-width:50rem;overflow-wrap:anywhere}
.agrun-run .agrun-head{font-size:12px;opacity:.8}
.agrun-run .agrun-card,.agrun-run details,.agrun-run.agrun-run pre{
border:1px solid color-mix(in srgb,currentColor 25%,transparent);border-radius:6px;padding:.3em .6em;margin:.4em 0}
.agrun-run.agrun-run pre{overflow:auto;white-space:pre-wrap;word-break:normal;
background:color-mix(in srgb,currentColor 6%,transparent)}
.agrun-run.agrun-run details pre{border:0}
.agrun-run .agrun-error{border-left:4px solid #d33}
.agrun-run .agrun-ask{border-left:4px solid #c80}
.agrun-run summary{cursor:pointer}
.agrun-run table{border-collapse:collapse}
.agrun-run.agrun-run th,.agrun-run.agrun-run td{
border:1px solid color-mix(in srgb,currentColor 25%,transparent);padding:.2em .5em}
[data-jp-theme-light=false] .agrun-run{color-scheme:dark}[data-jp-theme-light=true] .agrun-run{color-scheme:light}
"""


@dataclass(frozen=True)
class RunView:
    """The facts that are shown. `text` is Markdown; `sources` are (url, title)."""

    status: str
    text: str
    session_id: str
    steps: Sequence[RunEvent]
    usage: Usage
    cycles: int
    output: Mapping[str, Any] = field(default_factory=dict)
    error: ErrorInfo | None = None
    sources: Sequence[tuple[str, str]] = ()

    def mimebundle(self) -> dict[str, str]:
        """The view under each media type that a front end may choose from."""
        return {"text/html": self.html(), "text/markdown": self.markdown(), "text/plain": self.plain()}

    def html(self) -> str:
        rows = call_rows(self.steps, running=self.status == "running")
        parts = [
            f"<style>{STYLE}</style>",
            f'<div class="agrun-head" role="status">{escape(self.headline())}</div>',
            *(_call_html(row) for row in rows),
            self._error_html(),
            f'<div class="agrun-answer">{markdown_html(self.text)}</div>' if self.text else "",
            self._sources_html(),
            self._next_html(),
        ]
        return f'<div class="agrun-run" data-status="{escape(self.status)}">{"".join(parts)}</div>'

    def markdown(self) -> str:
        """The answer (or the failure), and what to call next."""
        parts = [self.text or self._error_line() or f"*{self.status}*"]
        if call := self.next_call():
            parts.append(f"```python\n{call}\n```")
        return "\n\n".join(parts)

    def plain(self) -> str:
        return "\n".join(filter(None, [f"<run {self.headline()}>", self.text or self._error_line(), self.next_call()]))

    def headline(self) -> str:
        """Status, cycles, calls, tokens and money on one line; what is not known is left out."""
        usage = self.usage
        tokens = [(usage.input_tokens, "tokens in"), (usage.output_tokens, "tokens out")]
        facts = [
            self.status,
            _counted(self.cycles, "cycle"),
            _counted(usage.model_calls, "model call"),
            *(f"{count:,} {name}" for count, name in tokens if count is not None),
            f"${usage.cost_usd:.4f}" if usage.cost_usd is not None else "",
        ]
        return " · ".join(filter(None, facts))

    def next_call(self) -> str:
        """The Python that goes on with a run that waits; "" for one that does not."""
        kind = self.output.get("kind")
        if kind == "approval_required":
            asked = ", ".join(f'{item["approvalId"]!r}: "approve"' for item in self.output.get("approvals") or [])
            return f'result = await runtime.resume(result, {{{asked}}})  # or "deny"'
        if kind == "clarification":
            return f'result = await runtime.run("...", session={self.session_id!r})'
        if kind == "continuation_required":
            key, value = _EXTENSIONS.get(str(self.output.get("reason")), _EXTENSIONS["steps"])
            return f'result = await runtime.resume(result, extend={{"{key}": {value}}})'
        return ""

    def _error_line(self) -> str:
        return f"{self.error.code}: {self.error.message}" if self.error else ""

    def _error_html(self) -> str:
        if self.error is None:
            return ""
        hint = f"<div>{escape(self.error.hint)}</div>" if self.error.hint else ""
        code = f"<strong>{escape(self.error.code)}</strong> {escape(self.error.message)}"
        return f'<div class="agrun-card agrun-error" role="alert">{code}{hint}</div>'

    def _sources_html(self) -> str:
        if not self.sources:
            return ""
        items = "".join(f"<li>{link(url, title)}</li>" for url, title in self.sources)
        return f'<div class="agrun-sources">Sources<ol>{items}</ol></div>'

    def _next_html(self) -> str:
        call = self.next_call()
        if not call:
            return ""
        asked = "".join(_approval_html(item) for item in self.output.get("approvals") or [])
        return f'<div class="agrun-card agrun-ask">{asked}To go on:{_pre(call)}</div>'


#: reason of a continuation -> the key that adds to that budget, and a value as an example
_EXTENSIONS = {"steps": ("maxSteps", 5), "deadline": ("runDeadlineMs", 60_000), "cost": ("maxCostUsd", 0.05)}


def view_of_result(result: RunResult) -> RunView:
    return RunView(
        status=result.status,
        text=result.text or str((result.error.details.get("text") if result.error else "") or ""),
        session_id=result.session_id,
        steps=result.steps,
        usage=result.usage,
        cycles=len(result.cycles),
        output=result.output or {},
        error=result.error,
        sources=_sources(result.output or {}, (result.state.get("researchContext") or {}).get("sources") or []),
    )


def view_of_state(state: RunState, text: str) -> RunView:
    """A run in progress; `text` is what its model has said of the answer so far."""
    output = state.output or {}
    found = [source.to_json() for source in state.research_context.sources]
    return RunView(
        status=state.status,
        text=str(output.get("text") or "") or text,
        session_id=state.session_id,
        steps=state.steps,
        usage=state.usage,
        cycles=len(state.cycles),
        output=output,
        error=state.error,
        sources=_sources(output, found),
    )


def _sources(output: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    titles = {str(source.get("url")): str(source.get("title") or "") for source in known}
    return [(str(url), titles.get(str(url)) or str(url)) for url in output.get("citations") or []]


def _call_html(row: CallRow) -> str:
    head = f"<code>{escape(row.name)}</code> {escape(row.end)}"
    if row.summary:
        head += f" · {escape(one_line(row.summary, SUMMARY_CHARS))}"
    body = "".join(f"<div>{title}{_pre(_words(value))}</div>" for title, value in row.parts())
    return f"<details><summary>{head}</summary>{body}</details>"


def _approval_html(item: Mapping[str, Any]) -> str:
    reason = f" · {escape(str(item['reason']))}" if item.get("reason") else ""
    name, tier = escape(str(item.get("actionName"))), escape(str(item.get("tier")))
    head = f"<strong>{name}</strong> waits for approval (tier {tier})"
    return f"<div>{head}{reason}{_pre(_words(item.get('args')))}</div>"


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _words(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return cut_middle(text, SHOWN_CHARS)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
