"""The error messages that docs/troubleshooting.md quotes are those that users get, and the other way round."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Error messages\n")[2].partition("\n## ")[0]
QUOTED = re.findall(r"^\| `([^`]+)` \|", SECTION, re.MULTILINE)

FILES = {
    "no-labels.jsonl": '{"text": "one", "labels": ["a"]}\n{"text": "two"}\n',
    "no-json.jsonl": '{"text": "one", "labels": ["a"]}\n{"text": "two", \n',
    "columns.csv": "body,topic\nx,y\n",
    "bars.csv": "text,labels\nx,a|b\n",
    "commas.csv": 'text,labels\nx,"a, b"\ny,"b, c, d"\n',
    "numbers.svm": "1 1:0.5\n",
    "words.txt": "hello world\n",
    "range.txt": "2 3 2\n0 0:1\n1 5:1\n",
    "a.parquet": "PAR1",
    "folder/notes.txt": "mine",
}
X, Y = np.eye(4, dtype=np.float32), np.eye(4, 2)


def tagger() -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear"))


def trained() -> xt.Tagger:
    return tagger().fit(["red apple", "green pear"], [["a"], ["b"]])


def changed() -> None:
    model = xt.LinearTree().fit(X, Y)
    model.cost = 2.0
    model.save("model")


def resumed() -> None:
    xt.LinearTree().fit(X, Y, checkpoint="checkpoint")
    xt.LinearTree(cost=2.0).fit(X, Y, checkpoint="checkpoint")


CASES: dict[str, Callable[[], object]] = {
    "unknown name": lambda: xt.LinearTree(beem=20),
    "name of a part": lambda: xt.preset("xr-linear", arity=8),
    "unknown argument": lambda: xt.read("a.csv", txt_column="body"),
    "by place": lambda: xt.LinearTree(5),
    "impossible value": lambda: xt.LinearTree(beam=0),
    "unknown preset": lambda: xt.preset("xrlinear"),
    "one text": lambda: tagger().fit("red apple", [["a"]]),
    "one name": lambda: tagger().fit(["red apple"], ["x"]),
    "no words": lambda: tagger().fit(["!?"], [["x"]]),
    "no labels": lambda: xt.LinearTree().fit(X),
    "texts for features": lambda: xt.LinearTree().fit(["red apple"], Y),
    "not finite": lambda: xt.LinearTree().fit(X * np.nan, Y),
    "other rows": lambda: xt.LinearTree().fit(X[:3], Y),
    "other features": lambda: xt.LinearTree().fit(X, Y).predict(X[:, :2]),
    "one dimension": lambda: xt.LinearTree().fit(X, Y).predict(X[0]),
    "not trained": lambda: xt.LinearTree().predict(X),
    "unknown label": lambda: trained().explain("red", "z"),
    "no texts": lambda: xt.Elias(encoder=xt.TransformerEncoder(path="x")).fit(X, Y),
    "small limit": lambda: xt.LinearTree(memory_limit="1kB").fit(X, Y),
    "no propensities": lambda: xt.evaluate(Y, xt.LinearTree().fit(X, Y).predict(X), ["PSP@1"]),
    "names in hierarchy": lambda: xt.LinearTree(index=xt.GivenTree(parents={"pear": "fruit"})).fit(X, Y),
    "missing in hierarchy": lambda: xt.LinearTree(index=xt.GivenTree(parents={"0": "group"})).fit(X, Y),
    "no file": lambda: xt.read("nowhere.jsonl"),
    "row without labels": lambda: xt.read("no-labels.jsonl"),
    "no JSON": lambda: xt.read("no-json.jsonl"),
    "other columns": lambda: xt.read("columns.csv"),
    "other separator": lambda: xt.read("bars.csv"),
    "commas": lambda: xt.read("commas.csv"),
    "svmlight": lambda: xt.read("numbers.svm"),
    "unknown format": lambda: xt.read("words.txt"),
    "out of range": lambda: xt.read("range.txt"),
    "no names": lambda: trained().evaluate(xt.Dataset(None, np.eye(3), texts=["a", "b", "c"])),
    "no model": lambda: xt.load("nowhere"),
    "other folder": lambda: xt.load("folder"),
    "save over it": lambda: trained().save("folder"),
    "changed after training": changed,
    "storage of a trained model": lambda: xt.LinearTree().fit(X, Y).set_params(storage="int8"),
    "another training": resumed,
    "not a checkpoint": lambda: xt.LinearTree().fit(X, Y, checkpoint="folder"),
    "no checkpoints": lambda: xt.SoftmaxTree().fit(X, Y, checkpoint="checkpoint"),
    "no PyTorch": lambda: xt.Glas().fit(X, Y),
    "no scikit-learn": lambda: xt.Reranked(seed=0).fit(np.tile(X, (10, 1)), np.tile(Y, (10, 1))),
    "no pyarrow": lambda: xt.read("a.parquet"),
    "no stemmer": lambda: xt.Vectorizer(stem="finnish").fit(["talo"]),
    "no zstandard": lambda: xt.read("a.jsonl.zst"),
}
seen: dict[str, str] = {}


@pytest.mark.parametrize("name", CASES)
def test_message_is_quoted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, content in FILES.items():
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(content)
    Path("a.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    for library in ("torch", "sklearn", "sklearn.tree", "pyarrow", "pyarrow.parquet", "zstandard", "snowballstemmer"):
        monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    with pytest.raises(xt.XtrellisError) as caught:
        CASES[name]()
    said = str(caught.value)
    fitting = [quoted for quoted in QUOTED if re.fullmatch(pattern(quoted), said, re.DOTALL)]
    assert len(fitting) == 1, f"{said!r} is quoted as {fitting}"
    seen[name] = fitting[0]


def pattern(quoted: str) -> str:
    """`…` stands for anything, unless it is part of the message itself (`texts=[…]`)."""
    return re.escape(quoted).replace(r"\[…\]", r"\[.\]").replace("…", ".*")


def test_every_quoted_message_is_provoked() -> None:
    if len(seen) < len(CASES):
        pytest.skip("only some of the cases were run")
    assert set(QUOTED) == set(seen.values())
    assert len(QUOTED) == len(set(QUOTED))
