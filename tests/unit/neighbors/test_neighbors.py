"""`Neighbors`: rows that vote, rows that come and go, what is kept and what is refused."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.neighbors import segment as segments

N, D, L = 300, 60, 20


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Y = (rng.random((N, L)) < 2 / L).astype(np.float32)
    X = (Y @ rng.random((L, D))) * (rng.random((N, D)) < 0.3)
    X[7] = 0
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


@pytest.fixture
def model(data):
    return xt.Neighbors(neighbors=10).fit(*data)


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores, b.scores)


def test_scores_are_shares_of_the_votes():
    X = sp.csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]], np.float32))
    Y = sp.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], np.float32))
    model = xt.Neighbors(power=2).fit(X, Y)
    top = model.predict(np.array([[1, 0, 0]], np.float32), k=3)
    assert top.labels.tolist() == [[0, 1, -1]]  # the third row has nothing in common with it
    assert top.scores[0] == pytest.approx([1.0, 1 / 1.5, 0])
    model.power = 0
    assert model.predict(np.array([[1, 0, 0]], np.float32), k=3).scores[0] == pytest.approx([1, 0.5, 0])
    model.frequency = 1
    assert model.predict(np.array([[1, 0, 0]], np.float32), k=3).scores[0] == pytest.approx([0.5, 0.5, 0])
    assert model.neighbors == 50


def test_a_row_without_known_features_gets_no_labels(model, data):
    for row in (np.zeros((1, D)), sp.csr_array((1, D), dtype=np.float32)):
        top = model.predict(row, k=4)
        assert top.labels.tolist() == [[-1] * 4]
        assert top.scores.tolist() == [[0.0] * 4]
    assert model.score(np.zeros((1, D)), np.ones((1, L))).data.tolist() == [0.0] * L
    why = model.explain(np.zeros((1, D)), 3)
    assert (why.rank, why.score, why.reached, why.neighbors) == (None, 0.0, False, ())
    assert "has no neighbours" in shown(why)


def test_given_labels_score_what_predict_says_and_0_if_nobody_has_them(model, data):
    X, _ = data
    top = model.predict(X, k=L)
    pairs = sp.csr_array(np.ones((N, L), np.float32))
    scores = model.score(X, pairs).toarray()
    expected = np.zeros((N, L), np.float32)
    for i, row in enumerate(top):
        for label, score in row:
            expected[i, label] = score
    np.testing.assert_array_equal(scores, expected)
    without = model.score(X, pairs, exclude=np.arange(N)).toarray()
    assert (without != scores).any()


def test_answers_can_be_restricted(model, data):
    X, _ = data
    some = [3, 11, 5]
    for labels in (some, xt.LabelSet(some, L)):
        top = model.predict(X, k=10, labels=labels)
        assert top.k == 3
        assert set(np.unique(top.labels)) <= {-1, *some}
    whole = model.predict(X, k=L)
    row = [(label, score) for label, score in list(whole)[20] if label in some]
    assert list(top)[20] == row


def test_one_row_and_more_neighbours_than_rows():
    X, Y = sp.csr_array(np.eye(1, 3, dtype=np.float32)), sp.csr_array(np.eye(1, 2, dtype=np.float32))
    model = xt.Neighbors(neighbors=1000).fit(X, Y)
    assert list(model.predict(X, k=5)) == [[(0, 1.0)]]
    assert model.nearest(X, 7).labels.tolist() == [[0]]
    with pytest.raises(xt.InputError, match="at least one must stay"):
        model.remove([0])


def test_rows_without_any_feature_are_no_neighbours():
    model = xt.Neighbors().fit(sp.csr_array((4, 3), dtype=np.float32), np.ones((4, 2)))
    assert model.predict(np.ones((2, 3)), k=2).labels.tolist() == [[-1, -1]] * 2


def test_negative_features_are_compared_one_by_one(data):
    X, Y = data
    signed = X.copy()
    signed.data[::3] *= -1
    model = xt.Neighbors(neighbors=5).fit(signed, Y)
    assert model.index.segments[0].meta["negative"]
    cosines = np.asarray((signed @ signed.T).todense())
    lengths = np.sqrt(np.maximum(cosines.diagonal(), 1e-30))
    best = (cosines / lengths / lengths[:, None]).max(axis=1)
    np.testing.assert_allclose(model.nearest(signed, 1).scores[:, 0], np.maximum(best, 0), atol=1e-6)


def test_an_added_row_is_found_and_a_removed_one_is_not(model):
    new = np.zeros((1, D), np.float32)
    new[0, [2, 3]] = 1
    before = model.predict(new, k=3)
    numbers = model.add(new, np.eye(1, L, 4))
    assert numbers.tolist() == [N]
    assert model.n_rows == N + 1
    assert model.nearest(new, 1).labels.tolist() == [[N]]
    assert model.predict(new, k=3).scores.tobytes() != before.scores.tobytes()
    model.remove([N])
    assert model.n_rows == N
    same(model.predict(new, k=3), before)
    with pytest.raises(xt.InputError, match="row 300 was removed before"):
        model.remove([5, N])
    with pytest.raises(xt.InputError, match="from 0 to 300; got 301"):
        model.remove([301])
    with pytest.raises(xt.InputError, match="X has 61 features; the model was trained with 60"):
        model.add(np.ones((1, D + 1)), np.ones((1, L)))
    with pytest.raises(xt.InputError, match="Y has 21 labels; expected 20"):
        model.add(np.ones((1, D)), np.ones((1, L + 1)))
    assert model.add(np.ones((1, D)), [[2, 5]]).tolist() == [N + 1]


def test_whoever_searches_meanwhile_is_not_disturbed(model, data):
    X, Y = data
    index = model.index
    model.remove(np.arange(250))
    model.add(X[:100], Y[:100])
    assert model.index is not index
    assert not index.removed_rows().any()
    assert index.n_rows == N


def test_there_are_few_segments_however_rows_come(data):
    X, Y = data
    model = xt.Neighbors(neighbors=10).fit(X[:100], Y[:100])
    for i in range(100, N):
        model.add(X[[i]], Y[[i]])
    assert len(model.index.segments) <= 5
    whole = xt.Neighbors(neighbors=10).fit(X, Y)
    same(model.predict(X, k=5), whole.predict(X, k=5))
    same(model.leave_one_out(5), whole.leave_one_out(5))


def test_a_segment_of_removed_rows_is_made_smaller(model):
    before = model.index.n_bytes
    model.remove(np.arange(200))
    assert model.index.n_bytes < before
    assert model.index.n_rows == N  # numbers stay


def test_saved_loaded_pickled_and_copied(model, data, tmp_path):
    X, Y = data
    model.add(X[:5], Y[:5])
    model.remove([1, 301])
    model.save(tmp_path / "model")
    again = xt.load(tmp_path / "model", verify=True)
    for other in (again, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        same(other.predict(X, k=5), model.predict(X, k=5))
        assert other.n_rows == model.n_rows == N + 3
        other.add(X[:3], Y[:3])
        other.remove([0, 305])
        assert other.n_rows == N + 4
    array = xt.load(tmp_path / "model").index.segments[0].arrays["bytes"]
    assert not array.flags.owndata
    assert not array.flags.writeable  # as it lies on disk


def test_texts_are_kept_only_if_asked_for(data, tmp_path):
    X, Y = data
    texts = [f"text number {i}\x1b[31m of a row" for i in range(N)]
    plain = xt.Neighbors().fit(X, Y, texts=texts)
    assert plain.explain(X[[3]], 0).neighbors[0].text is None
    model = xt.Neighbors(keep_texts=14).fit(X, Y, texts=texts)
    model.add(X[:1], Y[:1], texts=["a later text that is long"])
    model.add(X[:1], Y[:1])
    model.save(tmp_path / "model")
    model = xt.load(tmp_path / "model")
    said = {near.row: near.text for near in model.explain(X[[0]], 0).neighbors}
    assert said[0] == "text number 0\x1b"
    assert said[N] == "a later text t"
    assert said[N + 1] == ""
    assert "\x1b" not in shown(model.explain(X[[0]], int(Y[[0]].indices[0])))
    estimate = xt.Neighbors(keep_texts=14)
    with_texts = estimate._estimate(xt.TrainingData.of(X, Y, texts=texts)).model_bytes
    assert with_texts > estimate.estimate(X, Y).model_bytes


def shown(explanation, **how):
    console = Console(width=70, no_color=True)
    with console.capture() as capture:
        console.print(explanation.render(**how))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 70
    return "\n".join(lines)


def test_an_explanation_names_rows_and_what_they_share(data):
    X, Y = data
    for frequency in (0.0, 0.5):
        model = xt.Neighbors(neighbors=12, frequency=frequency).fit(X, Y)
        top = model.predict(X[[30]], k=3)
        label, score = int(top.labels[0, 1]), float(top.scores[0, 1])
        why = model.explain(X[[30]], label)
        near = model.nearest(X[[30]])
        assert [one.row for one in why.neighbors] == near.labels[0].tolist()
        for one, similarity in zip(why.neighbors, near.scores[0], strict=True):
            assert one.similarity == pytest.approx(similarity, abs=1e-6)
            assert sum(part.contribution for part in one.shared) == one.similarity
            assert all(part.contribution == part.value * part.theirs for part in one.shared)
            assert one.labels == tuple(Y[[one.row]].indices.tolist())
            assert one.votes == (label in one.labels)
        voted = sum(one.share for one in why.neighbors if one.votes) * why.label_weight
        assert (why.score, why.rank) == (pytest.approx(score), 2)
        assert voted == pytest.approx(score, rel=1e-5)
        assert sum(why.pushes().values()) == pytest.approx(score, rel=1e-5)
    told = json.loads(json.dumps(why.to_dict([f"l{i}" for i in range(L)], [f"f{i}" for i in range(D)])))
    assert told["neighbors"][0]["features"][0]["name"].startswith("f")
    assert f"row {why.neighbors[0].row}" in shown(why) or not why.neighbors[0].votes
    assert "of 12 neighbours have it" in shown(why, compact=True)
    nobody = next(i for i in range(L) if not any(i in one.labels for one in why.neighbors))
    assert "no neighbour has it" in shown(model.explain(X[[30]], nobody))


def test_unclear_arguments_are_refused(model, data):
    X, _ = data
    with pytest.raises(xt.InputError, match="exclude must be one row number for each row of X; got 2 for 300"):
        model.votes(X, 3, exclude=[1, 2])
    with pytest.raises(xt.InputError, match="exclude must be one row number"):
        model.votes(X[:1], 3, exclude=["a"])
    with pytest.raises(xt.InputError, match="X has 59 features"):
        model.predict(X[:, :-1])
    with pytest.raises(xt.ParameterError, match="neighbors must be an integer"):
        xt.Neighbors(neighbors=0)
    with pytest.raises(xt.ParameterError, match="power must be"):
        xt.Neighbors(power=-1)
    with pytest.raises(xt.InputError, match="keeps no checkpoints"):
        model.fit(*data, checkpoint="work")
    with pytest.raises(xt.NotFittedError):
        xt.Neighbors().add(X, X)


def rebuilt(segment, **changed):
    """From the store, with some of its arrays or facts damaged."""
    state = segment.to_state()
    state.arrays = {name: array.copy() for name, array in state.arrays.items()}
    for name, value in changed.items():
        (state.arrays if name in state.arrays else state.meta)[name] = value
    return segments.RowSegment.from_state({}, state)


def test_damaged_offsets_are_refused(model):
    segment = model.index.segments[0]
    arrays = segment.arrays
    rebuilt(segment)
    for name in segments.DTYPES:
        with pytest.raises(xt.StoreError, match=name):
            rebuilt(segment, **{name: arrays[name].astype(np.float64)})
        if name not in ("labels", "columns", "label_begin"):  # one more row, without features, does no harm
            with pytest.raises(xt.StoreError):
                rebuilt(segment, **{name: np.append(arrays[name], arrays[name][-1:] if len(arrays[name]) else [0, 0])})
    for name in ("begins", "list_begin", "label_begin"):
        with pytest.raises(xt.StoreError, match=f"{name} of a RowSegment must rise"):
            rebuilt(segment, **{name: np.append(arrays[name][:-1] + 1, arrays[name][-1:])})
    for name, value in {"norm": float("nan"), "negative": 1, "first": -1, "layout": 0}.items():
        with pytest.raises(xt.StoreError):
            rebuilt(segment, **{name: value})


def test_whatever_else_is_damaged_answers_are_numbers(data, monkeypatch):
    """Blocks, codes, labels: search stays within its arrays (the sanitizers' test looks closer)."""
    from xtrellis.neighbors import RowIndex, order

    monkeypatch.setattr(order, "FROM", 1)
    X, Y = data
    model = xt.Neighbors(neighbors=10).fit(X, Y)
    rng = np.random.default_rng(0)
    loose = ["bytes", "numbers", "ceilings", "list_blocks", "list_codes", "dense_codes", "dense_tops"]
    for name in [*loose, "labels", "removed"]:
        for _ in range(5):
            array = model.index.segments[0].arrays[name]
            noise = rng.integers(0, 256, array.nbytes, dtype=np.uint8).view(array.dtype)
            segment = rebuilt(model.index.segments[0], **{name: noise})
            other = copy.copy(model)
            other._index = RowIndex([segment], model.index.label_counts)
            top = other.predict(X, k=5)
            assert np.isfinite(top.scores).all()
            assert ((top.labels >= -1) & (top.labels < L)).all()
            other.leave_one_out(3)
            for row in (5, 200):
                other.explain(X[[row]], 3)


def earlier_state(segment):
    """The rows as the second layout stored them: one after another in another order, features by their gaps."""
    X, numbers = segment.rows(), np.random.default_rng(0).permutation(segment.n_rows)
    gaps, values, begins = [], [], [0]
    for row in numbers:
        part = slice(X.indptr[row], X.indptr[row + 1])
        gaps += np.diff(X.indices[part], prepend=0).tolist()
        values += X.data[part].tolist()
        begins.append(len(gaps))
    state = segment.to_state()
    kept = {name: state.arrays[name] for name in ("label_begin", "labels", "removed")}
    state.arrays = kept | {
        "columns": np.zeros(0, np.int32),
        "values": np.array(values, np.float32),
        "gaps": np.array(gaps, np.uint16),
        "group_begin": np.zeros((segment.n_rows >> 20) + 1, np.uint32),
        "row_offset": np.array(begins, np.uint16),
        "numbers": numbers.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].reshape(-1).copy(),
    }
    state.meta = {**state.meta, "layout": 2, "group_shift": 20}
    return state


def blocked_state(segment):
    """The rows as the third layout stored them: in blocks of eight, floats whole, behind a byte that bounds each."""
    X, numbers = segment.rows(), np.random.default_rng(0).permutation(segment.n_rows)
    wide = segment.n_features > 1 << 16
    data, begins, entries, values = b"", [0, 0], 0, 0
    for begin in range(0, segment.n_rows, 8):
        block = X[numbers[begin : begin + 8]].tocsc()
        held = np.flatnonzero(np.diff(block.indptr))
        masks = [sum(1 << int(bit) for bit in block.indices[block.indptr[f] : block.indptr[f + 1]]) for f in held]
        data += held.astype("<u2").tobytes() + bytes(masks) + bytes(block.nnz)
        data += ((held >> 16).astype("<u2").tobytes() if wide else b"") + block.data.astype("<f4").tobytes()
        entries, values = entries + len(held), values + block.nnz
        begins += [entries, values]
    state = segment.to_state()
    state.arrays = {name: state.arrays[name] for name in ("label_begin", "labels", "removed")} | {
        "columns": np.zeros(0, np.int32),
        "begins": np.array(begins, np.uint32),
        "bytes": np.frombuffer(data, np.uint8).copy(),
        "ceilings": np.zeros(segment.n_features, np.uint8),
        "numbers": numbers.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].reshape(-1).copy(),
    }
    state.meta = {**state.meta, "layout": 3}
    return state


@pytest.mark.parametrize("shift", [1, 1000])
def test_rows_of_the_third_layout_are_read(data, shift):
    X, Y = data
    spread = sp.csr_array((X.data, X.indices * shift, X.indptr), shape=(X.shape[0], X.shape[1] * shift))
    segment = xt.Neighbors().fit(spread, Y).index.segments[0]
    again = segments.RowSegment.from_state({}, blocked_state(segment))
    assert (again.rows() != segment.rows()).nnz == 0
    assert again.arrays["labels"].tolist() == segment.arrays["labels"].tolist()
    for name in ("begins", "bytes", "numbers", "label_begin"):
        state = blocked_state(segment)
        state.arrays[name] = state.arrays[name][::-1].copy() if name != "numbers" else np.zeros_like(state.arrays[name])
        with pytest.raises(xt.StoreError, match="damaged"):
            segments.RowSegment.from_state({}, state)


def test_a_segment_of_an_earlier_layout_may_take_several_now(data, tmp_path, monkeypatch):
    """Earlier ones could hold more rows."""
    X, Y = data
    model = xt.Neighbors().fit(X, Y)
    model.remove([3, 170])
    expected = model.predict(X, 5)
    whole = model.index.segments[0]
    fitting = segments.native.fitting
    monkeypatch.setattr(segments.native, "fitting", lambda *args: min(100, fitting(*args)))
    for stored in (earlier_state, blocked_state):
        state = model.to_state()
        state.parts = {"rows0": segments.RowSegment.from_state({}, stored(whole))}
        again = xt.Neighbors.from_state(model.get_params(), state)
        assert len(again.index.segments) == -(-X.shape[0] // 100)
        assert again.n_rows == model.n_rows
        top = again.predict(X, 5)
        np.testing.assert_array_equal(top.labels, expected.labels)
        np.testing.assert_array_equal(top.scores, expected.scores)


def test_rows_of_earlier_layouts_are_read(data):
    X, Y = data
    segment = xt.Neighbors().fit(X, Y).index.segments[0]
    again = segments.RowSegment.from_state({}, earlier_state(segment))
    assert (again.rows() != segment.rows()).nnz == 0
    assert again.arrays["labels"].tolist() == segment.arrays["labels"].tolist()
    for name in ("gaps", "numbers", "label_begin", "row_offset"):
        state = earlier_state(segment)
        state.arrays[name] = state.arrays[name][::-1].copy() if name != "numbers" else np.zeros_like(state.arrays[name])
        if name == "gaps":
            state.arrays[name][0] = 60_000
        with pytest.raises(xt.StoreError, match="damaged"):
            segments.RowSegment.from_state({}, state)
    state = earlier_state(segment)
    del state.arrays["gaps"]
    with pytest.raises(xt.StoreError, match="lacks gaps"):
        segments.RowSegment.from_state({}, state)
