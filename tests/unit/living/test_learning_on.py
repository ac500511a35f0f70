"""Updates, forgetting, refreshing, versions: what must be equal is equal to the byte."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from living_world import files, rows, tagger

import xtrellis as xt

NEW = rows(range(28, 36), 6, seed=3)  # two labels that are known, six that are not
PRESETS = ["xr-linear", "overlap", "neighbors", "best", "xr-linear,neighbors", "parabel", "one-vs-all"]
TEXTS, LABELS = rows(range(36), 3, seed=9)


@pytest.mark.parametrize("name", PRESETS)
def test_new_labels_are_found_after_an_update(name):
    live = tagger(name).update(*NEW)
    assert live.n_labels == 36
    assert live.version == 1
    assert live.n_rows == 30 * 12 + 8 * 6
    right = [live.tag(text, k=1)[0].label == own for text, (own,) in zip(TEXTS, LABELS, strict=True)]
    fresh = np.array([int(own[-2:]) >= 30 for (own,) in LABELS])
    assert np.mean(np.array(right)[fresh]) > 0.9
    assert np.mean(np.array(right)[~fresh]) > 0.9
    assert live.label_counts.sum() == live.n_rows


@pytest.mark.parametrize("name", ["xr-linear", "best"])
def test_an_update_from_nothing_is_a_training(tmp_path, name):
    texts, labels = rows(range(30), 12)
    xt.Tagger(xt.Vectorizer(), xt.preset(name), keep_rows=True).fit(texts, labels).save(tmp_path / "fit")
    xt.Tagger(xt.Vectorizer(), xt.preset(name)).update(texts, labels).save(tmp_path / "update")
    assert files(tmp_path / "fit") == files(tmp_path / "update")


@pytest.mark.parametrize("name", ["xr-linear", "overlap", "best"])
def test_threads_make_no_difference(tmp_path, name):
    for threads in (1, 2, 3):
        live = tagger(name, threads=threads).update(*NEW).update(*rows(range(20), 4, seed=8))
        live.save(tmp_path / str(threads))
    assert files(tmp_path / "1") == files(tmp_path / "2") == files(tmp_path / "3")


@pytest.mark.parametrize("name", ["xr-linear", "overlap", "best"])
@pytest.mark.parametrize("storage", ["float32", "int8"])
def test_answers_that_have_nothing_to_do_with_it_keep_their_bits(name, storage):
    live = tagger(name, **({} if name == "best" else {"storage": storage}))
    texts = [" ".join(f"w{label}x{i} k{label // 5}x{i}" for i in range(4)) for label in range(25)]
    before = live.predict(texts, 1)
    live.update(["w29x0 w29x1 w29x2 k5x1 k5x2", "w29x3 w29x1 k5x4"], [["label 29"], ["a new one"]])
    after = live.predict(texts, 1)
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)


def test_what_has_not_changed_much_keeps_its_weights():
    live = tagger("xr-linear")
    before = live.model.trees[0]
    live.update(["w29x0 w29x1 w29x2 k5x1 k5x2"], [["label 29"]])
    after = live.model.trees[0]
    assert before.tree == after.tree  # one row more of thirteen: nothing is trained
    for name, array in before.arrays.items():
        np.testing.assert_array_equal(array, after.arrays[name])
    live.update(["w29x0 w29x1 w29x2 k5x1 k5x2"] * 6, [["label 29"]] * 6)
    moved = live.model.trees[0]
    same = [np.array_equal(before.block(b)[3], moved.block(b)[3]) for b in range(before.n_blocks)]
    assert 0 < same.count(False) < len(same)


@pytest.mark.parametrize("name", ["xr-linear", "best", "neighbors"])
def test_the_journal_done_again_gives_the_same_model(tmp_path, name):
    live = tagger(name)
    live.save(tmp_path / "0")
    steps = [
        lambda: live.update(*NEW),
        lambda: live.retire(["label 02", "label 33"]),
        lambda: live.rename({"label 05": "fifth"}),
        lambda: live.merge("label 06", into="fifth"),
        lambda: live.update(["w5x1 w5x2 w6x3", "w7x1 w40x1"], [["fifth"], ["label 40", "label 06"]]),
        lambda: live.restore("label 33"),
        lambda: live.refresh(),
        lambda: live.update(*rows(range(38, 40), 4, seed=2)),
    ]
    for i, step in enumerate(steps):
        step()
        live.save(tmp_path / str(i + 1))
    assert [e["version"] for e in live.history()] == list(range(9))
    for version in (0, 1, 2, 5, 6, 7, 8):
        live.at_version(version).save(tmp_path / "again")
        assert files(tmp_path / "again") == files(tmp_path / str(version)), version
        assert xt.load(tmp_path / "again").history() == xt.load(tmp_path / str(version)).history()


@pytest.mark.parametrize("name", ["xr-linear", "best", "neighbors"])
def test_the_journal_done_again_is_as_if_what_was_forgotten_had_never_been_there(name):
    texts, labels = rows(range(30), 12)
    live = tagger(name).update(*NEW)
    gone = [3, 40, 41, len(texts) + 2]  # three rows of the training, one of the update
    live.forget(gone).retire("label 04").update(*rows(range(20), 2, seed=8))
    again = live.at_version(4)

    def without(given, first):
        return [[x for i, x in enumerate(some) if first + i not in gone] for some in given]

    never = live.clone()
    never.keep_rows = True
    never.fit(*without((texts, labels), 0)).update(*without(NEW, len(texts))).retire("label 04")
    never.update(*rows(range(20), 2, seed=8))
    assert again.version == live.version == never.version + 1  # to forget was a version too
    assert again.history() == live.history()
    assert again.retired == never.retired == live.retired
    assert list(again.label_names) == list(never.label_names)
    np.testing.assert_array_equal(again.label_counts, never.label_counts)
    tops = [one.predict(TEXTS, 5) for one in (again, never)]
    np.testing.assert_array_equal(tops[0].labels, tops[1].labels)
    np.testing.assert_array_equal(tops[0].scores, tops[1].scores)
    # Of the tagger that has forgotten, rows and labels are the same; what was learned of them is, roughly.
    kept = [[one.life.rows.texts[int(i)] for i in one.life.rows.living] for one in (live, again, never)]
    assert kept[0] == kept[1] == kept[2]
    np.testing.assert_array_equal(live.label_counts, again.label_counts)
    assert np.mean(live.predict(TEXTS, 1).labels == tops[0].labels[:, :1]) > 0.9


def test_a_refresh_is_a_training_on_what_is_kept(tmp_path):
    texts, labels = rows(range(30), 12)
    live = tagger("best").update(*NEW).retire("label 03").merge("label 04", into="label 05").forget([1, 7])
    live.refresh()
    every = [(t, row) for t, row in zip([*texts, *NEW[0]], [*labels, *NEW[1]], strict=True)]
    del every[7], every[1]
    became = {"label 03": [], "label 04": ["label 05"]}
    lists = [[b for a in row for b in became.get(a, [a])] for _, row in every]
    other = xt.Tagger(xt.Vectorizer(), xt.preset("best")).fit([t for t, _ in every], lists)
    live.model.save(tmp_path / "a"), other.model.save(tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert list(live.label_names) == list(other.label_names)
    assert live.n_rows == other.n_rows
    assert live.drift().rows == 0


def test_forgotten_rows_are_gone(tmp_path):
    live = tagger("xr-linear,neighbors")
    secret = "zebra quagga okapi w3x1 w3x2"
    live.update([secret, "w3x1 w3x3"], [["label 03"], ["only here"]])
    live.save(tmp_path / "before")
    assert any(b"quagga" in content for content in files(tmp_path / "before").values())
    number = live.n_rows - 2
    live.forget([number])
    live.save(tmp_path / "after")
    assert not any(b"quagga" in content for content in files(tmp_path / "after").values())
    neighbours = live.model.members[1]
    assert number not in neighbours.nearest(live.vectorizer.transform(["w3x1 w3x2"]), 50).labels
    with pytest.raises(xt.InputError, match=f"row {number} was forgotten before"):
        live.forget([number])
    with pytest.raises(xt.InputError, match="from 0 to"):
        live.forget([10**9])
    live.update(["w3x1 w3x2 w3x5"], [["label 03"]])
    assert number not in live.model.members[1].nearest(live.vectorizer.transform(["w3x1 w3x2"]), 50).labels
    again = live.at_version(live.version)
    again.save(tmp_path / "again")
    assert not any(b"quagga" in content for content in files(tmp_path / "again").values())


@pytest.mark.parametrize("name", ["xr-linear", "overlap", "neighbors", "best"])
def test_new_words_are_learned(tmp_path, name):
    """So many of them that feature ids need more bits, in a model that was loaded between two updates as in another."""
    live = tagger(name)
    known = live.vectorizer.n_features
    strange = [f"zebra okapi quagga{i}" for i in range(2 * known)]
    live.update(strange[:known], [["zoo"]] * known)
    live.save(tmp_path / "once")
    other = xt.load(tmp_path / "once")
    assert other.vectorizer.n_features == live.vectorizer.n_features == 2 * known + 2
    for one in (live, other):
        one.update(strange[known:], [["another zoo"]] * known)
        assert one.vectorizer.n_features == 3 * known + 2
        assert one.history()[-1]["new words"] == known
        assert one.tag(f"quagga{known + 3}", k=1)[0].label == "another zoo"
        assert one.tag("w4x0 w4x1 w4x2", k=1)[0].label == "label 04"
    live.save(tmp_path / "a"), other.save(tmp_path / "b")
    assert_same_model(tmp_path / "a", tmp_path / "b")
    live.at_version(2).save(tmp_path / "again")
    assert_same_model(tmp_path / "a", tmp_path / "again")


def assert_same_model(a, b):
    """All but the journals, which tell when."""
    one, other = files(a), files(b)
    assert one.keys() == other.keys()
    for name in one.keys() - {"journal.jsonl", "model.json"}:
        assert one[name] == other[name], name


@pytest.mark.parametrize("given", [{"min_df": 2}, {"ngrams": 2, "char_ngrams": "3-3"}, {"max_features": 40}], ids=str)
def test_words_that_are_rare_at_first_are_learned_when_there_are_enough(tmp_path, given):
    texts, labels = rows(range(8), 8)
    live = xt.Tagger(xt.Vectorizer(**given), xt.preset("xr-linear"), keep_rows=True)
    live.fit([*texts, "okapi w1x1 w1x2"], [*labels, ["label 01"]])
    before = live.vectorizer.n_features
    common = live.vectorizer.feature_names[0]
    live.update([f"okapi {common} w2x2"], [["label 02"]])
    assert ("okapi" in live.vectorizer.feature_names) == ("max_features" not in given)
    assert (live.vectorizer.n_features == before) == ("max_features" in given)
    live.update([f"okapi {common} zebra"], [["label 03"]])
    live.save(tmp_path / "m")
    live.at_version(2).save(tmp_path / "again")
    assert_same_model(tmp_path / "m", tmp_path / "again")
    loaded = xt.load(tmp_path / "m")
    for one in (live, loaded):
        one.update(*rows(range(8), 3, seed=5))
    live.save(tmp_path / "a"), loaded.save(tmp_path / "b")
    assert_same_model(tmp_path / "a", tmp_path / "b")


def test_words_of_forgotten_rows_are_forgotten_unless_others_have_them():
    live = tagger("xr-linear").update(["zebra okapi w3x1", "zebra w3x2"], [["label 03"]] * 2)
    live.forget([live.n_rows - 2])
    names = list(live.vectorizer.feature_names)
    assert "zebra" in names
    assert "okapi" not in names
    assert live.tag("okapi").reason
    live.update(["okapi w5x1"], [["label 05"]])
    assert "okapi" in list(live.vectorizer.feature_names)


def test_neighbours_learn_without_kept_rows():
    live = tagger("neighbors", keep_rows=False).update(*NEW)
    assert live.tag("w35x0 w35x1 w35x2", k=1)[0].label == "label 35"
    assert live.label_counts.sum() == live.n_rows == 30 * 12 + 48


def test_models_that_cannot_learn_on_say_so():
    live = xt.Tagger(xt.Vectorizer(), xt.preset("softmax-tree", epochs=1), keep_rows=True).fit(*rows(range(5), 4))
    with pytest.raises(xt.InputError, match=r"a SoftmaxTree cannot learn on; `refresh`"):
        live.update(["w1x1"], [["label 01"]])
    assert live.refresh().version == 1


def test_bad_updates_leave_the_tagger_as_it_was():
    live = tagger("xr-linear")
    before = vars(live).copy()
    for texts, labels, message in (
        ([], [], "at least one row"),
        (["?! ..."], [["label 01"]], "these 1 texts have no word"),
        (["w1x1"], [["label 01"], ["b"]], "1 texts and 2 lists"),
        (["w1x1"], ["label 01"], "did you mean"),
        ("w1x1", [["label 01"]], "put it in a list"),
        (["w1x1"], None, "one list of names for each text"),
    ):
        with pytest.raises(xt.InputError, match=message):
            live.update(texts, labels)
    assert vars(live) == before


def test_a_matrix_learns_on_as_well(tmp_path):
    data = xt.synthetic(n_rows=400, n_labels=30, n_features=200, seed=0)
    names = [f"l{i}" for i in range(30)]
    part = [xt.Dataset(data.X[a:b], data.Y[a:b], label_names=names) for a, b in ((0, 300), (300, 400))]
    live = xt.Tagger(None, xt.preset("xr-linear"), keep_rows=True).fit(part[0]).update(part[1])
    live.save(tmp_path / "m")
    again = xt.load(tmp_path / "m").at_version(1)
    again.save(tmp_path / "again")
    assert files(tmp_path / "m") == files(tmp_path / "again")


def test_drift_tells_how_far_it_has_come():
    live = tagger("xr-linear")
    assert live.drift().rows == 0
    assert not live.drift().worth_a_refresh
    live.update(*NEW)
    found = live.drift()
    assert (found.rows, found.labels) == (48, 6)
    assert found.rows_share == pytest.approx(48 / 408)
    assert found.labels_share == pytest.approx(6 / 36)
    assert found.then is found.now is None  # twelve rows of known labels are too few to tell
    live.update(*rows(range(40, 44), 12, seed=4))
    assert live.drift().now is None  # and that labels are new is no fault of what was learned
    assert not live.drift().worth_a_refresh
    live.update(*rows(range(30), 2, seed=5))
    found = live.drift()
    assert found.then == found.now == live.history()[-1]["precision before"]
    assert live.history()[-1]["measured rows"] == 60
    assert found.now["P@5"] > 15  # of 20 that can be, with one label a row
    live.about = {"held_out": {"rows": 20, "metrics": {"P@1": 90.0, "P@5": 70.0}}}
    assert live.drift().then == {"P@1": 90.0, "P@5": 70.0}  # what the training held out, where that was measured
    assert live.drift().worth_a_refresh
    live.about = {}
    live.update(*rows(range(36), 12, seed=4))
    assert live.drift().worth_a_refresh
    assert "a refresh is worth it" in str(live.drift())
    assert live.refresh().drift().rows == 0


def test_whoever_reads_sees_the_model_before_or_after():
    live = tagger("xr-linear,neighbors")
    stop, wrong = threading.Event(), []
    text = "w4x0 w4x1 w4x2 k0x1"

    def read() -> None:
        while not stop.is_set():
            tags = live.tag(text, k=3)
            if tags[0].label not in ("label 04", "fourth"):
                wrong.append(tags)
            live.tag_many([text] * 20, k=3)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(6):
        live.update(*rows(range(30 + 2 * i, 32 + 2 * i), 3, seed=i))
        live.retire("label 20").restore("label 20")
        live.rename({"label 04": "fourth"}).rename({"fourth": "label 04"})
    live.retire("label 00").refresh()  # every label gets another number
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_two_updates_at_once_wait_for_each_other():
    live = tagger("neighbors")
    parts = [rows(range(30 + i, 31 + i), 3, seed=i) for i in range(6)]
    threads = [threading.Thread(target=live.update, args=part) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert live.version == 6
    assert live.n_labels == 36
    assert live.n_rows == 30 * 12 + 18


def test_copies_and_pickles_live_on():
    for live in (
        xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear")),
        tagger("xr-linear").update(*NEW).retire("label 01"),
    ):
        for other in (copy.deepcopy(live), pickle.loads(pickle.dumps(live))):
            if live.fitted:
                assert other.history() == live.history()
                assert other.retired == ["label 01"]
            other.update(*rows(range(3), 4, seed=6))
            assert other.version == live.version + live.fitted
