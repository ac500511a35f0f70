"""Strings in, names out; the model and the vectoriser here are the simplest that can stand in for real ones."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xtrellis import store
from xtrellis.arrays.inputs import as_features
from xtrellis.arrays.strings import StringTable
from xtrellis.arrays.topk import TopK
from xtrellis.core.errors import InputError, NotFittedError, ParameterError, StoreError
from xtrellis.data.dataset import Dataset
from xtrellis.model import Estimate
from xtrellis.model.model import Model
from xtrellis.store import registry
from xtrellis.store.state import State
from xtrellis.tagger import Tag, Tagger
from xtrellis.text.vectorizer import Vectorizer


class Words(Vectorizer):
    """Counts words."""

    vocabulary: StringTable | None = None

    def fit_transform(self, texts: Any) -> Any:
        self.vocabulary = StringTable.of(sorted({word for text in texts for word in text.split()}))
        return self.transform(texts)

    def transform(self, texts: Any) -> Any:
        out = np.zeros((len(texts), len(self.vocabulary)), np.float32)
        for i, text in enumerate(texts):
            for word in text.split():
                if (j := self.vocabulary.find(word)) is not None:
                    out[i, j] += 1
        return csr_array(out)

    def transform_one(self, text: str) -> Any:
        return self.transform([text])

    def to_state(self) -> State:
        return State(arrays=self.vocabulary.to_arrays("words"))

    @classmethod
    def from_state(cls, params: Any, state: State) -> Words:
        words = cls(**params)
        words.vocabulary = StringTable.from_arrays(state.arrays, "words")
        return words


class Together(Model):
    """A label's score is how often it came together with the row's features."""

    weights: Any = None

    def _train(self, data: Any, checkpoint: Any) -> None:
        self.weights = np.asarray((data.X.T @ data.Y).todense(), np.float32)

    def _estimate(self, data: Any) -> Estimate:
        raise NotImplementedError

    @property
    def n_labels(self) -> int:
        return int(self.weights.shape[1])

    @property
    def fitted(self) -> bool:
        return self.weights is not None

    def predict(self, X: Any, k: int = 10, *, texts: Any = None) -> TopK:
        scores = csr_array(as_features(X, n_features=self.weights.shape[0]) @ self.weights)
        return TopK.from_csr(scores, min(k, self.n_labels))

    def _to_state(self) -> State:
        return State(arrays={"weights": self.weights})

    @classmethod
    def from_state(cls, params: Any, state: State) -> Together:
        model = cls(**params)
        model.weights = state.arrays["weights"]
        return model


TEXTS = ["red round fruit", "yellow long fruit", "red fast car", "yellow school bus", "fast car"]
LABELS = [["apple", "food"], ["banana", "food"], ["vehicle"], ["vehicle", "bus"], {"vehicle"}]


@pytest.fixture
def tagger() -> Tagger:
    return Tagger(Words(), Together()).fit(TEXTS, LABELS)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.CLASSES, "Words", f"{__name__}:Words")
    monkeypatch.setitem(registry.CLASSES, "Together", f"{__name__}:Together")


def test_names_come_out_best_first(tagger: Tagger) -> None:
    tags = tagger.tag("a fast car", k=2)
    assert tags == [Tag("vehicle", 4.0)]
    assert [tag.label for tag in tagger.tag("fruit long", k=2)] == ["food", "banana"]
    assert tags[0].label == "vehicle"


def test_label_ids_follow_the_sorted_names_and_counts_are_kept(tagger: Tagger) -> None:
    assert list(tagger.label_names) == ["apple", "banana", "bus", "food", "vehicle"]
    assert tagger.label_counts.tolist() == [1, 1, 1, 2, 3]
    assert tagger.n_rows == 5
    assert tagger.n_labels == 5


def test_tag_many_is_tag_for_each(tagger: Tagger) -> None:
    assert tagger.tag_many(TEXTS, 3) == [tagger.tag(text, 3) for text in TEXTS]
    assert tagger.tag_many(iter(TEXTS), 3) == tagger.tag_many(TEXTS, 3)
    assert tagger.tag_many([]) == []
    assert tagger.tag("") == []


def test_threshold_cuts_low_scores(tagger: Tagger) -> None:
    assert [t.label for t in tagger.tag("red fruit", 5, threshold=2)] == ["food", "apple"]
    assert tagger.tag("red fruit", 5, threshold=99) == []
    with pytest.raises(ParameterError, match="threshold must be a number"):
        tagger.tag("red", threshold="high")


def test_predict_gives_ids(tagger: Tagger) -> None:
    top = tagger.predict(["fast"], k=2)
    assert top.labels.tolist() == [[4, -1]]
    assert tagger.named(top) == [[Tag("vehicle", 2.0)]]


@pytest.mark.parametrize(
    ("texts", "labels", "says"),
    [
        ("one text", [["a"]], "texts must be a list of strings; got one str"),
        (7, [["a"]], "texts must be a list of strings; got int"),
        (["x", 3], [["a"], ["b"]], r"texts\[1\] is 3 \(int\)"),
        (["x", "y"], [["a"]], "got 2 texts and 1 lists"),
        (["x"], ["apple"], r"labels\[0\] must be a list of names; got 'apple', did you mean \['apple'\]"),
        (["x"], [[3]], r"labels\[0\] must hold names; got int 3"),
        (["x"], [5], r"labels\[0\] must be a list"),
        (["x"], "a", "one list of names for each text; got str"),
        (["x"], 5, "got int"),
    ],
)
def test_fit_says_what_is_wrong(texts: Any, labels: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Tagger(Words(), Together()).fit(texts, labels)


def test_tag_says_what_is_wrong(tagger: Tagger) -> None:
    with pytest.raises(InputError, match="text must be a string; got list"):
        tagger.tag(["a"])
    with pytest.raises(InputError, match="got one str"):
        tagger.tag_many("a")
    for k in (0, -1, 2.5, True, None):
        with pytest.raises(ParameterError, match="k must be an integer"):
            tagger.tag("a", k=k)


def test_constructor_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match="model must be a model"):
        Tagger(Words(), "bonsai")
    with pytest.raises(InputError, match="vectorizer must be"):
        Tagger(3, Together())


def test_untrained() -> None:
    tagger = Tagger(Words(), Together())
    assert not tagger.fitted
    for use in (lambda: tagger.tag("x"), lambda: tagger.label_names, lambda: tagger.save("nowhere")):
        with pytest.raises(NotFittedError, match="not trained yet"):
            use()


def test_labels_go_by_numbers_without_names() -> None:
    model = Together().fit(np.eye(3), np.eye(3)[:, ::-1])
    tagger = Tagger.of_model(model)
    assert list(tagger.label_names) == ["0", "1", "2"]
    assert tagger.named(tagger.predict(np.eye(3)[:1], 1)) == [[Tag("2", 1.0)]]
    named = Tagger.of_model(model, ["a", "b", "c"])
    assert named.named(named.predict(np.eye(3)[:1], 1)) == [[Tag("c", 1.0)]]
    with pytest.raises(InputError, match="3 names"):
        Tagger.of_model(model, ["a"])
    with pytest.raises(InputError, match="cannot read texts"):
        named.tag("a text")
    with pytest.raises(NotFittedError):
        Tagger.of_model(Together())


def test_saved_and_loaded_it_answers_the_same(tagger: Tagger, tmp_path: Any) -> None:
    tagger.save(tmp_path / "m")
    again = store.load(tmp_path / "m", verify=True)
    assert isinstance(again, Tagger)
    assert again.tag_many(TEXTS) == tagger.tag_many(TEXTS)
    assert again.label_names == tagger.label_names
    assert again.label_counts.tolist() == tagger.label_counts.tolist()
    assert again.n_rows == 5


def test_without_a_vectorizer_it_is_stored_too(tmp_path: Any) -> None:
    tagger = Tagger.of_model(Together().fit(np.eye(2), np.eye(2)), ["ä", "β"])
    tagger.save(tmp_path / "m")
    again = store.load(tmp_path / "m")
    assert again.vectorizer is None
    assert list(again.label_names) == ["ä", "β"]


def _broken(tagger: Tagger, change: str) -> State:
    state = tagger.to_state()
    if change == "names":
        state.arrays.update(StringTable.of(["only one"]).to_arrays("labels"))
    elif change == "counts dtype":
        state.arrays["label_counts"] = state.arrays["label_counts"].astype(np.int32)
    elif change == "counts shape":
        state.arrays["label_counts"] = state.arrays["label_counts"][:2]
    elif change == "counts range":
        state.arrays["label_counts"] = state.arrays["label_counts"] + 100
    elif change == "n_rows":
        state.meta["n_rows"] = "many"
    elif change == "no model":
        del state.parts["model"]
    elif change == "model is a vectorizer":
        state.parts["model"] = state.parts["vectorizer"]
    elif change == "vectorizer is a model":
        state.parts["vectorizer"] = state.parts["model"]
    elif change == "another part":
        state.parts["other"] = state.parts["model"]
    elif change == "no names":
        del state.arrays["labels.text"]
    return state


@pytest.mark.parametrize(
    "change",
    [
        "names",
        "counts dtype",
        "counts shape",
        "counts range",
        "n_rows",
        "no model",
        "model is a vectorizer",
        "vectorizer is a model",
        "another part",
        "no names",
    ],
)
def test_parts_that_do_not_fit_are_refused(tagger: Tagger, change: str) -> None:
    with pytest.raises(StoreError):
        Tagger.from_state({}, _broken(tagger, change))


def test_propensities_come_from_the_training_rows(tagger: Tagger) -> None:
    weights = tagger.inverse_propensity(extra=1)
    assert weights.shape == (6,)
    assert weights[4] < weights[3] < weights[0] < weights[5]
    assert Tagger.of_model(Together().fit(np.eye(2), np.eye(2))).inverse_propensity() is None


def test_explain_refuses_what_it_cannot(tagger: Tagger) -> None:
    with pytest.raises(InputError, match="a Together cannot explain its answers"):
        tagger.explain("fast", "vehicle")
    with pytest.raises(InputError, match="did you mean 'vehicle'"):
        tagger.explain("fast", "vehicl")
    with pytest.raises(InputError, match="label must be the name of a label; got int"):
        tagger.explain("fast", 3)
    with pytest.raises(InputError, match="text must be a string; got list"):
        tagger.explain(["fast"], "vehicle")


def test_clone_is_untrained(tagger: Tagger) -> None:
    copy = tagger.clone()
    assert not copy.fitted
    assert copy.fit(TEXTS, LABELS).tag_many(TEXTS) == tagger.tag_many(TEXTS)
    assert copy.model is not tagger.model


def test_many_threads_share_one(tagger: Tagger) -> None:
    expected = [tagger.tag(text) for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(tagger.tag, TEXTS * 40))
    assert answers == expected * 40


def test_a_forked_process_can_use_it(tagger: Tagger) -> None:
    expected = tagger.tag("fast car")
    child = os.fork()
    if child == 0:  # pytest must not see an exception here
        os._exit(0 if tagger.tag("fast car") == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Listening(Together):
    """Keeps the label features it is given."""

    features: Any = None

    uses_label_features = True

    def _train(self, data: Any, checkpoint: Any) -> None:
        self.features = data.label_features
        super()._train(data, checkpoint)


def test_label_text_gives_the_model_the_words_of_the_names() -> None:
    texts, labels = ["red apple", "fast car bus"], [["red apple"], ["bus", "unread name"]]
    tagger = Tagger(Words(), Listening()).fit(texts, labels, label_text=True)
    words, features = list(tagger.vectorizer.vocabulary), tagger.model.features.toarray()
    read = [sorted(words[j] for j in np.flatnonzero(row)) for row in features]
    assert dict(zip(tagger.label_names, read, strict=True)) == {
        "bus": ["bus"], "red apple": ["apple", "red"], "unread name": [],
    }  # fmt: skip
    assert Tagger(Words(), Listening()).fit(texts, labels).model.features is None


def test_label_text_is_refused_where_it_cannot_be() -> None:
    data = Dataset(X=csr_array(np.eye(2, dtype=np.float32)), Y=csr_array(np.eye(2, dtype=np.float32)))
    named = Dataset(X=data.X, Y=data.Y, label_names=StringTable.of(["a", "b"]))
    texts = Dataset(X=None, Y=data.Y, texts=StringTable.of(["a", "b"]))
    with pytest.raises(InputError, match="Together has no use for the labels' names"):
        Tagger(Words(), Together()).fit(TEXTS, LABELS, label_text=True)
    with pytest.raises(InputError, match="no vectoriser to read the labels' names"):
        Tagger(None, Listening()).fit(named, label_text=True)
    with pytest.raises(InputError, match="the data has none"):
        Tagger(Words(), Listening()).fit(texts, label_text=True)
