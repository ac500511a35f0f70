"""With NumPy, SciPy, typer and rich alone: everything that needs no more works, everything else says which extra.

Run by `make core-only`, in an environment of its own; the name keeps it out of the ordinary tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt

EXTRAS = (
    "sklearn",
    "torch",
    "transformers",
    "pyarrow",
    "zstandard",
    "matplotlib",
    "safetensors",
    "pandas",
    "hypothesis",
)
TEXTS = ["boil pasta in water", "bake bread in an oven", "salt the pasta water", "knead bread dough"] * 10
LABELS = [["pasta"], ["bread", "baking"], ["pasta", "salt"], ["bread"]] * 10
CORE = ["xr-linear", "parabel", "bonsai", "interpolated", "overlap", "one-vs-all", "softmax-tree", "xr-linear,parabel"]


def test_nothing_else_is_installed() -> None:
    assert [name for name in EXTRAS if find_spec(name)] == []


@pytest.mark.parametrize("preset", CORE)
def test_a_tagger_goes_the_whole_way(preset: str, tmp_path: Path) -> None:
    tagger = xt.Tagger(xt.Vectorizer(ngrams=2), xt.preset(preset, seed=0)).fit(TEXTS, LABELS)
    tagger.save(tmp_path / "model")
    again = xt.load(tmp_path / "model", verify=True)
    assert again.tag("salt the water for pasta", k=1)[0].label in ("pasta", "salt")
    assert again.explain("bake bread", "bread").score > 0
    data = xt.Dataset(None, [[1.0] * again.n_labels], texts=["bread"], label_names=again.label_names)
    assert again.evaluate(data, ["P@1"])["P@1"] == 100


@pytest.mark.parametrize(
    ("make", "extra"),
    [
        (lambda: xt.Glas().fit(np.eye(4), np.eye(4)), "deep"),
        (lambda: xt.Elias().fit(np.eye(4), np.eye(4)), "deep"),
        (lambda: xt.EncoderOvA().fit(np.eye(4), np.eye(4)), "deep"),
        (lambda: xt.XTransformer().fit(np.eye(4), np.eye(4)), "deep"),
        (lambda: xt.preset("xr-linear++").fit(np.eye(40), np.eye(40)), "rank"),
    ],
)
def test_what_is_missing_is_named(make: object, extra: str) -> None:
    with pytest.raises(xt.MissingExtraError, match=rf"pip install 'xtrellis\[{extra}\]'"):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(("name", "extra"), [("a.parquet", "columnar"), ("a.jsonl.zst", "zstd")])
def test_files_that_need_more_say_so(name: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PAR1" if extra == "columnar" else b"\x28\xb5\x2f\xfd")
    with pytest.raises(xt.MissingExtraError, match=rf"xtrellis\[{extra}\]"):
        xt.read(tmp_path / name)


def test_the_demo_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "xtrellis", "demo", "--quiet"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers = done.stdout.partition("“eigenvalues of a symmetric matrix”")[2].partition("“")[0]
    assert re.search(r"\d\.\d %  \S+linalg\.eig", answers), done.stdout
