"""A screen that streams the answer as Markdown: what stands is printed for good, the block that grows is redrawn.

Owned here: what is drawn of a growing text, and how it is taken back. A dumb terminal and a pipe get the plain screen's
lines. Must not know: who asks, and how a run goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.segment import Segment

from agrun_host.markdown_blocks import settled
from agrun_host.terminal import Screen, printable
from agrun_wasm import RunResult

__all__ = ["MarkdownScreen"]

Line = list[Segment]

#: a block that takes so long to draw is drawn less often, so that drawing never takes most of the time
_SLOW_S, _SELDOM = 0.02, 4


class MarkdownScreen(Screen):
    """`Screen`, with answers drawn as Markdown where the terminal can redraw a line."""

    def __init__(self) -> None:
        super().__init__()
        out = self._out
        self._draws = out.is_terminal and not out.is_dumb_terminal and not out.legacy_windows
        if self._draws:  # lines are broken by us: what a terminal breaks by itself cannot be taken back
            self._out = Console(markup=False, emoji=False, highlight=False)
        #: the block that grows, and the widths of the lines that show it
        self._growing = ""
        self._drawn: list[int] = []
        self._is_begun = False
        self._drawn_at = self._cost = 0.0

    def rest(self) -> None:
        if self._growing or self._drawn:
            self._put(_lines(self._out, self._growing), [])
            self._growing = ""
            self._in_line = False
        self._is_begun = False
        super().rest()

    def end(self, result: RunResult) -> None:
        self.rest()
        if self._draws and result.status == "completed" and not self._said:
            self._say(result.text)
            self.rest()
        super().end(result)

    def _say(self, text: str) -> None:
        if not self._draws:
            super()._say(text)
            return
        if not text:
            return
        if not self._is_begun:
            self.rest()
            self._is_begun = True
        self._said = self._in_line = True
        self._growing += printable(text)
        stands = settled(self._growing)
        now = time.monotonic()
        if not stands and self._cost > _SLOW_S and now - self._drawn_at < _SELDOM * self._cost:
            return
        done, self._growing = self._growing[:stands], self._growing[stands:]
        lines = _lines(self._out, self._growing)
        finished = [*_lines(self._out, done), []] if done.strip() else []
        # A line less than fits: what is cleared of a whole screen is kept by some terminals as if it had scrolled away.
        self._put(finished, lines[-max(1, self._out.height - 2) :])
        self._drawn_at = time.monotonic()
        self._cost = self._drawn_at - now

    def _put(self, finished: Sequence[Line], growing: Sequence[Line]) -> None:
        """Takes back what was drawn of the block that grows, prints what is finished, and draws it anew: in one piece,
        so that nothing flickers."""
        width = max(1, self._out.width)
        # A terminal that has become narrower has broken the lines that it showed.
        rows = sum(max(1, -(-cells // width)) for cells in self._drawn)
        with self._out.capture() as drawn:
            self._out.print(_Printed([*finished, *growing]), soft_wrap=True, end="")
        self._drawn = [Segment.get_line_length(line) for line in growing]
        self._out.file.write((f"\x1b[{rows}F\x1b[J" if rows else "") + drawn.get())
        self._out.file.flush()


class _Heading(Heading):
    """At the margin: what is centred is torn apart when the terminal becomes narrower."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}


class _Printed:
    """Lines that were rendered."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def __rich_console__(self, _console: Console, _options: object) -> Iterator[Segment]:
        for line in self._lines:
            yield from line
            yield Segment.line()


def _lines(console: Console, text: str) -> list[Line]:
    """The text as the terminal's lines, without empty ones around."""
    if not text.strip():
        return []
    # Addresses are written out: what a link leads to is the model's word.
    lines = [_trimmed(line) for line in console.render_lines(_Markdown(text, hyperlinks=False), pad=False)]
    while lines and not _words(lines[0]):
        del lines[0]
    while lines and not _words(lines[-1]):
        del lines[-1]
    return lines


def _trimmed(line: Line) -> Line:
    """The line without blanks at its end that nobody sees: they would be broken by a terminal that becomes narrower."""
    line = list(line)
    while line and not (line[-1].style and line[-1].style.bgcolor):
        last = line.pop()
        if kept := last.text.rstrip():
            return [*line, Segment(kept, last.style)]
    return line


def _words(line: Line) -> str:
    return "".join(segment.text for segment in line).strip()
