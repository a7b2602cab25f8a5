"""The benchmarks' own arithmetic and reports; the measures themselves are run by `python build.py bench`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.bench import boots, peers, report, scripts
from tests.bench.fake_openai import reply, text_frames
from tests.bench.figures import Finding, Series, against_peers
from tests.bench.imports import us_after
from tests.bench.session import Session
from tests.bench.subjects.script_agrun import time_cycles


def a_finding(*, ours: tuple[float, ...] = (1.0, 2.0, 3.0), reach: float = 0.25) -> Finding:
    taken = {"slow": Series.of([20.0, 20.0, 20.0]), "fast": Series.of([10.0, 10.0, 10.0])}
    return against_peers("M0", "a <cost>", "ms", ours=Series.of(ours), peers=taken, reach=reach, reach_text="1/4")


def test_a_ratio_is_taken_round_by_round_to_the_best_peer() -> None:
    finding = a_finding()
    assert finding.best_peer == "fast"
    assert finding.judged == Series.of([0.1, 0.2, 0.3])
    assert (finding.judged.low, finding.judged.median, finding.judged.high) == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(("reach", "met"), [(0.25, True), (0.2, True), (0.19, False)])
def test_the_median_decides_whether_a_reach_is_met(reach: float, met: bool) -> None:
    assert a_finding(reach=reach).met is met


def test_the_reach_is_also_told_in_the_unit_of_ours() -> None:
    assert a_finding(reach=0.25).reach_of_ours == pytest.approx(2.5)


def test_of_an_absolute_figure_the_lowest_round_decides() -> None:
    cpu = Series.of([60.0, 45.0, 70.0])
    finding = Finding("M0", "a cost", "µs", cpu, {}, cpu, 50.0, "50 µs", lowest=True)
    assert (finding.value, finding.met, finding.reach_of_ours) == (45.0, True, 50.0)


def test_a_finding_without_peers_has_no_ratio() -> None:
    alone = Finding("M0", "growth", "x", Series.of([1.2]), {}, Series.of([1.2]), 1.5, "1.5")
    assert (alone.ratio, alone.met) == (None, True)
    assert "1.2 x" in report.table([alone])


def test_import_times_count_what_is_loaded_after_the_package() -> None:
    said = (
        "import time: self [us] | cumulative | imported package\n"
        "import time:         5 |          5 |   pydantic\n"
        "import time:        50 |         55 | pydantic\n"
        "import time:       100 |        100 |   agrun_wasm.text\n"
        "import time:       200 |        300 | agrun_wasm\n"
        "import time:         3 |          3 | agrun_wasm.runtime\n"
    )
    assert us_after(said, "pydantic") == 303


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    report.write(tmp_path, [a_finding(reach=0.1)], report.facts(quick=True))
    (finding,) = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["findings"]
    assert (finding["bestPeer"], finding["met"], finding["ratio"]["max"]) == ("fast", False, 0.3)
    assert " NO" in (tmp_path / "results.txt").read_text(encoding="utf-8")
    ElementTree.fromstring((tmp_path / "results.svg").read_text(encoding="utf-8"))


@pytest.mark.parametrize("requirements", [peers.REQUIREMENTS, peers.PYODIDE_REQUIREMENTS])
def test_the_peers_are_pinned_to_the_last_one(requirements: Path) -> None:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert all("==" in line for line in named)
    assert set(peers.versions()) == set(peers.NAMES)


def test_the_peer_in_pyodide_is_the_one_on_cpython() -> None:
    pinned = {path: peers.pins(path) for path in (peers.REQUIREMENTS, peers.PYODIDE_REQUIREMENTS)}
    both = set.intersection(*map(set, pinned.values()))
    assert {"pydantic-ai-slim", "pydantic", "pydantic-core"} <= both
    assert [name for name in both if len({pins[name] for pins in pinned.values()}) > 1] == []


@pytest.mark.parametrize(
    ("take", "peers_figures", "reaches"),
    [
        (boots.warm, {"cold_ms": 10.0, "peer_ms": 24.0}, [1 / 5, 1 / 12]),
        (boots.first, {"bare_ms": 4.0}, [1.25]),
        (scripts.cost, {"peer_ms": 32.0, "cpython_ms": 1.0}, [1 / 8, 6.0]),
    ],
)
def test_in_the_browser_each_peer_has_its_own_reach(
    monkeypatch: pytest.MonkeyPatch, take: Callable[[Session], list[Finding]], peers_figures: Any, reaches: Any
) -> None:
    monkeypatch.setattr(peers, "ensure_pyodide", lambda: None)
    session = Session(quick=True)
    ours = dict.fromkeys(("warm_ms", "first_ms", "ours_ms"), 2.0)
    monkeypatch.setattr(session, "subject", lambda *_: {**ours, **peers_figures})
    findings = take(session)
    assert [finding.reach for finding in findings] == reaches
    assert [finding.judged.median for finding in findings] == [2.0 / figure for figure in peers_figures.values()]
    assert len({finding.what for finding in findings}) == len(findings)


async def test_the_scripted_conversation_of_ours_is_timed_where_it_runs() -> None:
    assert json.loads(await time_cycles(2))["wall_ms"] > 0


def test_the_fake_server_counts_cycles_in_the_request() -> None:
    tool = {"role": "tool", "content": "1"}
    message, finish = reply({"messages": [tool]}, 2)
    assert (message["tool_calls"][0]["function"]["arguments"], finish) == ('{"a": 1, "b": 1}', "tool_calls")
    assert reply({"messages": [tool, tool]}, 2) == ({"role": "assistant", "content": "done after 2"}, "stop")


def test_a_streamed_text_has_one_event_a_delta_and_its_end() -> None:
    frames = list(text_frames(3))
    assert len(frames) == 3 + 3
    assert frames[-1] == b"data: [DONE]\n\n"
