"""A run in the terminal: the answer on standard output, what happens on the way on standard error.

Owned here: what a person sees and is asked. Nothing that a model, a tool or a server wrote is read as markup, and no
control character of theirs reaches the terminal. Must not know: how a run is started, stopped or gone on with.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

from rich.console import Console
from rich.status import Status
from rich.text import Text

from agrun_wasm import RunEvent, RunResult
from agrun_wasm.text.shorten import cut_middle, one_line

__all__ = ["Screen", "printable"]

#: event type -> sign, the sign where the terminal has no such characters, style
_SIGNS = {
    "action-executing": ("→", ">", "cyan"),
    "action-executed": ("✓", "+", "green"),
    "action-failed": ("✗", "x", "red"),
    "action-timeout": ("✗", "x", "red"),
    "action-protocol-error": ("✗", "x", "red"),
    "action-args-invalid": ("!", "!", "yellow"),
    "action-guardrail-blocked": ("!", "!", "yellow"),
    "policy-denied": ("⊘", "-", "yellow"),
    "model-retry": ("↻", "~", "yellow"),
    "planner-mode-fallback": ("!", "!", "yellow"),
    "planner-invalid-decision": ("!", "!", "yellow"),
    "auto-read": ("→", ">", "cyan"),
    "cost-budget-warning": ("!", "!", "yellow"),
}
#: event type -> what is waited for after it
_WAITING = {"planner-requested": "thinking", "finalize-requested": "writing", "model-retry": "waiting"}
#: the details that say most of a step, the first that it has counts
_TELLING = ("summary", "error", "reason", "code", "url", "kind")
#: asked by its own question, not by rows
_ASKING = "ask_clarification"

_ROW_CHARS = 500
_ARGS_CHARS = 20_000
#: control characters, and those that make text read in another order than it is written
_HIDDEN = {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_SHOWN: dict[int, str | None] = {
    **{code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _HIDDEN},
    ord("\n"): "\n",
    ord("\t"): "\t",
    ord("\r"): None,
}


def printable(text: str) -> str:
    """The text with what could steer a terminal written out, line breaks and tabs apart."""
    return text.translate(_SHOWN)


class Screen:
    """Shows a run, and how it goes on. The answer streams into a terminal, elsewhere it is printed when it is whole."""

    def __init__(self) -> None:
        plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
        self._out = Console(**plain, soft_wrap=True)
        # Lines are broken for people only: elsewhere they are searched and stored.
        self._err = Console(**plain, stderr=True, soft_wrap=not sys.stderr.isatty())
        #: only a terminal can be told that what it shows is no answer after all
        self._streams = sys.stdout.isatty()
        self._status: Status | None = None
        self._said = False
        self._in_line = False
        self._after_rows = False

    def show(self, event: RunEvent) -> None:
        """One event, as it happens."""
        if event.type == "text-delta":
            self._say(event.detail["text"])
        elif event.type == "answer-superseded":
            if self._said:
                self.note(f"({event.detail['reason']})")
            self._said = False
        elif event.type in _SIGNS and event.detail.get("actionName") != _ASKING:
            self._row(event)
        if event.type in _WAITING:
            self._wait(_WAITING[event.type])
        elif event.type == "action-executing":
            self._wait(printable(one_line(event.detail["actionName"], 60)))

    def end(self, result: RunResult) -> None:
        """How the run ended, as far as it was not shown yet."""
        self.rest()
        if result.status == "completed":
            if not self._said:
                self._out.print(printable(result.text))
        elif result.error is not None:
            self._err.print(Text(printable(result.error.code), "red"), printable(f": {result.error.message}"), sep="")
            if result.error.hint:
                self.note(f"  {result.error.hint}")
        elif result.status == "aborted":
            self.note("stopped")
        elif result.status == "continuation":
            self.note(result.text)
        self._said = False

    def rest(self) -> None:
        """Nothing is waited for, and the cursor stands at the beginning of a line."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        if self._in_line:
            self._out.print()
            self._in_line = False

    def note(self, text: str) -> None:
        self.rest()
        self._err.print(Text(printable(text), "dim"))

    def problem(self, text: str, hint: str = "") -> None:
        self.rest()
        self._err.print(Text("agrun: ", "red"), printable(text), sep="")
        if hint:
            self.note(f"  {hint}")

    def approval(self, pending: Mapping[str, Any]) -> None:
        """What is to be approved: every argument, whole up to a length at which nobody reads it."""
        self.rest()
        name, reason = printable(pending["actionName"]), printable(pending["reason"])
        args = json.dumps(pending["args"], ensure_ascii=False, indent=2)
        self._err.print(Text("? ", "yellow"), Text(name, "bold"), f" needs approval ({reason}), with", sep="")
        self._err.print(printable(cut_middle(args, _ARGS_CHARS)))
        _forget_typed_ahead()

    def question(self, text: str) -> None:
        self.rest()
        self._err.print(Text("? ", "yellow"), printable(text), sep="")

    def ask(self, words: str, read: Callable[[str], str | None]) -> str:
        """What the person answers, asked again until `read` makes something of it. Raises EOFError."""
        # Who edits lines must know what stands before them, or takes it away with the line.
        edited = sys.stdin.isatty() and sys.stdout.isatty()
        while True:
            if not edited:
                self._err.print(Text(words, "bold"), end="")
            try:
                answer = read(input(words if edited else "").strip())
            except (EOFError, KeyboardInterrupt):
                self._err.print()
                raise
            if answer is not None:
                return answer

    def _say(self, text: str) -> None:
        if not self._streams or not text:
            return
        if not self._in_line:
            self.rest()
            if self._after_rows:
                self._err.print()
                self._after_rows = False
        self._out.print(printable(text), end="")
        self._said = True
        self._in_line = not text.endswith("\n")

    def _row(self, event: RunEvent) -> None:
        self.rest()
        failed = event.type == "action-executed" and event.detail.get("ok") is False
        sign, ascii_sign, style = _SIGNS["action-failed" if failed else event.type]
        row = Text.assemble("  ", (sign if self._can_write(sign) else ascii_sign, style), " ", *_parts(event))
        if self._err.is_terminal:
            overflow: Literal["ellipsis", "crop"] = "ellipsis" if self._can_write("…") else "crop"
            self._err.print(row, no_wrap=True, overflow=overflow)
        else:
            self._err.print(row, soft_wrap=True)
        self._after_rows = True

    def _can_write(self, sign: str) -> bool:
        try:
            sign.encode(self._err.encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def _wait(self, what: str) -> None:
        if not self._err.is_terminal or self._in_line:
            return
        if self._status is None:
            self._status = self._err.status(Text(what, "dim"), spinner="dots" if self._can_write("⠋") else "line")
            self._status.start()
        else:
            self._status.update(Text(what, "dim"))


def _forget_typed_ahead() -> None:
    """What was typed before something was shown is no answer to it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import termios

        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _parts(event: RunEvent) -> list[tuple[str, str]]:
    """The words of a row, each with its style."""
    detail = event.detail
    name = str(detail.get("actionName") or "")
    if event.type == "action-executing":
        args = json.dumps(detail["args"], ensure_ascii=False)
        return [(_line(name), "bold"), (" ", ""), (_line(args), "dim")]
    if event.type == "model-retry":
        said = f"{detail['code']}, asked again in {detail['delayMs'] / 1000:.1f} s"
    else:
        said = str(next((detail[key] for key in _TELLING if detail.get(key)), event.type))
    return [(_line(f"{name}: {said}" if name and not said.startswith(name) else said), "dim")]


def _line(text: str) -> str:
    return printable(one_line(text, _ROW_CHARS))
