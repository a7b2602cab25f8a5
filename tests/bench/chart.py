"""The findings as a picture: for each a bar of ours and one for each peer, the longest filling the width, and a line
where our reach ends. Plain SVG, no library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tests.bench.figures import Finding

_LEFT, _WIDTH, _RIGHT = 150, 520, 130
_BAR, _GAP, _TOP = 16, 34, 48
_GOOD, _BAD, _PEER, _LINE = "#2a7f62", "#b8372e", "#b9bec6", "#1d232b"


def chart(findings: Sequence[Finding], heading: str) -> str:
    drawn: list[str] = []
    y = _TOP
    for finding in findings:
        drawn += _group(finding, y)
        y += _GAP + _BAR * (1 + len(finding.peers)) + 8
    width = _LEFT + _WIDTH + _RIGHT
    size = f'viewBox="0 0 {width} {y}" width="{width}" height="{y}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="{_LINE}">',
            '<rect width="100%" height="100%" fill="white"/>',
            _text(10, 20, "agrun_wasm and its peers: shorter is better, the line is the reach", size=14),
            _text(10, 36, heading, size=8),
            *drawn,
            "</svg>",
        ]
    )


def _group(finding: Finding, top: int) -> list[str]:
    """One finding: its name, its bars, and the line of its reach."""
    bars = {"agrun_wasm": finding.ours, **finding.peers}
    longest = max(finding.reach_of_ours, *(series.high for series in bars.values()))
    scale = _WIDTH / longest if longest else 0.0  # nothing lost is nothing to draw
    drawn = [_text(10, top + 20, f"{finding.measure}  {finding.what} (reach: {finding.reach_text})", weight="bold")]
    y = top + _GAP - 6
    for name, series in bars.items():
        colour = _PEER if name != "agrun_wasm" else _GOOD if finding.met else _BAD
        length = series.median * scale
        drawn += [
            _text(_LEFT - 6, y + 12, name, anchor="end"),
            f'<rect x="{_LEFT}" y="{y + 2}" width="{length:.1f}" height="{_BAR - 4}" fill="{colour}"/>',
            _rule(_LEFT + series.low * scale, _LEFT + series.high * scale, y + _BAR / 2, y + _BAR / 2),
            _text(_LEFT + series.high * scale + 6, y + 12, f"{series.median:.3g} {finding.unit}"),
        ]
        y += _BAR
    reach = _LEFT + finding.reach_of_ours * scale
    drawn.append(_rule(reach, reach, top + _GAP - 6, y, dashes="3 2"))
    return drawn


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, weight: str = "normal") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    return f"<text {place}>{escape(text)}</text>"


def _rule(x1: float, x2: float, y1: float, y2: float, *, dashes: str = "none") -> str:
    place = f'x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{_LINE}" stroke-dasharray="{dashes}"/>'
