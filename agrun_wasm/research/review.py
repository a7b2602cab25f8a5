"""Does an answer cite enough read pages, and what happens when it does not? Rules: 2.10 Review.

Pure. Owned here: the verdict, and the words that send a text back. Must not know how citations are found, nor how an
answer is delivered.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from agrun_wasm.contracts.request import RequestedCitations
from agrun_wasm.contracts.result import AnswerSource
from agrun_wasm.contracts.state import ResearchContext

Verdict = Literal["deliver", "review", "disclose", "blocked"]

#: never reviewed, only reported (2.10)
UNREVIEWED: frozenset[AnswerSource] = frozenset({"direct_final"})
#: texts of the runtime's or the planner's writing: only these get Sources or a disclosure, others are canonical
ANNOTATED: frozenset[AnswerSource] = frozenset({"planner_final", "runtime_finalize", "plan_synthesize"})


class Review(NamedTuple):
    """The verdict on one answer.

    deliver: as it is. review: send it back (`attempt` of `max`). disclose: deliver, and say in the text that it falls
    short. blocked: fail the run. A short answer has a `gap`, whatever the verdict.
    """

    verdict: Verdict
    have: int
    need: int
    attempt: int = 0
    max: int = 0

    @property
    def gap(self) -> dict[str, int] | None:
        """For `diagnostics.citationGap`."""
        return {"have": self.have, "need": self.need} if self.have < self.need else None

    def step_detail(self) -> dict[str, int]:
        """Of the step citation-review."""
        return {"attempt": self.attempt, "max": self.max, "have": self.have, "need": self.need}


def review(
    requested: RequestedCitations | None,
    have: int,
    *,
    source: AnswerSource,
    reviews_done: int,
    steps_left: int,
    severity: Literal["advisory", "blocking"],
) -> Review:
    """The verdict on a text that cites `have` distinct read pages."""
    if requested is None:
        return Review("deliver", have, 0)
    need, most = requested.min_url_count, requested.max_reviews
    if have >= need or source in UNREVIEWED:
        return Review("deliver", have, need, max=most)
    if reviews_done < most and steps_left > 0:
        return Review("review", have, need, attempt=reviews_done + 1, max=most)
    if severity == "blocking":
        return Review("blocked", have, need, max=most)
    return Review("disclose" if source in ANNOTATED else "deliver", have, need, max=most)


def review_observation(
    review: Review, draft: str, unread: list[str], research: ResearchContext, *, can_read: bool
) -> str:
    """What the planner is told of a text that was sent back: the gap, what could close it, and the text itself.

    `can_read`: is read_url offered? What is not is not named.
    """
    gap = f"it cites {review.have} of the {review.need} distinct pages that must be cited, and only read pages count"
    lines = [f"The answer was not delivered: {gap} (review {review.attempt} of {review.max})."]
    found = [source.url for source in research.sources if source.state == "found" and source.url not in unread]
    lines += _listed("Cited but not read, so not counted", unread)
    lines += _listed("Read and ready to be cited", [s.url for s in research.sources if s.state == "read"])
    lines += _listed("Found but not read yet", found)
    way = "Read what is missing with read_url, then answer" if can_read else "Answer"
    lines.append(f"{way} again and cite each page by its URL.")
    lines.append(f"The text that was sent back:\n{draft}")
    return "\n".join(lines)


def _listed(title: str, urls: list[str]) -> list[str]:
    return [f"{title}: {', '.join(urls)}"] if urls else []
