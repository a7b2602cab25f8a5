"""The copies of the shared material are byte-equal, and complete, wherever the originals are at hand."""

from __future__ import annotations

import pytest

from build_tasks import copies

needs_originals = pytest.mark.skipif(not copies.shared().is_dir(), reason="no shared folder beside this checkout")


@needs_originals
def test_every_copy_is_byte_equal() -> None:
    pairs = list(copies.pairs())
    assert pairs
    different = [str(copy) for original, copy in pairs if copy.read_bytes() != original.read_bytes()]
    assert different == []


@needs_originals
def test_no_copy_has_lost_its_original() -> None:
    assert copies.orphans() == []


@pytest.mark.parametrize(("folder", "pattern", "target"), copies.MIRRORED)
def test_a_clone_holds_every_kind_of_copy(folder, pattern, target) -> None:
    assert list(target.glob(pattern)), f"{folder}/{pattern} was never copied: python build.py sync"
