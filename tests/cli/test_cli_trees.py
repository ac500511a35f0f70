"""Label trees from the command line: a file's hierarchy, the words of label names, wide trees."""

from __future__ import annotations

from pathlib import Path

from cli_world import TOPICS, Run

import xtrellis as xt

TRAIN = ("--holdout", "0", "--quiet", "--seed", "1")


def test_a_hierarchy_by_label_names(run: Run, train_file: Path, tmp_path: Path) -> None:
    file, to = tmp_path / "h.tsv", tmp_path / "m"
    edges = [f"ünïque/{word}\t{topic}\n" for topic, words in TOPICS.items() for word in words.split()]
    file.write_text("".join(edges) + "fruit\tnature\nweather\tnature\n", encoding="utf-8")
    settings = ("--set", "index=GivenTree", "--set", f"index.path={file}")
    code, _, err = run("train", train_file, "--to", to, *TRAIN, *settings)
    assert (code, err) == (0, "")
    tagger = xt.load(to)
    assert tagger.model.tree.n_nodes == 6  # the root, nature and four topics that are labels as well
    assert tagger.model.index.path == str(file)
    assert tagger.tag("rain snow wind", k=1)[0].label == "weather"
    file.write_text("".join(edges[1:]), encoding="utf-8")
    code, _, err = run("train", train_file, "--to", to, *TRAIN, *settings)
    assert code == 2
    assert "the hierarchy lacks 1 of 36 labels: label 'ünïque/" in err


def test_label_text(run: Run, train_file: Path, tmp_path: Path) -> None:
    small = ("--preset", "parabel", "--set", "index.max_leaf=2")
    trees = []
    for name, more in (
        ("plain", []),
        ("with", ["--label-text"]),
        ("again", ["--label-text", "--holdout", "0.2", "--refit"]),
    ):
        code, _, err = run("train", train_file, "--to", tmp_path / name, *TRAIN, *small, *more)
        assert (code, err) == (0, "")
        trees.append(xt.load(tmp_path / name).model.tree)
    assert trees[0] != trees[1]
    assert trees[1] == trees[2]


def test_classifiers_that_are_not_solved_are_told(run: Run, train_file: Path, tmp_path: Path) -> None:
    loud = ("--holdout", "0", "--seed", "1", "--set", "tolerance=0.0001")
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *loud, "--set", "max_epochs=2")
    assert code == 0
    assert "were not solved within max_epochs=2" in err
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *loud, "--set", "max_epochs=100000")
    assert code == 0
    assert "not solved" not in err


def test_trees_by_frequency(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    settings = ("--set", "index.tradeoff=inf", "--set", "index.max_leaf=2", "--set", "index.frequency=greedy")
    code, _, err = run("train", train_file, "--to", to, *TRAIN, "--preset", "interpolated", *settings)
    assert (code, err) == (0, "")
    model = xt.load(to).model
    assert model.index == xt.InterpolatedTree(tradeoff=float("inf"), max_leaf=2, frequency="greedy")
    assert len(set(model.tree.label_depths.tolist())) > 1
    code, _, err = run("train", train_file, "--to", to, *TRAIN, "--set", "index=HuffmanTree")
    assert (code, err) == (0, "")
    assert xt.load(to).model.tree.n_nodes == 35
    code, _, err = run(
        "train", train_file, "--to", to, *TRAIN, "--set", "index=InterpolatedTree", "--set", "index.tradeoff=-1"
    )
    assert code == 2
    assert "tradeoff must be a number ≥ 0 (inf is allowed); got -1" in err


def test_tradeoff(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    code, _, err = run("train", train_file, "--to", to, *TRAIN, "--tradeoff", "0.25")
    assert (code, err) == (0, "")
    assert xt.load(to).model.index == xt.InterpolatedTree(tradeoff=0.25)
    loud = [option for option in TRAIN if option != "--quiet"]
    code, _, err = run("train", train_file, "--to", to, *loud, "--tradeoff", "auto", "--max-depth", "1.5")
    assert code == 0
    assert "chosen" in err
    assert xt.load(to).model.index.tradeoff in (0, 0.25, 0.5, 1, 2, 6)
    for wrong, told in (
        (["--tradeoff", "-1"], "tradeoff must be a number ≥ 0"),
        (["--max-depth", "2"], "add that"),
        (["--tradeoff", "auto", "--resume"], "give --tradeoff the number it chose"),
        (["--tradeoff", "1", "--preset", "bonsai"], "--preset bonsai has none"),
        (["--tradeoff", "auto", "--max-depth", "0"], "max_depth must be a number > 0; got 0"),
    ):
        code, _, err = run("train", train_file, "--to", tmp_path / "n", *TRAIN, *wrong)
        assert code == 2
        assert told in err, err
    assert not (tmp_path / "n").exists()
