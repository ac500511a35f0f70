"""A model that was replaced is gone at once: nothing in it points in a circle, so that no collector has to find it."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.serve.batching import Batch, Options
from xtrellis.serve.models import Version


@pytest.mark.parametrize("languages", [(), ("en",)])
def test_nothing_holds_an_old_version(folder: Path, tmp_path: Path, languages: tuple[str, ...]) -> None:
    path = folder
    if languages:
        vocabulary = xt.Vocabulary([xt.Label("v:a", {"en": "apple"}), xt.Label("v:b", {"en": "boat"})])
        tagger = xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear"), vocabulary=vocabulary)
        tagger.fit(["red apple", "blue boat"] * 20, [["v:a"], ["v:b"]] * 20).save(tmp_path / "named")
        path = tmp_path / "named"
    version = Version(xt.load(path), str(path), 1)
    batch = Batch(version, ["red apple in the oven"] * 5, Options(k=2, languages=languages))
    assert batch.found(0, 2)
    assert batch.lines(2, 5, None).count(b"\n") == 3
    assert version.labels.search("a") is not None
    assert version.tree is not None
    held = [weakref.ref(one) for one in (version, version.tagger, version.labels, version.labels.spoken)]
    gc.disable()
    try:
        del batch, version
        assert [ref() for ref in held] == [None] * 4
    finally:
        gc.enable()
