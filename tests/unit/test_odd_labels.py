"""What labels and texts can be at their oddest: each kind of model works with it, or says in a sentence why not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import InputError

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
TEXTS = [f"{WORDS[i % 10]} {WORDS[(i * 7) % 10]} {WORDS[(i * 3 + 1) % 10]} text" for i in range(60)]
PRESETS = ["xr-linear", "best", "names", "neighbors"]

ODD = {
    "digits": [str(i % 5) for i in range(60)],
    "10,000 characters": ["x" * 10_000 if i % 3 else "beta" for i in range(60)],
    "10,000 characters in words": ["alpha " * 1_700 + "q" if i % 3 else "beta" for i in range(60)],
    "equal after folding": [["Beta", "beta", "BETA", "b\u00eata"][i % 4] for i in range(60)],
    "punctuation": [["!!!", "???", "..."][i % 3] for i in range(60)],
    "one label": ["alpha"] * 60,
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", ODD)
def test_odd_names(preset: str, kind: str, tmp_path) -> None:
    names = ODD[kind]
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset(preset)).fit(TEXTS, [[name] for name in names])
    assert set(tagger.label_names) == set(names)
    found = tagger.tag_many(TEXTS, k=3)
    assert {tag.label for tags in found for tag in tags} <= set(names)
    if preset != "names":  # which has nothing to find where no text has a name
        assert np.mean([names[i] in [tag.label for tag in tags] for i, tags in enumerate(found)]) > 0.5
    tagger.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").tag_many(TEXTS, k=3) == found


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("n", [1, 2])
def test_few_rows(preset: str, n: int) -> None:
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset(preset)).fit(TEXTS[:n], [[word] for word in WORDS[:n]])
    assert tagger.tag(TEXTS[0], k=1)[0].label == "alpha"


@pytest.mark.parametrize("preset", PRESETS)
def test_texts_without_letters(preset: str) -> None:
    with pytest.raises(InputError, match=r"^no features are left of 60 texts: they have no words, or min_df=1"):
        xt.Tagger(xt.Vectorizer(), xt.preset(preset)).fit(["!!! ???"] * 60, [["a"]] * 60)
    texts = [*TEXTS[:40], *["!!! ???"] * 20]
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset(preset)).fit(texts, [[WORDS[i % 10]] for i in range(60)])
    assert tagger.tag("!!! ???").reason == "the model knows no word of the text"


@pytest.mark.parametrize("preset", ["xr-linear", "best", "neighbors", "xr-linear+neighbors", "xr-linear++"])
def test_rows_without_features_and_labels_without_names(preset: str) -> None:
    X = sp.random(40, 30, density=0.3, format="csr", random_state=0)
    X = sp.vstack([X, sp.csr_array((5, 30))]).tocsr()
    model = xt.preset(preset).fit(X, [[i % 3, 3] for i in range(45)])
    assert model.n_labels == 4
    assert model.predict(X, 2).labels[:, 0].max() == 3
    none = xt.preset(preset).fit(sp.csr_array((20, 5)), [[i % 3] for i in range(20)])
    assert none.predict(sp.csr_array((1, 5)), 3).labels.shape == (1, 3)


def test_names_without_names_or_texts() -> None:
    with pytest.raises(InputError, match="NameMatcher reads texts; pass texts="):
        xt.NameMatcher().fit(sp.csr_array((3, 2)), [[0], [2], [1]])
    with pytest.raises(InputError, match="label_names"):
        xt.NameMatcher().fit(None, [[0], [2], [1]], texts=TEXTS[:3])
