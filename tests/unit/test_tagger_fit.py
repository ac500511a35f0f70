"""A tagger learns: step by step or at once, from texts or a Dataset; what fails or is stopped changes nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.linear.estimate import LinearEstimate

RNG = np.random.default_rng(5)
NAMES = [f"label {letter}" for letter in "abcdefghij"]
LABELS = [sorted({NAMES[i] for i in RNG.integers(0, len(NAMES), 2)}) for _ in range(150)]
TEXTS = [" ".join(f"{name[-1]}{i}word label" for name in row for i in RNG.integers(0, 4, 3)) for row in LABELS]
OTHERS = ["quite other words", "and fewer texts", "than before words"] * 20, [["x"], ["y", "z"], ["x", "z"]] * 20


def small(**params: Any) -> xt.LinearTree:
    return xt.LinearTree(index=xt.BalancedTree(arity=3, max_leaf=4), **{"beam": 3, "threads": 1, **params})


def dataset(**more: Any) -> xt.Dataset:
    ids = {name: i for i, name in enumerate(NAMES)}
    Y = np.zeros((len(TEXTS), len(NAMES)))
    for i, row in enumerate(LABELS):
        Y[i, [ids[name] for name in row]] = 1
    return xt.Dataset(None, Y, texts=TEXTS, label_names=NAMES, **more)


def equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and (a != b).nnz == 0


def answers(tagger: xt.Tagger) -> list[Any]:
    """All that a tagger says of some rows."""
    top = tagger.predict(TEXTS[:20], 5)
    return [
        tagger.tag_many(TEXTS[:20], 5), top.labels.tolist(), top.scores.tolist(), tagger.tag(TEXTS[0], 3),
        list(tagger.label_names), tagger.label_counts.tolist(), tagger.n_rows, tagger.inverse_propensity().tolist(),
        dict(tagger.evaluate(dataset(), "P@1,PSP@3,R@5")),
    ]  # fmt: skip


# ── step by step ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("given", ["texts", "dataset"])
def test_what_is_prepared_is_what_fit_trains_on(given: str) -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small())
    data = tagger.prepare(TEXTS, LABELS) if given == "texts" else tagger.prepare(dataset())
    vectorizer = xt.Vectorizer()
    assert equal(data.X, vectorizer.fit_transform(TEXTS))
    assert equal(data.Y, dataset().Y)
    assert list(data.label_names) == NAMES
    assert list(data.texts) == TEXTS
    assert data.label_features is None
    assert list(data.vectorizer.feature_names) == list(vectorizer.feature_names)
    assert not tagger.fitted
    assert not tagger.vectorizer.fitted
    at_once = xt.Tagger(xt.Vectorizer(), small()).fit(TEXTS, LABELS)
    assert answers(tagger.fit(data)) == answers(at_once)
    assert tagger.vectorizer is data.vectorizer
    alone = small().fit(data)
    np.testing.assert_array_equal(alone.predict(data.X, 3).labels, tagger.predict(TEXTS, 3).labels)


def test_ids_follow_the_sorted_names_and_a_name_counts_once_a_row() -> None:
    data = xt.Tagger(xt.Vectorizer(), small()).prepare(["red car", "blue car"], [["z", "b", "z"], {"b", "a"}])
    assert list(data.label_names) == ["a", "b", "z"]
    assert data.Y.toarray().tolist() == [[0, 1, 1], [1, 1, 0]]
    assert data.label_counts.tolist() == [1, 2, 1]


def test_preparing_other_data_does_not_change_what_a_tagger_says() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small()).fit(TEXTS, LABELS)
    before = answers(tagger)
    data = tagger.prepare(*OTHERS)
    tagger.estimate(data)
    assert answers(tagger) == before
    assert answers(tagger.fit(data)) == answers(xt.Tagger(xt.Vectorizer(), small()).fit(*OTHERS))
    assert list(tagger.label_names) == ["x", "y", "z"]
    assert answers(tagger) != before


def test_without_a_vectorizer_the_features_are_taken() -> None:
    X = xt.Vectorizer().fit_transform(TEXTS)
    texts = dataset()
    both = xt.Dataset(X, texts.Y, texts=TEXTS, label_names=NAMES)
    tagger = xt.Tagger(None, small())
    data = tagger.prepare(both)
    assert equal(data.X, X)
    assert data.vectorizer is None
    tagger.fit(data)
    np.testing.assert_array_equal(tagger.predict(X, 3).labels, small().fit(X, texts.Y).predict(X, 3).labels)
    np.testing.assert_array_equal(tagger.predict(both, 3).labels, tagger.predict(X, 3).labels)
    assert list(tagger.label_names) == NAMES
    unnamed = xt.Tagger(None, small()).fit(xt.Dataset(X, texts.Y))
    assert list(unnamed.label_names) == [str(i) for i in range(10)]
    with pytest.raises(xt.InputError, match="no features; give the tagger a Vectorizer"):
        tagger.prepare(texts)
    with pytest.raises(xt.InputError, match="this tagger reads texts, but the data has none"):
        xt.Tagger(xt.Vectorizer(), small()).prepare(xt.Dataset(X, texts.Y))


def test_texts_beside_a_feature_matrix_go_to_a_model_that_reads_them() -> None:
    told: list[tuple[str, Any]] = []

    class Reader(xt.LinearTree):
        reads_texts = True

        def _train(self, data: Any, checkpoint: Any) -> None:
            told.append(("train", data.texts))
            super()._train(data, checkpoint)

        def predict(self, X: Any, k: int = 10, *, texts: Any = None) -> Any:  # type: ignore[override]
            told.append(("predict", texts))
            return super().predict(X, k)

    X = xt.Vectorizer().fit_transform(TEXTS)
    both = xt.Dataset(X, dataset().Y, texts=TEXTS, label_names=NAMES)
    tagger = xt.Tagger(None, Reader(threads=1)).fit(both)
    tagger.predict(both, 3)
    tagger.evaluate(both, "P@1")
    xt.Tagger(xt.Vectorizer(), Reader(threads=1)).fit(both).predict(TEXTS, 3)
    assert [what for what, _ in told] == ["train", "predict", "predict", "train", "predict"]
    assert all(list(texts) == TEXTS for _, texts in told)


def test_labels_and_names_are_given_once() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small())
    data = tagger.prepare(TEXTS, LABELS)
    with pytest.raises(xt.InputError, match="prepared data holds labels"):
        tagger.fit(data, LABELS)
    with pytest.raises(xt.InputError, match="prepared data holds labels"):
        tagger.fit(data, label_text=True)
    with pytest.raises(xt.InputError, match="a Dataset holds its labels itself"):
        tagger.fit(dataset(), LABELS)
    with pytest.raises(xt.InputError, match="labels must be one list of names for each text; got NoneType"):
        tagger.fit(TEXTS)
    assert not tagger.fitted


def test_the_words_of_names_are_prepared_too() -> None:
    tagger = xt.Tagger(xt.Vectorizer(min_token_length=1), small())
    data = tagger.prepare(TEXTS, LABELS, label_text=True)
    assert equal(data.label_features, data.vectorizer.transform(NAMES))
    assert data.label_features.nnz == 10  # "label" is a word of the texts, the letters are none
    assert answers(tagger.fit(data)) == answers(tagger.clone().fit(dataset(), label_text=True))
    plain = tagger.prepare(TEXTS, LABELS)
    assert tagger.estimate(data).matrices_bytes > tagger.estimate(plain).matrices_bytes


# ── estimates ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_estimate_is_the_models_of_the_same_matrices() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small())
    data = tagger.prepare(TEXTS, LABELS)
    expected = small().estimate(xt.Vectorizer().fit_transform(TEXTS), dataset().Y)
    assert isinstance(expected, LinearEstimate)
    named = expected.with_parts(data.bytes_beside_model)  # on disk: names of labels, and the words
    assert named.model_bytes > expected.model_bytes
    assert tagger.estimate(data) == tagger.estimate(TEXTS, LABELS) == tagger.estimate(dataset()) == named
    assert (expected.rows, expected.labels, expected.features) == (150, 10, data.n_features)
    assert not tagger.fitted
    with pytest.raises(xt.ParameterError, match="memory_limit is 10 kB"):
        xt.Tagger(xt.Vectorizer(), small(memory_limit="10KB")).fit(data)


# ── checkpoints ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_checkpoint_stays_until_the_tagger_is_saved(tmp_path: Path) -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small()).fit(TEXTS, LABELS, checkpoint=tmp_path / "c")
    assert (tmp_path / "c" / "checkpoint.json").is_file()
    again = xt.Tagger(xt.Vectorizer(), small()).fit(TEXTS, LABELS, checkpoint=tmp_path / "c")
    assert answers(again) == answers(tagger)
    with pytest.raises(xt.StoreError, match="belongs to another training: X is"):
        xt.Tagger(xt.Vectorizer(ngrams=2), small()).fit(TEXTS, LABELS, checkpoint=tmp_path / "c")
    renamed = [[name.upper() for name in row] for row in LABELS]
    with pytest.raises(xt.StoreError, match="belongs to another training: label names is"):
        xt.Tagger(xt.Vectorizer(), small()).fit(TEXTS, renamed, checkpoint=tmp_path / "c")
    tagger.save(tmp_path / "m")
    assert not (tmp_path / "c").exists()
    assert answers(xt.load(tmp_path / "m")) == answers(tagger)


def test_a_refit_that_was_stopped_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small()).fit(*OTHERS)
    with pytest.raises(Stopped), progress.listen(StopAt(n_events(lambda: tagger.clone().fit(TEXTS, LABELS)))):
        tagger.fit(TEXTS, LABELS, checkpoint=tmp_path / "c")
    assert list(tagger.label_names) == ["x", "y", "z"]
    assert (tmp_path / "c").is_dir()
    tagger.fit(TEXTS, LABELS, checkpoint=tmp_path / "c")
    assert answers(tagger) == answers(xt.Tagger(xt.Vectorizer(), small()).fit(TEXTS, LABELS))
    tagger.save(tmp_path / "m")
    assert not (tmp_path / "c").exists()


def test_models_that_cannot_go_on_take_no_checkpoint(tmp_path: Path) -> None:
    tagger = xt.Tagger(xt.Vectorizer(), xt.SoftmaxTree(dim=4, epochs=1, threads=1)).fit(*OTHERS)
    before = answers(tagger)
    with pytest.raises(xt.InputError, match="a SoftmaxTree keeps no checkpoints"):
        tagger.fit(TEXTS, LABELS, checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()
    assert answers(tagger) == before


# ── what fails ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Stopped(KeyboardInterrupt):
    """Ctrl-C."""


class StopAt:
    """Listens, and stops the work at the n-th thing it is told."""

    def __init__(self, n: float) -> None:
        self.n, self.heard = n, 0

    def _hear(self) -> None:
        self.heard += 1
        if self.heard == self.n:
            raise Stopped

    def begin(self, title: str, total: float | None, unit: str) -> int:
        self._hear()
        return 0

    def advance(self, step: int, amount: float) -> None:
        self._hear()

    def note(self, message: str) -> None:
        self._hear()

    def end(self, step: int) -> None:
        pass


def n_events(work: Any) -> int:
    """How much a listener is told."""
    listener = StopAt(math.inf)
    with progress.listen(listener):
        work()
    return listener.heard


MODELS = {
    "linear": lambda: small(n_trees=2),
    "overlap": lambda: small(overlap=xt.Overlap(copies=2)),
    "softmax": lambda: xt.SoftmaxTree(dim=4, epochs=2, threads=1),
    "reranked": lambda: xt.Reranked(base=small(), candidates=5, threads=1),
    "ensemble": lambda: xt.Ensemble(models=[small(), small()], combine="calibrated", threads=1),
    "glas": lambda: xt.Glas(dim=4, epochs=2, batch_size=32, threads=1),
    "ova": lambda: xt.EncoderOvA(encoder=xt.BagEncoder(dim=4), epochs=2, batch_size=32, threads=1),
    "elias": lambda: xt.Elias(encoder=xt.BagEncoder(dim=4), epochs=2, batch_size=32, threads=1),
    "x-transformer": lambda: xt.XTransformer(
        encoder=xt.BagEncoder(dim=4), tree=small(), epochs=2, batch_size=32, threads=1
    ),
}
NEURAL = ("glas", "ova", "elias", "x-transformer")


@pytest.mark.parametrize("kind", MODELS)
def test_a_refit_that_is_stopped_changes_nothing(kind: str) -> None:
    if kind in NEURAL:
        pytest.importorskip("torch")
    tagger = xt.Tagger(xt.Vectorizer(threads=1), MODELS[kind]()).fit(*OTHERS)
    before = answers(tagger)
    whole = tagger.clone()
    total = n_events(lambda: whole.fit(TEXTS, LABELS))
    assert total > 2
    for at in sorted({1, 2, total // 4, total // 2, 3 * total // 4, total - 1, total}):
        with pytest.raises(Stopped), progress.listen(StopAt(at)):
            tagger.fit(TEXTS, LABELS)
        assert answers(tagger) == before, f"stopped at {at} of {total}"
    assert answers(tagger.fit(TEXTS, LABELS)) == answers(whole)


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_alone_that_is_stopped_stays_as_it_was(kind: str) -> None:
    """A tagger trains a copy again, so models are asked themselves."""
    if kind in NEURAL:
        pytest.importorskip("torch")
    tagger = xt.Tagger(xt.Vectorizer(threads=1), MODELS[kind]())
    first, second = tagger.prepare(*OTHERS), tagger.prepare(TEXTS, LABELS)
    model = MODELS[kind]().fit(first)
    before = model.predict(first.X, 3)
    total = n_events(lambda: MODELS[kind]().fit(second))
    for at in sorted({1, total // 2, total}):
        with pytest.raises(Stopped), progress.listen(StopAt(at)):
            model.fit(second)
        after = model.predict(first.X, 3)
        np.testing.assert_array_equal(after.labels, before.labels)
        np.testing.assert_array_equal(after.scores, before.scores)
        assert model.n_labels == 3


@pytest.mark.parametrize("kind", NEURAL)
def test_a_refit_that_diverges_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a model keeps the last good state of its own; beside an old vocabulary that would be nonsense."""
    pytest.importorskip("torch")
    from xtrellis.neural.training.loop import Loop

    tagger = xt.Tagger(xt.Vectorizer(threads=1), MODELS[kind]()).fit(*OTHERS)
    before, epoch = answers(tagger), Loop._epoch

    def diverge(self: Any, number: int) -> None:
        if number == 1:
            raise xt.TrainingError("the loss became nan")
        epoch(self, number)

    monkeypatch.setattr(Loop, "_epoch", diverge)
    with pytest.raises(xt.TrainingError, match="nan"):
        tagger.fit(TEXTS, LABELS)
    assert answers(tagger) == before


@pytest.mark.parametrize("where", ["vectorizer", "model", "estimate"])
def test_a_refit_that_fails_changes_nothing(where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small()).fit(TEXTS, LABELS)
    before = answers(tagger)

    def fail(*args: Any, **more: Any) -> None:
        raise MemoryError

    target = {"vectorizer": (xt.Vectorizer, "fit_transform"), "model": (xt.LinearTree, "_train")}
    monkeypatch.setattr(*target.get(where, (xt.LinearTree, "_estimate")), fail)
    with pytest.raises((MemoryError, xt.InputError)):  # a model says what it lacked memory for
        tagger.estimate(*OTHERS) if where == "estimate" else tagger.fit(*OTHERS)
    monkeypatch.undo()
    assert answers(tagger) == before
    tagger.save(tmp_path / "m")
    assert answers(xt.load(tmp_path / "m")) == before


def test_a_first_training_that_fails_leaves_an_untrained_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small())
    with pytest.raises(xt.InputError, match="one list of labels for each text"):
        tagger.fit(TEXTS, LABELS[:3])
    with pytest.raises(xt.InputError, match="no features are left"):
        tagger.fit([" ", "?"], [["a"], ["b"]])
    assert not tagger.fitted
    assert not tagger.model.fitted
    with pytest.raises(xt.NotFittedError):
        tagger.tag("a text")
    assert tagger.fit(TEXTS, LABELS).fitted


def test_a_refit_is_a_training_from_scratch() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), small()).fit(*OTHERS)
    tagger.model.set_params(cost=3.0)
    fresh = xt.Tagger(xt.Vectorizer(), small(cost=3.0)).fit(TEXTS, LABELS)
    assert answers(tagger.fit(TEXTS, LABELS)) == answers(fresh)
    assert sp.issparse(tagger.vectorizer.transform(["x"]))
