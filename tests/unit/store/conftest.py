from __future__ import annotations

import os

import pytest
import store_toys

from xtrellis.store import registry


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    for name in ("Toy", "Bag", "Picky"):
        monkeypatch.setitem(registry.CLASSES, name, f"{store_toys.__name__}:{name}")


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """Nothing here survives a power cut, and a busy disk would make these tests slow. One test counts the calls."""
    monkeypatch.setattr(os, "fsync", os.fstat)
