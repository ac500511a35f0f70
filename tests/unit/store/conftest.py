from __future__ import annotations

import pytest
import store_toys

from xtrellis.store import registry


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    for name in ("Toy", "Bag", "Picky"):
        monkeypatch.setitem(registry.CLASSES, name, f"{store_toys.__name__}:{name}")
