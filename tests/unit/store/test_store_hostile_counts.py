"""A small file must not cost much: names that repeat, counts that claim more than there is, a manifest that changed."""

from __future__ import annotations

import io
import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from store_toys import Bag, Toy

import xtrellis as xt
from xtrellis import store
from xtrellis.core.errors import StoreError
from xtrellis.index import LabelTree
from xtrellis.store import State, plain

GOLDEN = Path(__file__).parents[2] / "golden" / "models"


# --- JSON ---------------------------------------------------------------------------------------------------------


def test_repeated_names_are_found_in_one_pass():
    # A million names: comparing each with each would take days.
    names = [f'"{i:x}":0' for i in range(1_000_000)]
    with pytest.raises(StoreError, match="the name 'f423f' is given twice"):
        plain.parse(f"{{{','.join([*names, names[-1]])}}}".encode(), "here")


def test_the_first_name_that_repeats_is_named_and_a_long_one_is_cut():
    with pytest.raises(StoreError, match="the name 'b' is given twice"):
        plain.parse(b'{"a": 1, "b": 1, "b": 1, "a": 1}', "here")
    with pytest.raises(StoreError, match="is given twice") as caught:
        plain.parse(b'{"%b": 1, "%b": 2}' % (b"x" * 10**6, b"x" * 10**6), "here")
    assert len(str(caught.value)) < 300


def test_a_manifest_of_tiny_objects_is_refused_before_it_is_built():
    raw = b"[" + b"{}," * (plain.MAX_BYTES // 3 - 2) + b"{}]"
    tracemalloc.start()
    try:
        with pytest.raises(StoreError, match="more than"):
            plain.parse(raw, "here")
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_unknown_fields_with_long_names_give_a_short_message(tmp_path):
    store.save(Toy().fit(), tmp_path / "m")
    manifest = json.loads((tmp_path / "m/model.json").read_text())
    manifest["files"]["x" * 10**6] = {"size": 1, "sha256": "0" * 64}
    (tmp_path / "m/model.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="does not match") as caught:
        store.load(tmp_path / "m")
    assert len(str(caught.value)) < 500


def test_a_console_shows_a_bounded_part_of_anything(tmp_path):
    many, history = {f"n{i}": i for i in range(30_000)}, [{"x" * 10**5: 1, **{f"c{i}": 1 for i in range(200)}}] * 99
    parts = {f"p{i}": Bag(arrays={"a": np.zeros(1)}) for i in range(700)}
    store.save(Bag(meta={**many, "history": history, "y" * 10**5: "z" * 10**5}, parts=parts), tmp_path / "m")
    for i in range(2000):
        (tmp_path / "m" / f"note {i} with a rather long name").touch()
    found = store.describe(tmp_path / "m")
    assert len(found.to_dict()["objects"]) == 701  # all is there for a program
    stream = io.StringIO()
    Console(file=stream, width=200).print(found.render())
    shown = stream.getvalue()
    assert "… 201 more" in shown  # of 701 objects
    assert "… 29,801 more" in shown
    assert len(shown) < 400_000


# --- counts -------------------------------------------------------------------------------------------------------


def peak_of_refusing(build, message):
    tracemalloc.start()
    try:
        with pytest.raises(StoreError, match=message):
            build()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n_labels", [4, 400_000_000, 2**31 - 1, 2**62, 10**30])
def test_a_tree_with_more_labels_than_places_is_refused_at_once(n_labels):
    arrays = {"offsets": np.array([0, 3]), "children": np.array([-1, -2, -3], np.int32)}
    state = State({"n_labels": n_labels}, arrays)
    assert peak_of_refusing(lambda: LabelTree.from_state({}, state), f"{n_labels - 3} have none, the first is 3") < 1e6


def test_a_tree_with_a_huge_label_is_refused_at_once():
    arrays = {"offsets": np.array([0, 3]), "children": np.array([-1, -2, -400_000_000], np.int32)}
    state = State({"n_labels": 400_000_000}, arrays)
    assert peak_of_refusing(lambda: LabelTree.from_state({}, state), "399999997 have none, the first is 2") < 1e6


@pytest.mark.parametrize("n_labels", ["3", 3.0, True, None, [3]])
def test_the_number_of_labels_is_an_integer(n_labels):
    arrays = {"offsets": np.array([0, 3]), "children": np.array([-1, -2, -3], np.int32)}
    with pytest.raises(StoreError, match="n_labels must be an integer"):
        LabelTree.from_state({}, State({"n_labels": n_labels}, arrays))


@pytest.mark.parametrize("name", ["tagger", "linear-overlap-mean", "softmax", "ensemble", "reranked", "x-transformer"])
def test_no_stored_number_makes_loading_costly(tmp_path, name):
    folder = tmp_path / "m"
    shutil.copytree(GOLDEN / name / "model", folder)
    original = json.loads((folder / "model.json").read_text())
    xt.load(folder)  # imports what it needs

    def numbers(node, place):
        if isinstance(node, dict):
            for key, inner in node.items():
                if key != "arrays":
                    yield from numbers(inner, (*place, key))
        elif isinstance(node, int) and not isinstance(node, bool) and {"meta", "params"} & set(place):
            yield place

    places = list(numbers(original["model"], ()))
    assert places
    for *above, last in places:
        changed = json.loads(json.dumps(original))
        node = changed["model"]
        for key in above:
            node = node[key]
        node[last] = 400_000_000
        (folder / "model.json").write_text(json.dumps(changed))
        tracemalloc.start()
        try:
            xt.load(folder)
        except StoreError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 20e6, (above, last)


# --- the hash of model.json ---------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "m"
    store.save(Bag(parts={"inner": Toy().fit()}, arrays={"a": np.arange(4.0)}), where)
    return where


def test_every_changed_byte_of_the_manifest_is_found(path):
    raw = (path / "model.json").read_bytes()
    for place in range(0, len(raw), 3):
        (path / "model.json").write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        for action in (store.load, store.describe):
            with pytest.raises(StoreError, match=r"model\.json|safetensors"):
                action(path, verify=True)


def test_a_changed_parameter_is_found_only_on_request(path):
    raw = (path / "model.json").read_bytes()
    (path / "model.json").write_bytes(raw.replace(b'"beam": 10', b'"beam": 11'))
    assert store.load(path).state.parts["inner"].beam == 11
    assert store.describe(path).hashes == "not checked"
    for action in (store.load, store.describe):
        with pytest.raises(StoreError, match=r"model\.json: its SHA-256 is not the one it holds.*changed or damaged"):
            action(path, verify=True)


def test_the_hash_is_that_of_the_file_with_zeros_in_its_place(path):
    import hashlib

    raw = (path / "model.json").read_bytes()
    held = json.loads(raw)["sha256"]
    assert raw.count(held.encode()) == 1
    assert hashlib.sha256(raw.replace(held.encode(), b"0" * 64)).hexdigest() == held
    assert store.describe(path, verify=True).hashes == "verified"


def test_a_manifest_without_a_hash_says_so(path):
    manifest = json.loads((path / "model.json").read_text())
    del manifest["sha256"]
    (path / "model.json").write_text(json.dumps(manifest))
    assert isinstance(store.load(path, verify=True), Bag)
    assert store.describe(path).hashes == "not checked"
    found = store.describe(path, verify=True)
    assert found.hashes == "verified, but model.json holds no hash of itself"
    assert found.to_dict()["hashes"] == found.hashes
    for bad in ("xyz", 5, None):
        (path / "model.json").write_text(json.dumps({**manifest, "sha256": bad}))
        with pytest.raises(StoreError, match=r"sha256 of 'model\.json' must be 64 hex digits"):
            store.load(path)


def test_a_model_without_arrays_is_verified_too(tmp_path):
    store.save(Bag(meta={"n": 1}), tmp_path / "m")
    raw = (tmp_path / "m/model.json").read_bytes()
    (tmp_path / "m/model.json").write_bytes(raw.replace(b'"n": 1', b'"n": 2'))
    with pytest.raises(StoreError, match="its SHA-256 is not the one it holds"):
        store.load(tmp_path / "m", verify=True)
    (tmp_path / "m/model.json").write_bytes(raw)
    stream = io.StringIO()
    Console(file=stream, width=100).print(store.describe(tmp_path / "m", verify=True).render())
    assert "verified" in stream.getvalue()


def test_models_stored_without_one_are_verified_as_far_as_can_be():
    without = 0
    for folder in sorted(GOLDEN.iterdir()):
        hashed = "sha256" in json.loads((folder / "model" / "model.json").read_text(encoding="utf-8"))
        without += not hashed
        expected = "verified" if hashed else "verified, but model.json holds no hash of itself"
        assert store.describe(folder / "model", verify=True).hashes == expected
    assert without >= 16
