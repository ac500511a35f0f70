"""Every example runs, and its output says what the example promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_LINES = 60


def output_of(name: str, folder: Path, *args: str) -> str:
    """What the script prints, run as a user runs it, in a folder of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *args],
        cwd=folder, env={**os.environ, "COLUMNS": "100"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir()), "an example leaves files behind"
    return done.stdout


def numbers(pattern: str, text: str) -> list[float]:
    """The groups of every place that matches."""
    found = re.findall(pattern, text)
    assert found, f"{pattern} is not in:\n{text}"
    return [float(group) for match in found for group in (match if isinstance(match, tuple) else (match,))]


def test_each_is_short_and_listed() -> None:
    listed = set(re.findall(r"^\| \[(\w+\.py)\]", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    scripts = {path.name: path.read_text(encoding="utf-8").count("\n") for path in EXAMPLES.glob("*.py")}
    assert listed == set(scripts)
    assert max(scripts.values()) <= MOST_LINES, scripts
    tested = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{name}"' in tested for name in scripts)


def test_tag_texts(tmp_path: Path) -> None:
    out = output_of("tag_texts.py", tmp_path)
    assert "120 rows, 118 features, 9 labels" in out
    assert "expected: 9 classifiers" in out
    assert re.search(r"0\.\d+  printer\n0\.\d+  noise\n", out)
    assert "no wifi: network\nblack screen: display\n['laptop']\n" in out
    assert "same answers after loading: True" in out


def test_feature_matrices(tmp_path: Path) -> None:
    out = output_of("feature_matrices.py", tmp_path)
    assert "LabelTree(labels=500" in out
    assert "shape: (801, 5)" in out
    assert numbers(r"(?m)^P +([\d.]+)", out)[0] > 80
    narrow, wide = numbers(r"beam \d+: R@10 ([\d.]+)", out)
    assert narrow + 10 < wide
    sizes = numbers(r"(?m)^(?:float32|float16|int8): (\d+) kB", out)
    assert sizes[0] > 1.3 * sizes[1] > 1.3 * 1.2 * sizes[2]
    precisions = numbers(r"kB, P@1 ([\d.]+)", out)
    assert max(precisions) - min(precisions) < 0.5


def test_compare_models(tmp_path: Path) -> None:
    out = output_of("compare_models.py", tmp_path, "softmax-tree", "xr-linear")
    assert out.startswith("softmax-tree {'P@1': ")
    for metric in ("P@1", "P@5"):
        mean, low, high = numbers(
            rf"{metric}: xr-linear minus softmax-tree = (-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]", out
        )
        assert 0 < low < mean < high
    assert out.count("a real difference") == 2


def test_resume_training(tmp_path: Path) -> None:
    out = output_of("resume_training.py", tmp_path)
    assert numbers(r"finished parts in the checkpoint: (\d+)", out)[0] >= 1
    assert "the checkpoint is kept until the model is saved: True" in out
    assert "refused: cost is 2.0, was 1.0." in out
    assert "after saving: False" in out
    assert "same bytes as without the interruption: True" in out


def test_own_hierarchy(tmp_path: Path) -> None:
    out = output_of("own_hierarchy.py", tmp_path)
    assert "LabelTree(labels=6, nodes=5, depth=3)" in out
    assert "depth 2: apple, pear\n" in out
    assert "hammer · saw: margin +" in out
    assert "refused: the hierarchy lacks 1 of 6 labels: label 'leek'" in out
    assert out.count("best label: ") == 2
    assert "best label: saw" in out
    assert out.endswith("best label: leek\n")


def test_explain_a_tag(tmp_path: Path) -> None:
    out = output_of("explain_a_tag.py", tmp_path)
    assert re.search(r"0\.\d+  \S*linalg\.\S+ +number \d+ of", out)
    assert "same score as tag: True" in out
    assert numbers(r"(?m)^eigenvalues: ([+-][\d.]+)", out)[0] > 0
    assert out.count("= bias + contributions: True") == len(re.findall(r"(?m)^margin ", out)) >= 2
    assert re.search(r"json: reached False, lost at a cluster of rank \d+ of \d+, beam 1", out)


@pytest.mark.parametrize("name", ["overlap, 2 clusters", "re-ranked"])
def test_overlap_and_ranker(name: str, shown: str) -> None:
    plain, better = (
        numbers(rf"(?m)^{which}: P@1 [\d.]+, P@5 ([\d.]+)", shown)[0] for which in ("one cluster each", name)
    )
    assert better > plain
    mean, low, _ = numbers(rf"gain in P@5, {name}: (-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]", shown)
    assert mean == pytest.approx(better - plain, abs=0.011)
    assert low > 0
    assert 1 < numbers(r"places per label: ([\d.]+)", shown)[0] <= 2


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    return output_of("overlap_and_ranker.py", tmp_path_factory.mktemp("overlap"))
