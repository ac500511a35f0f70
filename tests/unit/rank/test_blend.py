"""`Ensemble(combine='learned')`: blends of models, learned from rows that they have not seen."""

import numpy as np
import pytest
from scipy import sparse as sp

import xtrellis as xt
from xtrellis.arrays import TopK
from xtrellis.core import StoreError
from xtrellis.metrics import evaluate, reliability
from xtrellis.rank import Blend, SymmetricTrees
from xtrellis.rank.candidates import Candidates
from xtrellis.store import State

WORDS = ["bread", "cheese", "soup", "cake", "fish", "rice", "wine", "salt", "oven", "milk"]


@pytest.fixture(scope="module")
def kitchen():
    """Texts that name some of their labels, and words that go with the others."""
    rng = np.random.default_rng(0)
    texts, rows = [], []
    for _ in range(600):
        labels = rng.choice(len(WORDS), rng.integers(1, 3), replace=False)
        said = [WORDS[i] if rng.random() < 0.5 else f"hint{i}" for i in labels]
        noise = [f"word{i}" for i in rng.integers(0, 40, 6)]
        texts.append(" ".join(rng.permutation(said + noise)))
        rows.append([int(i) for i in labels])
    X = xt.Vectorizer().fit_transform(texts)
    Y = sp.csr_array((np.ones(sum(map(len, rows))), [i for r in rows for i in r], np.cumsum([0, *map(len, rows)])))
    return X, Y, texts


def ensemble(**more):
    models = [xt.LinearTree(), xt.Neighbors(), xt.NameMatcher()]
    return xt.Ensemble(models=models, combine="learned", candidates=10, **more)


@pytest.fixture(scope="module")
def fitted(kitchen):
    X, Y, texts = kitchen
    train = slice(0, 450)
    return ensemble(score_missing=False).fit(X[train], Y[train], texts=texts[train], label_names=WORDS)


def test_together_they_are_better_than_each_and_say_how_likely(kitchen, fitted):
    X, Y, texts = kitchen
    test = slice(450, None)
    top = fitted.predict(X[test], 10, texts=texts[test])
    found = evaluate(Y[test], top, ["P@1", "R@5"])
    for member in fitted.members:
        alone = member.predict(X[test], 10, texts=texts[test])
        assert found["P@1"] >= evaluate(Y[test], alone, ["P@1"])["P@1"] - 1.5
    assert found["P@1"] > 90
    assert reliability(Y[test], top, k=5).ece < 0.05
    assert ((top.scores >= 0) & (top.scores <= 1)).all()
    assert fitted.answers_probabilities


@pytest.mark.parametrize("asks", [True, False])
def test_scores_of_given_labels_are_those_of_predict(kitchen, asks):
    X, Y, texts = kitchen
    model = ensemble(score_missing=asks).fit(X[:300], Y[:300], texts=texts[:300], label_names=WORDS)
    top = model.predict(X[300:340], 10, texts=texts[300:340])
    rows = np.repeat(np.arange(40), top.k)[top.labels.ravel() >= 0]
    labels = top.labels.ravel()[top.labels.ravel() >= 0]
    pairs = sp.csr_array((np.ones(len(rows)), (rows, labels)), shape=(40, 10))
    dense = model.score(X[300:340], pairs, texts=texts[300:340]).toarray()
    assert np.allclose(dense[rows, labels], top.scores.ravel()[top.labels.ravel() >= 0], atol=1e-6)


def test_explanations_sum_to_the_log_odds(kitchen, fitted):
    X, _, texts = kitchen
    for row in range(500, 510):
        top = fitted.predict(X[[row]], 3, texts=[texts[row]])
        for label, score in zip(top.labels[0], top.scores[0], strict=True):
            why = fitted.explain(X[[row]], int(label), texts=[texts[row]])
            verdict = why.verdict
            assert verdict is not None
            assert verdict.probability == pytest.approx(float(score), abs=1e-5)
            added = [testimony.added for testimony in verdict.testimonies]
            assert verdict.base + sum(added) + verdict.frequency_added == pytest.approx(verdict.log_odds)
            assert [t.witness for t in verdict.testimonies] == ["LinearTree", "Neighbors", "NameMatcher"]
            assert why.to_dict()["verdict"]["probability"] == verdict.probability
            assert why.open_score == verdict.probability


def test_the_screen_shows_witnesses_and_fits(kitchen, fitted, capsys):
    from rich.console import Console

    X, _, texts = kitchen
    console = Console(width=100, no_color=True)
    label = int(fitted.predict(X[[500]], 1, texts=[texts[500]]).labels[0, 0])
    console.print(fitted.explain(X[[500]], label, texts=[texts[500]]).render(label_names=WORDS, top=4, compact=True))
    shown = capsys.readouterr().out
    assert "NameMatcher" in shown
    assert "of the time" in shown
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= 100


def test_same_bytes_on_any_number_of_threads_and_after_loading(kitchen, tmp_path):
    X, Y, texts = kitchen
    args = {"texts": texts[:200], "label_names": WORDS}
    one = ensemble(score_missing=False, threads=1).fit(X[:200], Y[:200], **args)
    two = ensemble(score_missing=False, threads=2).fit(X[:200], Y[:200], **args)
    one.save(tmp_path / "m")
    again = xt.load(tmp_path / "m")
    answers = [m.predict(X[200:260], 5, texts=texts[200:260]) for m in (one, two, again)]
    for other in answers[1:]:
        assert np.array_equal(answers[0].labels, other.labels)
        assert np.array_equal(answers[0].scores, other.scores)


def test_one_row_as_in_a_batch(kitchen, fitted):
    X, _, texts = kitchen
    batch = fitted.predict(X[450:480], 5, texts=texts[450:480])
    for i in range(30):
        alone = fitted.predict(X[[450 + i]], 5, texts=[texts[450 + i]])
        assert np.array_equal(alone.labels[0], batch.labels[i])
        assert np.array_equal(alone.scores[0], batch.scores[i])


def test_without_texts_or_names_the_others_do_it(kitchen):
    X, Y, texts = kitchen
    model = xt.preset("best").fit(X[:200], Y[:200])
    assert [type(m).__name__ for m in model.members] == ["LinearTree", "Neighbors"]
    assert not model.reads_texts
    assert model.predict(X[200:205], 3).k == 3
    with pytest.raises(xt.InputError, match="reads texts"):
        ensemble().fit(X[:200], Y[:200])
    only = xt.Ensemble(models=[xt.NameMatcher()], combine="learned", skip_unable=True)
    with pytest.raises(xt.InputError, match="none of the ensemble's models"):
        only.fit(X[:200], Y[:200], texts=texts[:200])


def test_a_few_rows_are_no_blend_but_an_answer(kitchen):
    X, Y, texts = kitchen
    for n in (1, 10, 250):
        model = ensemble().fit(X[:n], Y[:n], texts=texts[:n], label_names=WORDS)
        assert (model.blend is None) == (n < 200)
        assert (model.predict(X[:2], 3, texts=texts[:2]).labels[:, 0] >= 0).all()


def test_of_trained_models(kitchen):
    X, Y, _ = kitchen
    members = [xt.LinearTree().fit(X[:300], Y[:300]), xt.Neighbors().fit(X[:300], Y[:300])]
    with pytest.raises(xt.InputError, match="validation"):
        xt.Ensemble.of(members, combine="learned")
    model = xt.Ensemble.of(members, combine="learned", validation=(X[300:500], Y[300:500]))
    top = model.predict(X[500:], 5)
    assert evaluate(Y[500:], top, ["P@1"])["P@1"] > 60


def test_a_page_is_not_what_it_links_to():
    """Pages name those they link to, and begin with their own name: only who reads titles tells them apart."""
    rng = np.random.default_rng(1)
    names = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "pe") for b in ("bar", "dol", "fin", "gus", "hem", "jat")]
    own, links = rng.integers(0, 30, 900), rng.integers(0, 30, 900)
    links = np.where(links == own, (links + 1) % 30, links)
    texts = [
        " ".join([names[i], "the page of many things to read about", *rng.permutation([names[i], names[j]])])
        for i, j in zip(own, links, strict=True)
    ]
    X, Y = xt.Vectorizer().fit_transform(texts), sp.csr_array((np.ones(900), (np.arange(900), links)), shape=(900, 30))
    found = {}
    for opening in ([], [xt.NameMatcher(opening=10)]):
        models = [xt.LinearTree(), xt.NameMatcher(), *opening]
        model = xt.Ensemble(models=models, combine="learned", candidates=10, score_missing=False)
        model.fit(X[:700], Y[:700], texts=texts[:700], label_names=names)
        top = model.predict(X[700:], 1, texts=texts[700:])
        found[len(models)] = evaluate(Y[700:], top, ["P@1"])["P@1"]
    assert 80 < found[2] < 95  # below 75 where a higher score might never speak against a label
    assert found[3] > 95


def test_a_better_rank_never_makes_a_label_less_likely(kitchen, fitted):
    X, _, texts = kitchen
    _, said = fitted.blend.hear(fitted.members, X[450:], texts[450:], 10, 1)
    for member in range(3):
        odds = []
        for rank in (1, 2, 3, 5, 10, 11):
            there = said.copy()
            there[:, 4 * member + 1] = rank
            odds.append(fitted.blend.trees.log_odds(there))
        assert (np.diff(odds, axis=0) <= 1e-5).all()


def test_presets_by_name():
    best = xt.preset("best")
    assert [type(m).__name__ for m in best.models] == ["LinearTree", "Neighbors", "NameMatcher", "NameMatcher"]
    assert [m.may_deny for m in best.models] == [False, False, False, True]
    assert [m.witness for m in best.models] == ["LinearTree", "Neighbors", "NameMatcher", "NameMatcher (title)"]
    two = xt.preset("xr-linear+neighbors")
    assert two.combine == "learned"
    assert [type(m).__name__ for m in two.models] == ["LinearTree", "Neighbors"]
    ranked = xt.preset("xr-linear+++neighbors")
    assert [type(m).__name__ for m in ranked.models] == ["Reranked", "Neighbors"]
    with pytest.raises(xt.ParameterError, match="neighbours"):
        xt.preset("xr-linear+neighbours")


def test_ranks_of_pairs_that_an_answer_holds_or_not():
    top = TopK(np.array([[3, 1, -1], [0, 2, 1]], np.int32), np.array([[0.9, 0.5, 0], [0.8, 0.7, 0.1]], np.float32), 4)
    pool = Candidates(np.array([1, 2, 4, 5], np.int64), 2, 4)  # rows 0: labels 1, 2; row 1: labels 0, 1
    scores, ranks, missing = pool.ranked(top, 2)
    assert scores.tolist() == pytest.approx([0.5, 0, 0.8, 0.1])
    assert ranks.tolist() == [2, 3, 1, 3]
    assert missing.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    "damage",
    [
        {"meta": {"members": 0}},
        {"meta": {"wide": "many"}},
        {"meta": {"ask": 1}},
        {"meta": {"members": 1}},
        {"arrays": {"frequency": np.zeros(3)}},
        {"arrays": {"frequency": np.full(3, np.nan, np.float32)}},
        {"parts": {}},
    ],
)
def test_damaged_blends_are_refused(fitted, damage):
    state = fitted.blend.to_state()
    assert isinstance(Blend.from_state({}, state), Blend)
    broken = State(
        meta={**state.meta, **damage.get("meta", {})},
        arrays={**state.arrays, **damage.get("arrays", {})},
        parts=damage.get("parts", state.parts),
    )
    with pytest.raises(StoreError):
        Blend.from_state({}, broken)


def test_the_kernel_blends_as_numpy_does(kitchen, fitted):
    X, _, texts = kitchen
    rows = slice(450, None)
    blend = fitted.blend
    found = [m.predict(X[rows], 10, texts=texts[rows]) for m in fitted.members]
    top = blend.together(found, 7, threads=1)
    pool, said = blend.hear(fitted.members, X[rows], texts[rows], 10, 1)
    twin = pool.best(blend.log_odds(said, threads=1), 7, threads=1)
    assert np.array_equal(top.labels, twin.labels)
    assert np.allclose(top.scores, np.where(twin.labels >= 0, 1 / (1 + np.exp(-twin.scores)), 0), atol=1e-6)


def test_members_without_an_answer():
    trees = SymmetricTrees.learn(
        np.random.default_rng(0).random((200, 9), np.float32), np.arange(200) % 3 == 0, monotone=[0] * 9
    )
    blend = Blend(trees, np.arange(5, dtype=np.float32), 2, 3, False)
    none = TopK(np.full((2, 3), -1, np.int32), np.zeros((2, 3), np.float32), 5)
    some = TopK(np.array([[4, -1], [-1, -1]], np.int32), np.array([[0.5, 0], [0, 0]], np.float32), 5)
    top = blend.together([none, some], 3, threads=1)
    assert top.labels.tolist() == [[4, -1, -1], [-1, -1, -1]]
    pool = Candidates.of([none, some])
    said = blend.said([None, None], [none, some], pool, None, None)
    assert top.scores[0, 0] == pytest.approx(float(blend.probability(said, threads=1)[0]))
