"""A screen that streams the answer as Markdown: its last lines while it grows, the whole of it once it stands.

Owned here: what is drawn of a growing text. A dumb terminal and a pipe get the plain screen's lines. Must not know: who
asks, and how a run goes on.
"""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from agrun_host.terminal import Screen, printable
from agrun_wasm import RunResult

__all__ = ["MarkdownScreen"]


class _Tail:
    """The last lines of a Markdown text, as many as the terminal has room for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(1, console.size.height - 2)
        for line in console.render_lines(_markdown(self._text), options, pad=False)[-room:]:
            yield from line
            yield Segment.line()


class MarkdownScreen(Screen):
    """`Screen`, with answers drawn as Markdown where the terminal can redraw a line."""

    def __init__(self) -> None:
        super().__init__()
        self._draws = self._out.is_terminal and not self._out.is_dumb_terminal
        self._answer = ""
        self._live: Live | None = None

    def rest(self) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()
            self._out.print(_markdown(self._answer))
            self._answer = ""
            self._in_line = False
        super().rest()

    def end(self, result: RunResult) -> None:
        self.rest()
        if self._draws and result.status == "completed" and not self._said:
            self._out.print(_markdown(printable(result.text)))
            self._said = True
        super().end(result)

    def _say(self, text: str) -> None:
        if not self._draws:
            super()._say(text)
            return
        if not text:
            return
        if self._live is None:
            self.rest()
            self._live = Live(console=self._out, transient=True, auto_refresh=False)
            self._live.start()
        self._answer += printable(text)
        self._live.update(_Tail(self._answer), refresh=True)
        self._said = self._in_line = True


def _markdown(text: str) -> Markdown:
    # Addresses are written out: what a link leads to is the model's word.
    return Markdown(text, hyperlinks=False)
