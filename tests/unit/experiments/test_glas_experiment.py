"""The GLaS experiment on a toy: its runs, and a page with every part of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays import TopK, as_labels
from xtrellis.experiments import experiment, glas
from xtrellis.experiments.base import run_all
from xtrellis.experiments.data import Prepared
from xtrellis.experiments.glas_parts import groups as glas_groups
from xtrellis.experiments.glas_parts import page as glas_page
from xtrellis.experiments.glas_parts import structure as glas_structure
from xtrellis.experiments.glas_parts.structure import by_cosines, structure
from xtrellis.experiments.measure import deciles, psp_by_decile


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    train, test = xt.synthetic(n_rows=400, n_labels=30, n_features=300, seed=0).split(0.25, seed=0)
    for name, part in (("train", train), ("test", test)):
        xt.write(part, tmp_path / f"{name}.txt", format="xmc")
    return tmp_path


def test_the_whole_of_it(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        glas, "preset", lambda name, **p: xt.preset(name, **p, **({"epochs": 2} if name == "glas" else {}))
    )
    chosen = experiment("glas")
    page = run_all(chosen, tmp_path / "out", data=[str(folder)], seeds=2, small=True, threads=1).read_text()
    assert "as the preset has it" in page
    assert "| regularizer | spread-out |" in page
    assert "| no regulariser |" in page
    assert "| `xr-linear` |" in page
    assert "| GLaS better than gravity, P@1 |" in page
    assert "| random | spread-out | 10 |" in page
    assert "| centroids | none |  |" in page
    assert "P@1 of cosines − spread-out" in page
    assert "correlation with similarity" in page
    assert "## What the regulariser asks for" in page
    assert "PSP@1 of test counts" in page
    assert "| `xr-linear`, prior by held-out rows (" in page
    assert "PSP@1 by tenths of the labels" in page
    assert " ± " in page
    assert list((tmp_path / "out").glob("glas-curves-*.svg"))


def test_every_factor_is_varied_alone() -> None:
    runs = [run for run in glas.plan("x", 0, False) if run["model"] == "glas"]
    varied = {run["factor"] for run in runs} - {None, glas_page.CROSS, glas_page.WIDE, glas.DROPOUT, glas.NGRAMS}
    assert varied == set(glas.FACTORS)
    assert len({str(run) for run in runs}) == len(runs)
    for run in runs:
        if run["factor"] in varied:
            assert run["value"] != getattr(xt.Glas, run["factor"])
        if run["model"] == "glas":
            xt.Glas(**glas.changed(run))
    wide = [glas.changed(run) for run in glas.plan("x", 0, False) if run["factor"] == glas_page.WIDE]
    assert wide == [{"dim": 2 * xt.Glas.dim, "refit": True}]  # both at once: what held-out rows of yso-100k ask for


def test_regularisers_are_crossed_with_weights_and_starts() -> None:
    crossed = [glas.changed(run) for run in glas.plan("x", 0, False) if run["factor"] == glas_page.CROSS]
    assert {(c["regularizer"], c["init"]) for c in crossed} == {
        (kind, start) for kind in (None, "glas", "spread-out") for start in ("centroids", "random")
    }
    assert {c["regularizer_weight"] for c in crossed if c["regularizer"]} == set(glas.WEIGHTS)


def test_psp_is_shared_out_among_tenths() -> None:
    data = xt.synthetic(n_rows=400, n_labels=30, n_features=80, seed=0)
    train, test = data.split(0.25, seed=0)
    prepared = Prepared("made", train, test)
    model = xt.LinearTree(threads=1).fit(train.X, train.Y)
    top = model.predict(test.X, k=1)
    shares = psp_by_decile(prepared, top)
    whole = xt.evaluate(test.Y, top, ["PSP@1"], weights=prepared.weights())["PSP@1"]
    assert len(shares) == 10
    assert sum(shares) == pytest.approx(whole, abs=0.01)
    rare = deciles(np.asarray(train.Y.sum(axis=0)).ravel()) == 9
    none = TopK(np.where(rare[top.labels], -1, top.labels).astype(np.int32), top.scores, top.n_labels)
    assert psp_by_decile(prepared, none)[:9] == shares[:9]
    assert psp_by_decile(prepared, none)[9] == 0


def test_differences_are_by_seed() -> None:
    base = [{"seed": seed, "P@1": value} for seed, value in ((0, 10.0), (1, 50.0), (2, 30.0))]
    mine = [{"seed": seed, "P@1": value} for seed, value in ((0, 11.0), (1, 53.0), (3, 99.0))]
    assert glas_page._gain(mine, base, "P@1") == "+2.00 ± 1.00"
    assert glas_page._gain([{"seed": 0, "P@1": 12.0}, {"seed": 1, "P@1": 53.0}], base, "P@1") == "**+2.50 ± 0.50**"
    assert glas_page._gain(mine[:1], base, "P@1") == "+1.00"
    assert glas_page._gain(mine[2:], base, "P@1") == "–"


def test_how_label_vectors_lie() -> None:
    Y = as_labels(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]], np.float32))
    V = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    found = structure(V, Y)
    drawn = np.array([1.5, 0.5, 2.0]) / 4  # one label a row
    U = np.array([[0, 0.75, 0], [0.75, 0, 0], [0, 0, 0]])
    apart = ~np.eye(3, dtype=bool)
    weights, cosines = np.outer(drawn, drawn) * apart, V @ V.T
    assert found["glas penalty"] == pytest.approx((weights * (cosines - U) ** 2).sum())
    assert found["cosine of pairs that meet"] == pytest.approx(0.6)
    assert found["similarity of pairs that meet"] == pytest.approx(0.75)
    wanted = glas_structure.asked(Y)
    assert wanted["share of pairs that meet"] == pytest.approx((weights * (U > 0)).sum() / weights.sum())
    assert wanted["similarity of pairs that meet"] == pytest.approx(0.75)
    assert wanted["root mean square similarity"] == pytest.approx(((weights * U**2).sum() / weights.sum()) ** 0.5)
    others = weights * (U == 0)
    assert found["squared cosine of others"] == pytest.approx((others * cosines**2).sum() / others.sum())


def test_products_that_follow_similarity_correlate_with_it() -> None:
    Y = as_labels(xt.synthetic(n_rows=200, n_labels=20, n_features=50, seed=0).Y)
    dense = Y.toarray()
    counts = dense.sum(axis=0)
    U = (dense.T @ dense) * 0.5 * (1 / np.maximum(counts, 1)[:, None] + 1 / np.maximum(counts, 1)[None, :])
    values, axes = np.linalg.eigh(U + 10 * np.eye(len(U)))  # shifted so that it is a Gram matrix
    found = structure((axes * np.sqrt(values)).astype(np.float32), Y)
    assert found["correlation"] == pytest.approx(1.0, abs=1e-4)
    assert found["glas penalty"] == pytest.approx(0.0, abs=1e-6)


def test_cosines_alone_know_no_prior() -> None:
    data = xt.synthetic(n_rows=300, n_labels=30, n_features=100, seed=0)
    plain, tilted = (xt.Glas(dim=8, epochs=1, prior=t, threads=1).fit(data.X, data.Y) for t in (0.0, 0.5))
    found = by_cosines(tilted, data.X, 5)
    np.testing.assert_array_equal(found.labels, plain.predict(data.X, k=5).labels)
    assert not np.array_equal(found.labels, tilted.predict(data.X, k=5).labels)


def test_groups_lack_tail_labels_in_training_alone() -> None:
    data = glas_groups.made(0, n_train=500, n_test=200)
    heads = np.arange(glas_groups.GROUPS) * (1 + glas_groups.TAILS)
    for part, a_row in ((data.train, 1 + glas_groups.WRITTEN * glas_groups.TAILS_A_ROW), (data.test, 3.0)):
        Y = part.Y.toarray()
        assert (Y[:, heads].sum(axis=1) == 1).all()
        np.testing.assert_array_equal(Y.argmax(axis=1) // (1 + glas_groups.TAILS), Y[:, heads].argmax(axis=1))
        assert Y.sum(axis=1).mean() == pytest.approx(a_row, abs=0.05)
    assert data.train.X is not None
    np.testing.assert_allclose((data.train.X.toarray() ** 2).sum(axis=1), 1, rtol=1e-5)


def test_the_regulariser_finds_missing_tail_labels_and_spread_out_loses_them() -> None:
    data = glas_groups.made(0, n_train=3000, n_test=500)
    found = {}
    for kind in (None, "glas", "spread-out"):
        model = xt.Glas(dim=48, epochs=4, regularizer=kind, regularizer_weight=1000.0, prior=0.0)
        top = model.set_params(threads=1).fit(data.train.X, data.train.Y).predict(data.test.X, k=5)
        found[kind] = xt.evaluate(data.test.Y, top, ["P@5"])["P@5"]
    assert found["glas"] > found[None] + 2
    assert found["glas"] > found["spread-out"] + 3
