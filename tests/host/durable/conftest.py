"""Engines that end at once: DBOS's look for messages, which its end waits for, comes often."""

from __future__ import annotations

import pytest

QUICK_S = 0.05


@pytest.fixture(autouse=True)
def quick_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agrun_host.durable.engine.LISTEN_S", QUICK_S)
