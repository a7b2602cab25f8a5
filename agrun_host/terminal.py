"""A run in the terminal: text as it streams, tool calls as rows, questions and approvals asked of the person."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.markup import escape

from agrun_wasm import Run, RunEvent, RunResult

#: event type -> how its line begins
_MARKS = {
    "action-executed": "[green]✓[/green]",
    "action-failed": "[red]✗[/red]",
    "action-timeout": "[red]✗[/red]",
    "action-protocol-error": "[red]✗[/red]",
    "action-args-invalid": "[yellow]![/yellow]",
    "policy-denied": "[yellow]⊘[/yellow]",
    "approval-required": "[yellow]?[/yellow]",
    "model-retry": "[yellow]↻[/yellow]",
    "planner-mode-fallback": "[yellow]![/yellow]",
    "planner-invalid-decision": "[yellow]![/yellow]",
}


class TerminalView:
    """Prints a run's events; keeps whether the answer's text was already shown."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_text = False
        self.shown = ""

    async def follow(self, run: Run) -> RunResult:
        async for event in run:
            self.show(event)
        self._end_text()
        return await run.result()

    def show(self, event: RunEvent) -> None:
        detail = event.detail
        if event.type == "text-delta":
            self._in_text = True
            self.shown += detail["text"]
            self._console.print(detail["text"], end="", markup=False, highlight=False, soft_wrap=True)
        elif event.type == "answer-superseded":
            self._end_text()
            self.shown = ""
            self._console.print(f"[dim]  ({escape(detail['reason'])})[/dim]")
        elif event.type == "action-executing":
            self._row(
                "[cyan]→[/cyan]", f"[bold]{escape(detail['actionName'])}[/bold] [dim]{_args(detail['args'])}[/dim]"
            )
        elif event.type in _MARKS:
            self._row(_MARKS[event.type], _words(event))

    def _row(self, mark: str, text: str) -> None:
        self._end_text()
        self._console.print(f"  {mark} {text}", highlight=False)

    def _end_text(self) -> None:
        if self._in_text:
            self._console.print()
            self._in_text = False


def _args(args: dict[str, Any]) -> str:
    text = json.dumps(args, ensure_ascii=False)
    return escape(text if len(text) <= 100 else text[:99] + "…")


def _words(event: RunEvent) -> str:
    detail = event.detail
    name = detail.get("actionName")
    said = next((detail[key] for key in ("summary", "error", "reason", "code") if detail.get(key)), event.type)
    line = " ".join(str(said).split())
    line = line if len(line) <= 120 else line[:119] + "…"
    return f"[dim]{escape(f'{name}: {line}' if name and not line.startswith(str(name)) else line)}[/dim]"


def ask_approvals(console: Console, result: RunResult) -> dict[str, Any]:
    """The person's answers to the pending approvals, by approval id."""
    answers: dict[str, Any] = {}
    for approval in (result.output or {}).get("approvals", []):
        console.print(
            f"[yellow]Approve[/yellow] [bold]{escape(approval['actionName'])}[/bold] ({escape(approval['reason'])})?"
        )
        console.print(escape(json.dumps(approval["args"], ensure_ascii=False, indent=2)), highlight=False)
        answer = console.input("[bold]y[/bold]es / [bold]n[/bold]o: ").strip().lower()
        answers[approval["approvalId"]] = "approve" if answer in ("y", "yes") else "deny"
    return answers
