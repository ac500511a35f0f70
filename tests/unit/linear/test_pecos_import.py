"""PECOS folders become models that predict what PECOS would; odd and hostile folders are told apart, never a crash."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from pecos_world import World, change_json

import xtrellis as xt
from xtrellis.cli.app import run

K = 12


def rows(n_features: int) -> np.ndarray:
    random = np.random.default_rng(5)
    X = random.normal(size=(40, n_features)) * (random.random((40, n_features)) < 0.3)
    X[7] = 0
    return X.astype(np.float32)


def check(world: World, model: xt.LinearTree, beam: int, k: int = K) -> None:
    X = rows(model.trees[0].n_features)
    labels, scores = world.predict(X, beam, k)
    top = model.predict(sp.csr_array(X), k=k)
    named = top.scores > 0  # what PECOS never visits may stand at the end, with score 0
    assert np.array_equal(np.where(named, top.labels, -1), labels[:, : top.k])
    np.testing.assert_allclose(top.scores, scores[:, : top.k], atol=1e-6)
    for i in (0, 7):  # the path of a single row
        one = model.predict(sp.csr_array(X[i : i + 1]), k=k)
        np.testing.assert_allclose(one.scores[0], top.scores[i], atol=1e-7)


@pytest.mark.parametrize(
    "sizes", [[1], [9], [600], [2, 12, 90], [3, 300, 1000], [1, 1, 40], [2, 5, 11, 30, 70, 90]], ids=str
)
def test_every_shape_predicts_as_pecos(sizes: list[int], tmp_path: Path) -> None:
    world = World.random(sizes)
    model = xt.import_pecos(world.save(tmp_path / "m", beam=3))
    assert model.beam == (3 if len(sizes) > 1 else 10)
    assert model.tree.depth == len(sizes)
    assert model.n_labels == sizes[-1]
    check(world, model, 3)


@pytest.mark.parametrize("post", ["l2-hinge", "l3-hinge", "sigmoid"])
def test_post_processors(post: str, tmp_path: Path) -> None:
    world = World.random([4, 30], post=post)
    check(world, xt.import_pecos(world.save(tmp_path / "m")), 4)


@pytest.mark.parametrize("bias", [-1.0, 0.0, 0.5, 3.0])
def test_bias(bias: float, tmp_path: Path) -> None:
    world = World.random([4, 30], bias=bias)
    model = xt.import_pecos(world.save(tmp_path / "m"))
    assert model.bias == max(bias, 0)
    check(world, model, 4)


def test_labels_and_clusters_without_a_place(tmp_path: Path) -> None:
    world = World.random([4, 12, 90])
    world.parents[2][[0, 5, 89]] = -1  # labels in no cluster
    world.parents[1][3] = -1  # a cluster that hangs nowhere, and with it its labels
    model = xt.import_pecos(world.save(tmp_path / "m", beam=8))
    check(world, model, 8)
    everything = model.set_params(beam=100).predict(sp.csr_array(rows(30)), k=90)
    lost = {0, 5, 89} | set(np.flatnonzero(world.parents[2] == 3).tolist())
    for row in everything:
        assert {label for label, score in row if score == 0} == lost


def test_clusters_without_labels_are_left_out(tmp_path: Path) -> None:
    world = World.random([4, 12, 90])
    world.parents[2][world.parents[2] == 3] = 4
    world.parents[1][world.parents[1] == 2] = 1  # and one whose clusters went elsewhere
    model = xt.import_pecos(world.save(tmp_path / "m", beam=100))
    assert model.tree.n_nodes == 1 + 3 + 11
    check(world, model, 100)


def test_a_model_that_starts_below_the_root_enters_every_cluster(tmp_path: Path) -> None:
    world = World.random([6, 40])
    folder = world.save(tmp_path / "m") / "ranker"
    shutil.rmtree(folder / "0.model")
    (folder / "1.model").rename(folder / "0.model")
    change_json(folder / "param.json", depth=1)
    flat = World([world.weights[1]], [np.zeros(40, np.int64)])
    check(flat, xt.import_pecos(tmp_path / "m"), 4)


def test_other_files_with_the_same_content(tmp_path: Path) -> None:
    """float64 and integer weights, coo and csr, explicit zeros, the ranker's own folder."""
    world = World.random([4, 30])
    world.weights[0] = np.round(world.weights[0] * 10)
    folder = world.save(tmp_path / "m", dtype=np.float64) / "ranker"  # not what PECOS writes, but a matrix all the same
    W = sp.coo_array(world.weights[0].astype(np.int16))
    zeros = sp.coo_array((np.append(W.data, 0), (np.append(W.row, 29), np.append(W.col, 3))), shape=W.shape)
    sp.save_npz(folder / "0.model/W.npz", zeros)
    sp.save_npz(folder / "1.model/W.npz", sp.csr_array(world.weights[1]))
    check(world, xt.import_pecos(str(folder)), 4)


def test_many_small_groups_give_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = World.random([3, 300, 1000]).save(tmp_path / "m")
    whole = xt.import_pecos(folder)
    monkeypatch.setattr("xtrellis.interop.pecos.GROUP", 50)
    pieces = xt.import_pecos(folder)
    for name, array in whole.trees[0].arrays.items():
        assert np.array_equal(array, pieces.trees[0].arrays[name]), name


def test_an_imported_model_is_a_model(tmp_path: Path) -> None:
    world = World.random([4, 30])
    model = xt.import_pecos(world.save(tmp_path / "m"))
    model.save(tmp_path / "ours")
    loaded = xt.load(tmp_path / "ours")
    assert loaded.get_params() == model.get_params()
    check(world, loaded, 4)


def test_clusters_above_the_root_that_are_only_announced(tmp_path: Path) -> None:
    """PECOS enters every cluster above the first level; a file may announce 2³¹ of them."""
    world = World.random([4])
    folder = world.save(tmp_path / "m")
    some = {"data": np.ones(4), "row": np.arange(4), "col": np.array([0, 5, 2**31 - 2, 5])}
    np.savez(folder / "ranker/0.model/C.npz", format=np.array("coo"), shape=np.array([4, 2**31 - 1]), **some)
    check(world, xt.import_pecos(folder), beam=4)


def test_another_transform(tmp_path: Path) -> None:
    world = World.random([4, 30], post="noop")
    folder = world.save(tmp_path / "m")
    with pytest.raises(xt.StoreError, match=r"l2-hinge, l3-hinge, sigmoid.* got noop.*transform='l3-hinge'"):
        xt.import_pecos(folder)
    world.post = "sigmoid"
    check(world, xt.import_pecos(folder, transform="sigmoid"), 4)
    with pytest.raises(xt.ParameterError, match="did you mean 'l3-hinge'"):
        xt.import_pecos(folder, transform="l4-hinge")


def test_levels_that_disagree_in_their_settings(tmp_path: Path) -> None:
    folder = World.random([4, 12, 90]).save(tmp_path / "m")
    level = folder / "ranker/1.model/param.json"
    change_json(level, pred_kwargs={"only_topk": 7, "post_processor": "l3-hinge"})
    assert xt.import_pecos(folder).beam == 7
    change_json(level, pred_kwargs={"only_topk": 7, "post_processor": "sigmoid"})
    with pytest.raises(xt.StoreError, match="the same on all levels; got l3-hinge, sigmoid"):
        xt.import_pecos(folder)


def damage(folder: Path, how: str) -> None:
    ranker, level = folder / "ranker", folder / "ranker/1.model"
    W, C = level / "W.npz", level / "C.npz"
    good = sp.load_npz(W)
    if how == "no level":
        shutil.rmtree(level)
    elif how == "no weights":
        W.unlink()
    elif how == "not json":
        (level / "param.json").write_text("{")
    elif how == "deep json":
        (level / "param.json").write_text("[" * 200_000)
    elif how == "a list":
        (level / "param.json").write_text("[]")
    elif how == "bytes":
        (level / "param.json").write_bytes(b"\xff\xfe\x00")
    elif how == "depth":
        change_json(ranker / "param.json", depth=-1)
    elif how == "huge depth":
        change_json(ranker / "param.json", depth=10**9)
    elif how == "no bias":
        change_json(level / "param.json", bias=None)
    elif how == "nan bias":
        change_json(level / "param.json", bias=float("nan"))
    elif how == "huge bias":
        change_json(level / "param.json", bias=2**70)
    elif how == "endless bias":
        change_json(level / "param.json", bias=10**400)
    elif how == "biases beyond float32":
        for part in (level, ranker / "0.model"):
            change_json(part / "param.json", bias=1e18)
        large = good.tolil()
        large[30] = 1e30
        sp.save_npz(W, large.tocsc())
    elif how == "many clusters":
        np.savez(C, format=np.array("coo"), shape=np.array([30, 2**31 - 1]), data=np.ones(1), row=[0], col=[0])
    elif how == "many children":
        np.savez(W, format=np.array("coo"), shape=np.array([31, 2**31 - 1]), data=np.ones(1), row=[0], col=[0])
    elif how == "a folder for a file":
        W.unlink()
        W.mkdir()
    elif how == "no settings":
        change_json(level / "param.json", pred_kwargs=None)
    elif how == "topk":
        change_json(level / "param.json", pred_kwargs={"only_topk": "ten", "post_processor": "l3-hinge"})
    elif how == "mapped":
        change_json(ranker / "param.json", is_mmap=True)
    elif how == "truncated":
        W.write_bytes(W.read_bytes()[:-200])
    elif how == "empty":
        W.write_bytes(b"")
    elif how == "a dense array":
        with W.open("wb") as file:
            np.save(file, good.toarray())
    elif how == "pickle":
        np.savez(W, format=np.array("csc"), data=np.array([{}], object), allow_pickle=True)
    elif how == "nan":
        good.data[3] = np.nan
        sp.save_npz(W, good)
    elif how == "too large":
        sp.save_npz(W, good.astype(np.float64) * 1e300)
    elif how == "complex":
        sp.save_npz(W, good.astype(np.complex64))
    elif how in ("index", "negative index", "offsets", "shape"):
        parts = {name: getattr(good, name).copy() for name in ("data", "indices", "indptr")}
        parts["indices"][2] = {"index": 31, "negative index": -1}.get(how, parts["indices"][2])
        parts["indptr"][4] = 10**6 if how == "offsets" else parts["indptr"][4]
        shape = (2**40, good.shape[1]) if how == "shape" else good.shape
        np.savez(W, **parts, shape=np.array(shape), format=np.array("csc"))
    elif how == "fewer children":
        sp.save_npz(W, good[:, :-1])
    elif how == "no children":
        sp.save_npz(W, good[:, :0])
    elif how == "other features":
        sp.save_npz(W, good[:-1])
    elif how == "other clusters":
        sp.save_npz(C, sp.hstack([sp.load_npz(C), sp.csc_matrix((30, 1), dtype=np.float32)]))
    elif how == "two clusters":
        twice = sp.load_npz(C).tolil()
        twice[3] = 1
        sp.save_npz(C, twice.tocsc())
    else:
        raise KeyError(how)


@pytest.mark.parametrize(
    ("how", "told"),
    {
        "no level": "1.model.*missing", "no weights": "W.npz is missing", "not json": "not JSON",
        "deep json": "not JSON", "a list": "must hold a JSON object", "bytes": "not JSON", "depth": "depth must be",
        "huge depth": "depth must be", "no bias": "bias must be a number", "nan bias": "bias must be a number",
        "huge bias": r"bias must be a number within ±1e\+18; got 1180591620717411303424",
        "endless bias": "bias must be a number within", "biases beyond float32": "biases .* are not finite",
        "many clusters": "a column for each of the 4 children", "many children": "17 GB",
        "a folder for a file": "missing",
        "no settings": "pred_kwargs must be", "topk": "only_topk must be", "mapped": "compiled for memory mapping",
        "truncated": "not a sparse matrix", "empty": "not a sparse matrix", "a dense array": "not a sparse matrix",
        "pickle": "not a sparse matrix", "nan": "not finite", "too large": "not finite", "complex": "complex64",
        "index": "not a valid csc matrix: index 31", "negative index": "not a valid csc matrix: index -1",
        "offsets": "not a valid csc matrix: its offsets", "shape": "at most 2147483647 rows and columns",
        "fewer children": "both must be the children", "no children": "at least 1",
        "other features": "same features", "other clusters": "a column for each of the 4 children",
        "two clusters": "child 3 is in 4 clusters",
    }.items(),
)  # fmt: skip
def test_damaged_folders_are_refused(how: str, told: str, tmp_path: Path) -> None:
    folder = World.random([4, 30]).save(tmp_path / "m")
    damage(folder, how)
    with pytest.raises(xt.StoreError, match=told):
        xt.import_pecos(folder)


def test_what_is_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(xt.StoreError, match="not a folder"):
        xt.import_pecos(tmp_path / "nothing")
    with pytest.raises(xt.StoreError, match=r"no folder ranker/0\.model"):
        xt.import_pecos(tmp_path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, to, names = World.random([4, 30]).save(tmp_path / "m"), tmp_path / "ours", tmp_path / "names.txt"
    names.write_text("".join(f"label {i}\n" for i in range(30)))
    assert run(["import-pecos", str(folder), "--to", str(to), "--labels", str(names), "--quiet"]) == 0
    assert f"Saved {to}" in capsys.readouterr().out
    tagger = xt.load(to)
    assert tagger.label_names[7] == "label 7"
    X = sp.csr_array(rows(30))
    assert np.array_equal(tagger.model.predict(X).labels, xt.import_pecos(folder).predict(X).labels)
    assert run(["import-pecos", str(folder), "--to", str(to), "--labels", str(tmp_path / "no.txt"), "-q"]) == 2
    assert "no.txt" in capsys.readouterr().err
    assert run(["import-pecos", str(tmp_path), "--to", str(to)]) == 2
    assert "not a PECOS XR-Linear model" in capsys.readouterr().err
