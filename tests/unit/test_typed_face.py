"""What an editor and a type checker see of the public face."""

from __future__ import annotations

import ast
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import xtrellis as xt

STUB = Path(xt.__file__).with_suffix(".pyi")

SCRIPT = """
import numpy as np
import xtrellis as xt

train = xt.read("train.jsonl")
reveal_type(train)
model = xt.LinearTree(index=xt.BalancedTree(arity=16, max_leaf=100), overlap=None, beam=10, seed=0, threads=2)
reveal_type(model.fit(np.zeros((2, 3)), np.ones((2, 4))))
top = model.predict(np.zeros((2, 3)), k=10)
reveal_type(top)
reveal_type(top.scores)
reveal_type(xt.evaluate(train.Y, top, metrics=["P@1"]))
tagger = xt.Tagger(xt.Vectorizer(ngrams=2), xt.preset("bonsai")).fit(["a text"], [["a label"]])
reveal_type(tagger)
reveal_type(tagger.tag("a text", k=5)[0].score)
reveal_type(tagger.evaluate(train))
reveal_type(model.explain(np.zeros(3), 0))
reveal_type(xt.datasets.load("pydocs").train)
"""
REVEALED = [
    "Dataset", "LinearTree", "TopK", "ndarray", "Report", "Tagger", "float", "Report", "Explanation", "Dataset",
]  # fmt: skip
MISTAKES = """
import xtrellis as xt

xt.LinearTree(baem=10)
xt.LinearTree(beam="ten")
xt.Overlap(copies=2.5)
xt.Tagger(xt.Vectorizer(), "bonsai")
xt.Tager
"""


def mypy(tmp_path: Path, script: str) -> list[str]:
    file = tmp_path / "user.py"
    file.write_text(script)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith(str(file))]


def test_a_checker_knows_every_type(tmp_path):
    lines = mypy(tmp_path, SCRIPT)
    assert [line for line in lines if ": error:" in line] == []
    notes = [line for line in lines if "Revealed type is" in line]
    assert len(notes) == len(REVEALED)
    for note, expected in zip(notes, REVEALED, strict=True):
        assert expected in note.rpartition("Revealed type is")[2]


def test_a_checker_finds_what_is_wrong(tmp_path):
    lines = mypy(tmp_path, MISTAKES)
    assert [int(line.split(":")[1]) for line in lines if ": error:" in line] == [4, 5, 6, 7, 8]


def test_the_stub_has_the_names_of_the_package():
    body = ast.parse(STUB.read_text()).body
    declared = {a.asname for node in body if isinstance(node, ast.ImportFrom) for a in node.names}
    declared |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
    assert declared == {*xt.__all__, "__all__"}


@pytest.mark.parametrize(
    "name", [n for n in xt.__all__ if isinstance(getattr(xt, n), type) and not n.endswith("Error")]
)
def test_help_shows_parameters(name):
    cls = getattr(xt, name)
    text = pydoc.render_doc(cls, renderer=pydoc.plaintext)
    parameters = inspect.signature(cls).parameters
    assert "params" not in parameters
    if hasattr(cls, "get_params"):
        for parameter, shown in parameters.items():
            assert shown.kind is inspect.Parameter.KEYWORD_ONLY
            assert f"{parameter} : " in text
