"""What a measure finds: series of figures over the rounds, and whether they are within reach.

Must not know: how anything was measured, or how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Series:
    """One figure, once for each round, in the order of the rounds."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Series:
        return cls(tuple(values))

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def __truediv__(self, other: Series) -> Series:
        """Round by round: what disturbed a round disturbed both sides of it."""
        return Series.of(mine / its for mine, its in zip(self.values, other.values, strict=True))

    def to_json(self) -> dict[str, Any]:
        return {"median": self.median, "min": self.low, "max": self.high, "rounds": list(self.values)}


@dataclass(frozen=True)
class Finding:
    """One figure of ours beside its peers', and the reach it is held to.

    `judged` is what must be at most `reach`: `ours`, or the ratio to the best peer; its median counts. An absolute
    figure has no peer that the machine's other work slows down alike: there the lowest round counts (`lowest`).
    `notes` are told and not judged.
    """

    measure: str
    what: str
    unit: str
    ours: Series
    peers: Mapping[str, Series]
    judged: Series
    reach: float
    reach_text: str
    lowest: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def best_peer(self) -> str | None:
        return best_of(self.peers)

    @property
    def ratio(self) -> Series | None:
        """Ours to the best peer's."""
        return self.ours / self.peers[self.best_peer] if self.best_peer else None

    @property
    def value(self) -> float:
        """What is held to the reach."""
        return self.judged.low if self.lowest else self.judged.median

    @property
    def reach_of_ours(self) -> float:
        """The most that ours could have been, in its unit."""
        if self.judged is self.ours:
            return self.reach
        return self.ours.median * self.reach / self.value

    @property
    def met(self) -> bool:
        return self.value <= self.reach

    def to_json(self) -> dict[str, Any]:
        ratio = self.ratio
        return {
            "measure": self.measure,
            "what": self.what,
            "unit": self.unit,
            "ours": self.ours.to_json(),
            "peers": {name: series.to_json() for name, series in self.peers.items()},
            "bestPeer": self.best_peer,
            "ratio": ratio.to_json() if ratio else None,
            "judged": self.judged.to_json(),
            "value": self.value,
            "reach": self.reach,
            "reachText": self.reach_text,
            "met": self.met,
            "notes": dict(self.notes),
        }


def best_of(peers: Mapping[str, Series]) -> str | None:
    """The peer with the lowest median."""
    return min(peers, key=lambda name: peers[name].median, default=None)


def against_peers(
    measure: str, what: str, unit: str, *, ours: Series, peers: Mapping[str, Series], reach: float, reach_text: str
) -> Finding:
    """A finding that is judged by its ratio to the best peer."""
    best = best_of(peers)
    if best is None:
        raise ValueError(f"{measure}: a ratio needs a peer")
    return Finding(measure, what, unit, ours, peers, ours / peers[best], reach, reach_text)


def against_each(
    measure: str,
    what: str,
    rounds: Sequence[Mapping[str, float]],
    own: str,
    peers: Mapping[str, tuple[str, float, str]],
) -> list[Finding]:
    """A finding in milliseconds for each peer, with a reach of its own: name -> (figure, reach, its words).

    `what` has a place for the peer's name, `{peer}`; `own` is the figure of ours in every round.
    """
    return [
        against_peers(
            measure,
            what.format(peer=peer),
            "ms",
            ours=Series.of(one[own] for one in rounds),
            peers={peer: Series.of(one[figure] for one in rounds)},
            reach=reach,
            reach_text=text,
        )
        for peer, (figure, reach, text) in peers.items()
    ]
