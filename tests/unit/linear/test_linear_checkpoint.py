"""Going on after a kill: the same bytes, and no mixing of two trainings."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.linear.model import LinearTree
from xtrellis.store.checkpoint import Checkpoint
from xtrellis.store.checkpoint import discard as discard_checkpoint


def data(n=300, d=40, n_labels=120, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, dtype=np.float32, format="csr")
    return X, sp.csr_array((rng.random((n, n_labels)) < 0.03).astype(np.float32))


def model(**params):
    return LinearTree(index=xt.BalancedTree(arity=4, max_leaf=4), **params)


def bytes_of(fitted):
    return [{name: array.tobytes() for name, array in tree.arrays.items()} for tree in fitted.trees]


class Stop(Exception):  # noqa: N818
    pass


class StopAfter:
    """A listener that ends the training when a level is done."""

    def __init__(self, level, how):
        self.level, self.how, self.notes = level, how, []

    def begin(self, title, total, unit):
        return 0

    def advance(self, step, amount):
        pass

    def end(self, step):
        pass

    def note(self, message):
        self.notes.append(message)
        if message.startswith(f"trained level {self.level} "):
            self.how()


def stop():
    raise Stop


def stopped(path, level=2, **params):
    with pytest.raises(Stop), progress.listen(StopAfter(level, stop)):
        model(**params).fit(*data(), checkpoint=path)


SCRIPT = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_linear_checkpoint import StopAfter, data, model, progress
def die():
    os.kill(os.getpid(), signal.SIGKILL)
with progress.listen(StopAfter(2, die)):
    model(threads=int(sys.argv[3]), negatives=sys.argv[4]).fit(*data(), checkpoint=sys.argv[2])
"""


@pytest.mark.parametrize(("threads", "negatives"), [(1, "teacher"), (2, "teacher"), (2, "both")])
def test_a_killed_training_goes_on_and_ends_with_the_same_bytes(tmp_path, threads, negatives):
    path = tmp_path / "checkpoint"
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(path), str(threads), negatives]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert any(path.glob("tree0.nodes*.safetensors")), "of two threads, either may be done first"
    made = {file.name: file.stat().st_mtime_ns for file in path.glob("*.safetensors")}

    unharmed = model(threads=1, negatives=negatives).fit(*data())
    unharmed.save(tmp_path / "unharmed")
    listener = StopAfter(0, stop)
    resumed = model(threads=3 - threads, negatives=negatives)
    with progress.listen(listener):
        resumed.fit(*data(), checkpoint=path)
    again = [note for note in listener.notes if note.startswith("trained level")]
    assert 0 < len(again) < resumed.tree.depth, "some levels are made, some are not made again"
    assert len(made) >= 2
    assert bytes_of(resumed) == bytes_of(unharmed)
    assert path.exists(), "until the model is safe elsewhere"
    resumed.set_params(threads=1).save(tmp_path / "resumed")
    for file in (tmp_path / "unharmed").glob("*.safetensors"):
        assert file.read_bytes() == (tmp_path / "resumed" / file.name).read_bytes()
    assert not path.exists()


def test_several_trees_and_label_features(tmp_path):
    X, Y = data()
    names = sp.random_array((120, 12), density=0.4, rng=np.random.default_rng(1), format="csr")
    with pytest.raises(Stop), progress.listen(StopAfter(2, stop)):
        model(n_trees=2).fit(X, Y, label_features=names, checkpoint=tmp_path / "c")
    resumed = model(n_trees=2).fit(X, Y, label_features=names, checkpoint=tmp_path / "c")
    assert bytes_of(resumed) == bytes_of(model(n_trees=2).fit(X, Y, label_features=names))


@pytest.mark.parametrize(
    ("params", "change", "says"),
    [
        ({"cost": 2.0}, None, "cost is 2.0, was 1.0"),
        ({"seed": 3}, None, "seed is 3, was 0"),
        ({}, "X", "X is 300×40"),
        ({}, "Y", "Y is 300×120"),
        ({}, "features", "label features is 120×7"),
        ({}, "names", "label names is 120 "),
    ],
)
def test_another_training_is_refused_and_named(tmp_path, params, change, says):
    stopped(tmp_path / "c")
    before = sorted(file.name for file in (tmp_path / "c").iterdir())
    X, Y = data()
    if change == "X":
        X.data[3] += 1
    if change == "Y":
        Y = data(seed=1)[1]
    features = sp.csr_array(np.ones((120, 7))) if change == "features" else None
    names = [f"label {i}" for i in range(120)] if change == "names" else None
    with pytest.raises(xt.StoreError, match=says) as error:
        model(**params).fit(X, Y, label_features=features, label_names=names, checkpoint=tmp_path / "c")
    assert str(error.value).count(", was") == 1
    assert "delete the folder to start anew" in str(error.value)
    assert sorted(file.name for file in (tmp_path / "c").iterdir()) == before


def test_a_hierarchy_that_was_edited_is_noticed(tmp_path):
    """A parameter names the file; the training is made from what the file holds."""
    file = tmp_path / "a folder whose name is long enough to hide what comes behind it" / "hierarchy.tsv"
    file.parent.mkdir()
    file.write_text("".join(f"{label}\tgroup {label // 10}\n" for label in range(120)))
    given = LinearTree(index=xt.GivenTree(path=str(file)))
    given.fit(*data(), checkpoint=tmp_path / "c")
    file.write_text("".join(f"{label}\tgroup {label // 20}\n" for label in range(120)))
    with pytest.raises(xt.StoreError, match=r"hierarchy\.tsv is 1 \(\w{8}…\), was 1 \(\w{8}…\)\. Use the same"):
        given.clone().fit(*data(), checkpoint=tmp_path / "c")


def test_what_does_not_matter_may_change(tmp_path):
    stopped(tmp_path / "c", threads=2)
    resumed = model(threads=1, beam=3, memory_limit="2GB").fit(*data(), checkpoint=tmp_path / "c")
    assert bytes_of(resumed) == bytes_of(model().fit(*data()))


@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_part_is_made_again(tmp_path, damage):
    path = tmp_path / "c"
    stopped(path, threads=1)  # levels in order: the first one is there
    file = path / "tree0.nodes0to1.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content if damage == "flip" else content[:100])
    resumed = model().fit(*data(), checkpoint=path)
    assert bytes_of(resumed) == bytes_of(model().fit(*data()))
    resumed.discard_checkpoint()
    assert not path.exists()


def test_a_second_fit_goes_on_from_a_finished_training(tmp_path):
    path = tmp_path / "c"
    first = model(n_trees=2).fit(*data(), checkpoint=path)
    made = {file.name: file.stat().st_mtime_ns for file in path.iterdir()}
    listener = StopAfter(0, stop)
    with progress.listen(listener):
        second = model(n_trees=2).fit(*data(), checkpoint=path)
    assert not [note for note in listener.notes if note.startswith("trained level")], "nothing is made again"
    assert {file.name: file.stat().st_mtime_ns for file in path.iterdir()} == made
    assert bytes_of(second) == bytes_of(first)
    with pytest.raises(xt.StoreError, match=r"cost is 2\.0, was 1\.0"):
        first.set_params(cost=2.0).fit(*data(), checkpoint=path)


def test_saving_deletes_the_checkpoint_and_only_once_all_is_written(tmp_path):
    path, target = tmp_path / "c", tmp_path / "m"
    fitted = model().fit(*data(), checkpoint=path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(xt.StoreError):
        fitted.save(tmp_path / "file" / "m")
    with pytest.raises(xt.StoreError, match="cost was set to"):
        fitted.set_params(cost=2.0).save(target)
    assert path.exists(), "nothing was saved"
    fitted.set_params(cost=1.0).save(target)
    assert not path.exists()
    fitted.save(target)  # there is no checkpoint any more
    np.testing.assert_array_equal(xt.load(target).predict(data()[0]).scores, fitted.predict(data()[0]).scores)
    fitted.fit(*data())
    fitted.discard_checkpoint()  # a training without one
    assert fitted.fitted


def test_a_checkpoint_with_a_true_hash_and_wrong_weights_is_refused(tmp_path):
    """Kernels trust what they get: what does not fit the tree must not reach them."""
    path = tmp_path / "c"
    stopped(path, negatives="both")
    listed = json.loads((path / "checkpoint.json").read_text())
    with Checkpoint(path, listed["made_from"]) as checkpoint:
        arrays = dict(checkpoint.get("tree0.nodes0to1"))
        arrays["byte_offsets"] = arrays["byte_offsets"] * 1000
        checkpoint.put("tree0.nodes0to1", arrays)
    with pytest.raises(xt.StoreError, match="byte_offsets must end at"):
        model(negatives="both").fit(*data(), checkpoint=path)


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(xt.StoreError, match="choose another folder"):
        model().fit(*data(), checkpoint=tmp_path)
    assert not discard_checkpoint(tmp_path)
    assert (tmp_path / "mine").read_text() == "precious"
    with pytest.raises(xt.StoreError, match="cannot use"):
        model().fit(*data(), checkpoint=tmp_path / "mine")
    (tmp_path / "checkpoint.json").write_text("{}")
    with pytest.raises(xt.StoreError, match="not the list of a checkpoint"):
        model().fit(*data(), checkpoint=tmp_path)


def test_two_trainings_do_not_share_a_checkpoint(tmp_path):
    with Checkpoint(tmp_path / "c", {}), pytest.raises(xt.StoreError, match="in use by another training"):
        model().fit(*data(), checkpoint=tmp_path / "c")


def test_discarding_deletes_its_own_files_only(tmp_path):
    path = tmp_path / "c"
    stopped(path)
    (path / "note.txt").write_text("mine")
    (path / "tree0.nodes1to5.safetensors.tmp").write_text("cut short")
    assert discard_checkpoint(path)
    assert [file.name for file in path.iterdir()] == ["note.txt"]
    assert not discard_checkpoint(path)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_fit_leaves_the_model_as_it_was(kind, threads):
    def interrupt():
        raise kind

    fresh = model(threads=threads)
    with pytest.raises(kind), progress.listen(StopAfter(2, interrupt)):
        fresh.fit(*data())
    assert not fresh.fitted
    fresh.fit(*data())
    trees = fresh.trees
    with pytest.raises(kind), progress.listen(StopAfter(1, interrupt)):
        fresh.fit(*data(seed=1))
    assert fresh.trees is trees
