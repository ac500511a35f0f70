"""A small world of texts in which labels have words of their own."""

from __future__ import annotations

import numpy as np

import xtrellis as xt


def rows(labels: range, per_label: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Texts of words that belong to their label, or to labels of its kind, and some that belong to none."""
    rng = np.random.default_rng(seed)
    texts, names = [], []
    for _ in range(per_label):
        for label in labels:
            own = [f"w{label}x{i}" for i in rng.integers(0, 6, 4)]
            kind = [f"k{label // 5}x{i}" for i in rng.integers(0, 10, 4)]
            later = f"w{rng.integers(30, 46)}x{rng.integers(0, 6)}"  # words of labels to come: known, if rarely
            texts.append(" ".join([*own, *kind, later, *(f"c{i}" for i in rng.integers(0, 40, 3))]))
            names.append([f"label {label:02}"])
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], [names[i] for i in order]


def tagger(preset: str = "xr-linear", keep_rows: bool = True, **params: object) -> xt.Tagger:
    """Trained on thirty labels."""
    model = xt.preset(preset, **params)
    if preset in ("xr-linear", "overlap"):
        model.set_params(index__max_leaf=8, index__arity=4)
    return xt.Tagger(xt.Vectorizer(), model, keep_rows=keep_rows).fit(*rows(range(30), 12))


def files(folder) -> dict[str, bytes]:
    """All but the journal and model.json, which tells the time of nothing but the versions of libraries."""
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix == ".safetensors"}
