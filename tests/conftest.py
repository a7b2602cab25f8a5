"""Fixtures that every folder of tests may use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def hypothesis_knows_the_sources() -> None:
    """In a fresh checkout, Hypothesis reads the constants of all sources, once, at its first draw: seconds that its
    health check for slow strategies would charge to whichever property test comes first."""
    if "hypothesis" not in sys.modules:
        return
    from hypothesis import HealthCheck, given, settings, strategies

    @settings(max_examples=1, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategies.integers(), strategies.text())
    def draw(_number: int, _text: str) -> None:
        pass

    draw()
