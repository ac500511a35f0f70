"""Models that earlier versions have stored: each must be loaded and answer as it did, or be refused with the reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.store import describe
from xtrellis.store.registry import CLASSES

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from make import MAKE, MODELS, answers  # noqa: E402

NAMES = sorted(folder.name for folder in MODELS.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_model_answers_as_it_did(name: str) -> None:
    expected = json.loads((MODELS / name / "expected.json").read_text())
    if "refused" in expected:
        with pytest.raises(xt.StoreError, match=expected["refused"]):
            xt.load(MODELS / name / "model")
        return
    top = answers(xt.load(MODELS / name / "model", verify=True))
    np.testing.assert_array_equal(top.labels, expected["labels"])
    np.testing.assert_allclose(top.scores, expected["scores"], rtol=1e-6)


def test_every_class_that_can_be_stored_is_among_them() -> None:
    found: set[str] = set()
    for name in NAMES:
        if "refused" not in json.loads((MODELS / name / "expected.json").read_text()):
            found |= {info["class"] for info in describe(MODELS / name / "model").to_dict()["objects"]}
    assert found == set(CLASSES)
    assert set(MAKE) <= set(NAMES)


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 300_000
