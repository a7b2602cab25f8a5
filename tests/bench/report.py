"""What a run of the benchmarks writes: the table in the terminal and in results.txt, results.json, results.svg."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench import peers
from tests.bench.chart import chart
from tests.bench.figures import Finding, Series

HEADINGS = ("", "what", "ours", "best peer", "ratio", "spread", "reach", "met")


def facts(*, quick: bool) -> dict[str, Any]:
    """Where and with what the figures were taken."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "peers": peers.versions(),
        "quick": quick,
    }


def table(findings: Sequence[Finding]) -> str:
    """The findings as aligned text. The spread is that of what is judged: the ratio, else ours."""
    rows = [HEADINGS, *(_row(finding) for finding in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, "", *_more(findings)])


def write(folder: Path, findings: Sequence[Finding], about: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    written = {**about, "findings": [finding.to_json() for finding in findings]}
    texts = {
        "results.json": json.dumps(written, indent=2, ensure_ascii=False),
        "results.txt": "\n".join([_heading(about), "", table(findings)]),
        "results.svg": chart(findings, _heading(about)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")


def number(value: float) -> str:
    """Three digits that say something."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _heading(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["peers"].items())
    return f"{about['at']}, Python {about['python']}, {about['machine']}; {versions}"


def _row(finding: Finding) -> tuple[str, ...]:
    best, ratio = finding.best_peer, finding.ratio
    peer = f"{number(finding.peers[best].median)} {finding.unit} {best}" if best else "-"
    return (
        finding.measure,
        finding.what,
        f"{number(finding.ours.median)} {finding.unit}",
        peer,
        number(ratio.median) if ratio else "-",
        _spread(finding.judged),
        f"<= {finding.reach_text}",
        "yes" if finding.met else "NO",
    )


def _spread(series: Series) -> str:
    return f"{number(series.low)} .. {number(series.high)}"


def _more(findings: Sequence[Finding]) -> list[str]:
    """What the columns have no room for: the other peers, the reach in the unit of ours, the notes."""
    lines = []
    for finding in findings:
        said = [f"reach is {number(finding.reach_of_ours)} {finding.unit}"]
        said += [f"{name} {number(series.median)} {finding.unit}" for name, series in finding.peers.items()]
        said += [f"{name} {text}" for name, text in finding.notes.items()]
        lines.append(f"{finding.measure} {finding.what}: {'; '.join(said)}")
    return lines
