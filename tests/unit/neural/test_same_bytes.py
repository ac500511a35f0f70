"""Trainings on two threads give the same bytes, however the threads take turns."""

from __future__ import annotations

import hashlib
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.neural.encoders.bag import BagEncoder
from xtrellis.neural.training.pytorch import run_pieces

# One of 18 differed once, in the sixth digit: a product of matrices on two threads where one was meant. A library that
# adds in another order on two threads does so from some 1,000 terms a sum on, so vectors are as long as that; with 16
# dimensions all 50 trainings were the same even without what mended it, with 1,024 each of them differs.
RUNS = 50
COMMON = {"encoder": BagEncoder(dim=1024), "epochs": 2, "batch_size": 96, "holdout": 0.0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n, n_labels = 96, 60
    Y = sp.csr_array((rng.random((n, n_labels)) < 3 / n_labels).astype(np.float32))
    return sp.csr_array(Y @ rng.random((n_labels, 40)).astype(np.float32)), Y


def digest(model):
    arrays = model.to_state().arrays
    return hashlib.sha1(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()


@pytest.mark.parametrize(
    "model",
    [
        xt.Elias(**COMMON, n_clusters=8, beam=3, shortlist_size=20, threads=2),
        xt.EncoderOvA(**COMMON, threads=2),
    ],
    ids=["Elias", "EncoderOvA"],
)
def test_many_trainings_on_two_threads_are_one(model, data):
    one = type(model)(**model.get_params(deep=False) | {"threads": 1}).fit(*data)
    found = {digest(type(model)(**model.get_params(deep=False)).fit(*data)) for _ in range(RUNS)}
    assert found == {digest(one)}


def test_each_thread_is_told_to_work_alone_before_its_first_piece():
    told, worked = set(), []
    torch = SimpleNamespace(set_num_threads=lambda n: told.add((threading.get_ident(), n)))

    both = threading.Barrier(2, timeout=60)

    def piece(i):
        worked.append((threading.get_ident(), 1) in told)
        if i < 2:
            both.wait()
        return i

    assert run_pieces(torch, piece, range(8), threads=2) == list(range(8))
    assert worked == [True] * 8
    assert len(told) == 2
