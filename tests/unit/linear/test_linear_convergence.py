"""How long classifiers take, and what is said when they are not solved."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.core import progress
from xtrellis.index.tree import LabelTree
from xtrellis.linear.convergence import Convergence
from xtrellis.linear.model import LinearTree
from xtrellis.linear.train import Trainer


class Notes:
    begin = advance = end = lambda *args: 0

    def __init__(self):
        self.lines = []

    def note(self, message):
        self.lines.append(message)


def data(n_labels=300):
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 40), density=0.3, rng=rng, dtype=np.float32, format="csr")
    return as_features(X), as_labels((rng.random((120, n_labels)) < 0.05).astype(np.float32))


@pytest.mark.parametrize("threads", [1, 3])
def test_convergence_counts_nodes_classifiers_and_epochs(threads):
    X, Y = data()
    tree = LabelTree.from_parents([-1, 0, 0], np.arange(300), np.repeat([1, 2], [280, 20]), 300)
    model = LinearTree(max_epochs=7, tolerance=1e-6)
    trainer = Trainer(X, Y, tree, model.solver(), model.negative_rows(), storage="float32", seed=0, threads=threads)
    trainer.train()
    found = trainer.convergence
    assert (found.nodes, found.classifiers) == (3, 302)  # node 1 has two blocks
    assert found.unsolved > 200, "seven passes do not get within 1e-6"
    assert found.mean_epochs == 7
    patient = LinearTree(max_epochs=500)
    trainer = Trainer(X, Y, tree, patient.solver(), model.negative_rows(), storage="float32", seed=0, threads=threads)
    trainer.train()
    assert trainer.convergence.unsolved == 0
    assert 1 < trainer.convergence.mean_epochs < 500


def test_an_empty_label_is_solved_though_its_neighbours_are_not():
    """What counts are classifiers, not the groups they are solved in."""
    X, Y = data(n_labels=6)
    Y = Y.toarray()
    Y[:, 3:] = 0
    model = LinearTree(index=xt.FlatTree(), max_epochs=9, tolerance=0.02, bias=0.0)
    tree = LabelTree([0, 6], ~np.arange(6), 6)
    trainer = Trainer(X, as_labels(Y), tree, model.solver(), model.negative_rows(), storage="float32", seed=0)
    trainer.train()
    assert 0 < trainer.convergence.unsolved < 6


def test_it_is_said_once_with_the_cure_and_only_if_something_was_not_solved():
    X, Y = data()
    for max_epochs, n_trees in ((1, 2), (1000, 1)):
        notes = Notes()
        with progress.listen(notes):
            LinearTree(max_epochs=max_epochs, n_trees=n_trees).fit(X, Y)
        said = [line for line in notes.lines if "not solved" in line]
        if max_epochs == 1000:
            assert not said
            continue
        (line,) = said
        assert "classifiers" in line
        assert "max_epochs=1 " in line
        assert "larger max_epochs, or a tolerance above 0.1" in line


def test_convergence_without_anything_trained():
    notes = Notes()
    with progress.listen(notes):
        Convergence().report(max_epochs=10, tolerance=0.1)
    assert Convergence().mean_epochs == 0
    assert not notes.lines
