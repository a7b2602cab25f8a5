"""The verdict on an answer's citations."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm.contracts.request import RequestedCitations
from agrun_wasm.contracts.state import ResearchContext
from agrun_wasm.research.review import ANNOTATED, review, review_observation
from agrun_wasm.research.sources import add_read, add_search_results

SITUATION: dict[str, Any] = {
    "requested": RequestedCitations(min_url_count=2, max_reviews=1),
    "have": 1,
    "source": "planner_final",
    "reviews_done": 0,
    "steps_left": 3,
    "severity": "advisory",
}


@pytest.mark.parametrize(
    ("change", "verdict", "gap"),
    [
        ({}, "review", True),
        ({"have": 2}, "deliver", False),
        ({"have": 5}, "deliver", False),
        ({"requested": None, "have": 0}, "deliver", False),
        ({"reviews_done": 1}, "disclose", True),
        ({"steps_left": 0}, "disclose", True),
        ({"requested": RequestedCitations(min_url_count=2, max_reviews=0)}, "disclose", True),
        ({"reviews_done": 1, "severity": "blocking"}, "blocked", True),
        ({"steps_left": 0, "severity": "blocking"}, "blocked", True),
        ({"severity": "blocking"}, "review", True),
        ({"source": "direct_final"}, "deliver", True),
        ({"source": "direct_final", "severity": "blocking"}, "deliver", True),
        ({"source": "workspace_publish"}, "review", True),
        ({"source": "workspace_publish", "reviews_done": 1}, "deliver", True),
        ({"source": "action", "reviews_done": 1, "severity": "blocking"}, "blocked", True),
        ({"source": "runtime_finalize", "reviews_done": 1}, "disclose", True),
    ],
)
def test_verdicts(change: dict[str, Any], verdict: str, gap: bool) -> None:
    situation = SITUATION | change
    result = review(situation.pop("requested"), situation.pop("have"), **situation)
    assert result.verdict == verdict
    assert (result.gap is not None) == gap


def test_the_step_counts_attempts_from_one() -> None:
    result = review(SITUATION["requested"], 1, **{k: v for k, v in SITUATION.items() if k not in ("requested", "have")})
    assert result.step_detail() == {"attempt": 1, "max": 1, "have": 1, "need": 2}
    assert result.gap == {"have": 1, "need": 2}


@pytest.mark.parametrize("can_read", [True, False])
def test_the_observation_holds_the_gap_the_ways_to_close_it_and_the_draft(can_read: bool) -> None:
    research = ResearchContext()
    urls = [f"https://x.example/{name}" for name in ("read", "found", "unread")]
    add_search_results(research, [{"title": "", "url": url, "snippet": ""} for url in urls[:2]])
    add_read(research, {"ok": True, "url": urls[0]})
    verdict = review(
        RequestedCitations(min_url_count=2), 0, source="action", reviews_done=0, steps_left=1, severity="advisory"
    )
    text = review_observation(verdict, "My draft.", [urls[2]], research, can_read=can_read)
    assert ("read_url" in text) == can_read, "what is not offered is not named"
    for part in ("0 of the 2", "review 1 of 2", *urls, "My draft."):
        assert part in text


def test_canonical_texts_are_never_annotated() -> None:
    assert ANNOTATED.isdisjoint({"direct_final", "action", "workspace_publish"})
