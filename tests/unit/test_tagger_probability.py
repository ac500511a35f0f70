"""Tags with probabilities: learned by `calibrate`, or the model's own; thresholds that choose themselves."""

import pickle

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.store import State

WORDS = ["bread", "cheese", "soup", "cake", "fish", "rice"]


def made(n, seed):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        mine = rng.choice(len(WORDS), rng.integers(1, 4), replace=False)
        texts.append(
            " ".join([f"hint{i}" for i in mine if rng.random() < 0.8] + [f"w{i}" for i in rng.integers(0, 9, 4)])
        )
        labels.append([WORDS[i] for i in mine])
    return texts, labels


@pytest.fixture(scope="module")
def parts():
    return made(400, 0), made(300, 1), made(300, 2)


def dataset(texts, labels):
    names = sorted(WORDS)
    return xt.Dataset(None, [[names.index(one) for one in some] for some in labels], texts=texts, label_names=names)


@pytest.fixture(scope="module")
def tagger(parts):
    tagger = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(*parts[0])
    assert tagger.tag("hint1", k=1)[0].probability is None
    return tagger.calibrate(dataset(*parts[1]))


def test_probabilities_mean_what_they_say(tagger, parts):
    test = dataset(*parts[2])
    top = tagger.predict(test, 6)
    assert xt.reliability(test.Y, tagger.probabilities(top), k=6).ece < 0.06
    assert xt.reliability(test.Y, top, k=6).ece > xt.reliability(test.Y, tagger.probabilities(top), k=6).ece


def test_a_tag_is_a_pair_with_a_probability(tagger):
    tag = tagger.tag("hint1 w2", k=1)[0]
    label, score = tag
    assert (label, score) == (tag.label, tag.score)
    assert 0 < tag.probability <= 1
    assert "probability=" in repr(tag)
    again = pickle.loads(pickle.dumps(tag))
    assert (again, again.probability) == (tag, tag.probability)
    assert repr(xt.Tag("a", 0.5)) == "Tag(label='a', score=0.5)"


def test_saved_with_the_model(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    again = xt.load(tmp_path / "m")
    assert again.tag("hint1 hint2")[0].probability == tagger.tag("hint1 hint2")[0].probability
    assert again.tag("hint1 hint2", threshold="auto") == tagger.tag("hint1 hint2", threshold="auto")


def test_a_threshold_is_a_probability_where_they_are_known(tagger):
    for tags in tagger.tag_many(["hint1 hint2 w1", "hint3", "w1 w2"], k=6, threshold=0.5):
        assert all(tag.probability >= 0.5 for tag in tags)
    assert len(tagger.tag("hint1", k=6, threshold=0.99)) <= len(tagger.tag("hint1", k=6, threshold=0.01))


def test_automatic_thresholds_are_good(tagger, parts):
    test = dataset(*parts[2])
    f1 = {cut: tagger.evaluate(test, ["F1@6"], threshold=cut)["F1@6"] for cut in ("auto", "auto-corpus", None)}
    fixed = max(tagger.evaluate(test, ["F1@6"], threshold=t)["F1@6"] for t in np.linspace(0.1, 0.9, 9))
    assert f1["auto"] > f1[None] + 5
    assert f1["auto"] > fixed - 2
    assert f1["auto-corpus"] > fixed - 3
    assert len(tagger.tag("hint1 hint2 hint3", k=1, threshold="auto")) == 1


def test_without_probabilities_auto_is_refused(parts):
    plain = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(*parts[0])
    with pytest.raises(xt.InputError, match=r"calibrate=True.* or tagger.calibrate\(dataset\)"):
        plain.tag("hint1", threshold="auto")
    with pytest.raises(xt.ParameterError, match="'auto' or 'auto-corpus'"):
        plain.tag("hint1", threshold="best")
    with pytest.raises(xt.InputError, match="at least 50 rows"):
        plain.calibrate(dataset(*made(10, 3)))
    top = plain.predict(parts[2][0], 3)
    assert plain.probabilities(top) is None
    with pytest.raises(xt.InputError, match="of others"):
        plain.evaluate(dataset(*parts[2]), ["F1@3"], threshold="auto", predictions=top)


def test_training_can_learn_them_as_well(parts, tmp_path):
    test = dataset(*parts[2])
    tagger = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(*parts[0], calibrate=True)
    plain = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(*parts[0])
    assert tagger.tag("hint1", k=1) == plain.tag("hint1", k=1)  # the model has learned from all rows
    assert tagger.reliability(test, k=6).ece < 0.06 < xt.reliability(test.Y, plain.predict(test, 6), k=6).ece
    assert tagger.evaluate(test, ["F1@6"], threshold="auto")["F1@6"] > tagger.evaluate(test, ["F1@6"])["F1@6"] + 5
    tagger.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").tag("hint1")[0].probability == tagger.tag("hint1")[0].probability
    best = xt.Tagger(xt.Vectorizer(), xt.preset("best")).fit(*parts[0], calibrate=True)
    assert best.probability_curves is None  # it answers with probabilities by itself: nothing is trained twice


def test_rows_that_are_too_few_are_named(parts):
    texts, labels = parts[0]
    with pytest.raises(xt.InputError, match="at least 100 rows; got 99"):
        xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(texts[:99], labels[:99], calibrate=True)
    few = xt.Tagger(xt.Vectorizer(), xt.preset("best")).fit(texts[:150], labels[:150])
    assert few.tag("hint1", k=1)[0].probability is None
    with pytest.raises(xt.InputError, match=r"from 200 training rows on, and it had fewer; fit\(…, calibrate=True\)"):
        few.tag("hint1", threshold="auto")
    few = xt.Tagger(xt.Vectorizer(), xt.preset("best")).fit(texts[:150], labels[:150], calibrate=True)
    assert few.tag("hint1", k=1, threshold="auto")[0].probability > 0


def test_a_model_that_answers_probabilities_needs_no_curves(parts):
    best = xt.Tagger(xt.Vectorizer(), xt.preset("best")).fit(*parts[0])
    tags = best.tag("hint1 hint2 w3", k=6, threshold="auto")
    assert 1 <= len(tags) < 6
    assert all(tag.probability == tag.score for tag in tags)


def test_training_again_forgets_them(tagger, parts):
    again = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(*parts[0]).calibrate(dataset(*parts[1]))
    again.fit(*parts[0])
    assert again.tag("hint1", k=1)[0].probability is None


def test_a_stored_tagger_with_something_else_is_refused(tagger):
    state = tagger.to_state()
    with pytest.raises(xt.StoreError, match="Probabilities"):
        xt.Tagger.from_state(
            {}, State(meta=state.meta, arrays=state.arrays, parts={**state.parts, "probabilities": tagger.model})
        )
