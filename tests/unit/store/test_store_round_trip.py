"""What goes in comes out: equal, read-only, aligned, mapped; and other programs can read it."""

from __future__ import annotations

import gc
import hashlib
import io
import json
import math
import mmap
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from store_toys import Bag, Picky, Toy, ToyTree

import xtrellis as xt
from xtrellis import store
from xtrellis.core import progress
from xtrellis.core.errors import MissingExtraError, StoreError
from xtrellis.store import registry

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]


def test_an_object_comes_back_equal_with_its_parameters(tmp_path):
    toy = Toy(beam=3, cost=math.inf, loss="logistic", index=ToyTree(arity=16)).fit()
    store.save(toy, tmp_path / "m")
    again = xt.load(tmp_path / "m", verify=True, kind=Toy)
    assert again.same(toy)
    assert again.get_params(deep=True)["index__arity"] == 16
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["model.json", "model.safetensors"]
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_what_belongs_to_the_computer_is_not_stored(tmp_path):
    for i, threads in enumerate((None, 3)):
        store.save(Toy(beam=3, threads=threads).fit(), tmp_path / f"m{i}")
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "m0" / name).read_bytes() == (tmp_path / "m1" / name).read_bytes()
    assert "threads" not in json.loads((tmp_path / "m1/model.json").read_text())["model"]["params"]
    again = store.load(tmp_path / "m1")
    assert (again.beam, again.threads) == (3, None)


def test_every_object_is_told_that_it_was_loaded(tmp_path):
    outer = Bag(parts={"deep": Bag(parts={"toy": Toy().fit()})})
    store.save(outer, tmp_path / "m")
    assert store.load(tmp_path / "m").state.parts["deep"].state.parts["toy"].from_store
    assert not outer.state.parts["deep"].state.parts["toy"].from_store


def test_numpy_parameters_become_plain_json(tmp_path):
    store.save(Toy(beam=np.int64(3), cost=np.float32(np.inf)).fit(), tmp_path / "m")
    params = json.loads((tmp_path / "m/model.json").read_text())["model"]["params"]
    assert params["beam"] == 3
    assert params["cost"] == "inf"
    assert store.load(tmp_path / "m").cost == math.inf


def test_parts_have_files_of_their_own_and_objects_without_arrays_have_none(tmp_path):
    inner = Bag({"x": np.arange(3)})
    outer = Bag(parts={"left": Bag(parts={"deep": inner}), "right_2": Toy().fit()})
    store.save(outer, tmp_path / "m")
    names = sorted(p.name for p in (tmp_path / "m").iterdir())
    assert names == ["model.json", "model.left.deep.safetensors", "model.right_2.safetensors"]
    again = store.load(tmp_path / "m")
    assert again.state.parts["left"].state.parts["deep"].state.arrays["x"].tolist() == [0, 1, 2]
    assert again.state.parts["right_2"].same(Toy().fit())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (3, 5), (2, 3, 4)])
def test_every_dtype_and_shape(tmp_path, dtype, shape):
    array = np.asarray(np.arange(math.prod(shape)).reshape(shape) * 3 % 100, dtype)
    other = np.arange(5, dtype=np.int8)
    store.save(Bag({"a": array, "b": other}), tmp_path / "m")
    again = store.load(tmp_path / "m", verify=True).state.arrays
    assert again["a"].dtype == array.dtype
    assert again["a"].shape == shape
    assert np.array_equal(again["a"], array)
    assert np.array_equal(again["b"], other)
    assert not again["a"].flags.writeable
    assert again["a"].flags.aligned


def test_arrays_are_read_only_and_every_one_is_aligned(tmp_path):
    arrays = {f"{d}.{n}": np.ones(n, d) for d in DTYPES for n in (1, 3)}
    store.save(Bag(arrays), tmp_path / "m")
    again = store.load(tmp_path / "m").state.arrays
    assert set(again) == set(arrays)
    for array in again.values():
        assert array.ctypes.data % array.dtype.itemsize == 0
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.setflags(write=True)
    widest = again["f8.1"] if again["f8.1"].ctypes.data < again["f8.3"].ctypes.data else again["f8.3"]
    assert widest.ctypes.data % 64 == 0


def test_the_safetensors_library_reads_our_files(tmp_path):
    arrays = {f"a.{d}": np.arange(i, dtype=d).reshape(-1, 1) for i, d in enumerate(DTYPES)}
    store.save(Bag(arrays), tmp_path / "m")
    theirs = safetensors.numpy.load_file(tmp_path / "m/model.safetensors")
    assert set(theirs) == set(arrays)
    for name, array in arrays.items():
        assert theirs[name].dtype == array.dtype
        assert np.array_equal(theirs[name], array)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(20)[::2],
        np.arange(20)[::-1],
        np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
        np.arange(6, dtype=">i4"),
        np.array(7, dtype=">f8"),
        np.broadcast_to(np.float32(3), (4, 5)),
    ],
    ids=["transposed", "strided", "reversed", "fortran", "swapped", "swapped scalar", "broadcast"],
)
def test_arrays_of_any_layout(tmp_path, array):
    store.save(Bag({"a": array}), tmp_path / "m")
    again = store.load(tmp_path / "m", verify=True).state.arrays["a"]
    assert np.array_equal(again, array)
    assert again.flags.c_contiguous
    assert again.dtype.isnative


def test_large_layouts_are_written_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(store.write.tensors, "_CHUNK", mmap.PAGESIZE)
    array = np.arange(30_000).reshape(300, 100)
    store.save(Bag({"a": array, "t": array.T, "s": array[:, ::3]}), tmp_path / "m")
    again = store.load(tmp_path / "m", verify=True).state.arrays
    assert np.array_equal(again["a"], array)
    assert np.array_equal(again["t"], array.T)
    assert np.array_equal(again["s"], array[:, ::3])


def test_manifest_says_what_the_folder_holds(tmp_path):
    store.save(Toy().fit(), tmp_path / "m")
    manifest = json.loads((tmp_path / "m/model.json").read_text())
    assert (manifest["format"], manifest["version"]) == ("xtrellis-model", 1)
    assert set(manifest["written_by"]) == {"xtrellis", "numpy", "python"}
    assert manifest["model"]["class"] == "Toy"
    assert manifest["model"]["arrays"]["weights"] == {"dtype": "float32", "shape": [5, 3]}
    raw = (tmp_path / "m/model.safetensors").read_bytes()
    assert manifest["files"] == {
        "model.safetensors": {"size": len(raw), "sha256": hashlib.sha256(raw).hexdigest()},
    }
    assert (8 + int.from_bytes(raw[:8], "little")) % 64 == 0


def test_same_object_same_bytes(tmp_path):
    for name in ("a", "b"):
        store.save(Toy().fit(), tmp_path / name)
    for file in ("model.json", "model.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_nothing_is_read_until_it_is_used(tmp_path):
    """Only a few pages of a 64 MB model are resident after loading and looking at one row."""
    store.save(Bag({"a": np.ones((16_000, 1000), np.float32)}), tmp_path / "m")
    array = store.load(tmp_path / "m").state.arrays["a"]
    assert float(array[5, 5]) == 1.0
    address = array.ctypes.data & ~4095
    with Path("/proc/self/smaps").open() as maps:
        lines = iter(maps)
        for line in lines:
            if "model.safetensors" in line and int(line.split("-")[0], 16) <= address:
                resident = next(int(inner.split()[1]) for inner in lines if inner.startswith("Rss:"))
                break
    assert resident < 4096, f"{resident} kB resident"


def test_a_mapping_outlives_everything_but_its_arrays(tmp_path):
    store.save(Toy().fit(), tmp_path / "m")
    weights = store.load(tmp_path / "m").weights
    gc.collect()
    assert np.array_equal(weights, Toy().fit().weights)


def test_loading_leaves_no_open_files_behind(tmp_path):
    store.save(Toy().fit(), tmp_path / "m")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        store.load(tmp_path / "m", verify=True)
        store.describe(tmp_path / "m")
        store.save(Toy().fit(), tmp_path / "m")
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_kind_is_checked_before_anything_is_built(tmp_path):
    store.save(Bag(), tmp_path / "m")
    assert isinstance(store.load(tmp_path / "m", kind=Bag), Bag)
    with pytest.raises(StoreError, match="holds a Bag; a Toy is needed"):
        store.load(tmp_path / "m", kind=Toy)


@pytest.mark.parametrize("name", ["KeyError", "TypeError", "ValueError", "RecursionError", "MemoryError"])
def test_what_a_class_raises_becomes_a_store_error(tmp_path, name):
    store.save(Picky(meta={"raise": name}), tmp_path / "m")
    with pytest.raises(StoreError, match=rf"model.json: not a valid Picky \({name}: .*from_state says so"):
        store.load(tmp_path / "m")


def test_a_missing_extra_is_not_a_damaged_model(tmp_path):
    store.save(Picky(meta={"raise": "MissingExtraError"}), tmp_path / "m")
    with pytest.raises(MissingExtraError, match=r"xtrellis\[deep\]"):
        store.load(tmp_path / "m")


def test_classes_are_imported_only_when_a_model_names_them(tmp_path, monkeypatch):
    (tmp_path / "lazy_toy.py").write_text("from store_toys import Bag\nclass Lazy(Bag): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(registry.CLASSES, "Lazy", "lazy_toy:Lazy")
    store.save(Bag(), tmp_path / "m")
    store.load(tmp_path / "m")
    assert "lazy_toy" not in sys.modules
    assert registry.resolve("Lazy").__name__ == "Lazy"
    assert "lazy_toy" in sys.modules


def test_the_registry_names_modules_of_this_package():
    shipped = {name: place for name, place in registry.CLASSES.items() if not place.startswith("store_toys")}
    assert {"LabelTree", "LinearTree", "Tagger", "Vectorizer"} <= set(shipped)
    for name, place in shipped.items():
        assert place.startswith("xtrellis.")
        assert place.endswith(f":{name}")


class Unlisted(Bag):
    pass


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (42, "cannot save a int"),
        (Unlisted(), "Unlisted cannot be saved"),
        (Bag({"a": np.ones(3, bool)}), "dtype bool; the store takes"),
        (Bag({"a": np.ones(3, complex)}), "dtype complex128"),
        (Bag({"a": np.array([None])}), "dtype object"),
        (Bag({"a": np.array(["text"])}), "dtype <U4"),
        (Bag({"a": [1, 2]}), "must be a NumPy array; got list"),
        (Bag({"../a": np.ones(1)}), "must be named by letters"),
        (Bag({"": np.ones(1)}), "must be named by letters"),
        (Bag({"__metadata__": np.ones(1)}), "must be named by letters"),
        (Bag(meta={"x": float("nan")}), "meta of model.x is nan"),
        (Bag(meta={"x": [1, np.inf]}), r"meta of model.x\[1\] is inf"),
        (Bag(meta={"x": {1: 2}}), "has the key 1; JSON keys are strings"),
        (Bag(meta={"x": {1, 2}}), "is a set, which JSON cannot hold"),
        (Bag(meta={"x": "y" * (17 << 20)}), "save large things as arrays"),
        (Bag(parts={"../x": Bag()}), "must be named by lower-case letters"),
        (Bag(parts={"a.b": Bag()}), "must be named by lower-case letters"),
        (Bag(parts={"A": Bag()}), "must be named by lower-case letters"),
        (Bag(parts={"a\n": Bag()}), "must be named by lower-case letters"),
    ],
)
def test_what_cannot_be_saved_is_refused_and_leaves_nothing(tmp_path, obj, message):
    with pytest.raises(StoreError, match=message):
        store.save(obj, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_cycles_and_deep_nests_are_refused(tmp_path):
    bag = Bag()
    bag.state.parts["again"] = bag
    with pytest.raises(StoreError, match="nested more than"):
        store.save(bag, tmp_path / "m")
    meta: dict = {}
    for _ in range(100):
        meta = {"in": meta}
    with pytest.raises(StoreError, match="nested too deeply"):
        store.save(Bag(meta=meta), tmp_path / "m")


def test_meta_of_numpy_scalars_tuples_and_any_text(tmp_path):
    meta = {"n": np.int32(3), "x": np.float64(0.1), "b": np.bool_(True), "t": (1, None), "s": "é\ud800\n💡", "": {}}
    store.save(Bag(meta=meta), tmp_path / "m")
    assert store.load(tmp_path / "m").state.meta == {**meta, "t": [1, None]}


def test_progress_counts_every_byte(tmp_path):
    seen = []

    class Listener:
        def begin(self, title, total, unit):
            seen.append([title, total, 0])
            return len(seen) - 1

        def advance(self, step, amount):
            seen[step][2] += amount

        def end(self, step):
            pass

        def note(self, message):
            pass

    with progress.listen(Listener()):
        store.save(Toy().fit(), tmp_path / "m")
        store.load(tmp_path / "m", verify=True)
        store.load(tmp_path / "m")
    assert [title for title, _, _ in seen] == ["saving", "verifying"]
    assert all(total == done > 0 for _, total, done in seen)


def test_threads_load_at_once(tmp_path):
    toy = Toy().fit(200, 30)
    store.save(toy, tmp_path / "m")
    with ThreadPoolExecutor(8) as pool:
        assert all(m.same(toy) for m in pool.map(lambda _: store.load(tmp_path / "m", verify=True), range(40)))


def _child(path, loaded, expected, answers):
    answers.put((loaded.same(expected), store.load(path).same(expected)))


def test_a_loaded_model_and_loading_work_after_fork(tmp_path):
    toy = Toy().fit()
    store.save(toy, tmp_path / "m")
    loaded = store.load(tmp_path / "m")
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_child, args=(tmp_path / "m", loaded, toy, answers))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert answers.get() == (True, True)


def test_describe_shows_without_building(tmp_path, monkeypatch):
    store.save(Bag(parts={"inner": Toy(index=ToyTree(arity=7)).fit()}, meta={"note": "[red]x"}), tmp_path / "m")
    for name in ("Toy", "Bag"):
        monkeypatch.delitem(registry.CLASSES, name)
    (tmp_path / "m/NOTES.txt").write_text("mine")
    found = store.describe(tmp_path / "m")
    assert found.class_name == "Bag"
    assert found.hashes == "not checked"
    assert store.describe(tmp_path / "m", verify=True).hashes == "verified"
    assert found.foreign == ["NOTES.txt"]
    assert found.total_size == sum(
        (tmp_path / "m" / n).stat().st_size for n in ("model.json", "model.inner.safetensors")
    )
    as_dict = json.loads(json.dumps(found.to_dict()))
    assert as_dict["objects"][1]["arrays"]["weights"] == {"dtype": "float32", "shape": [5, 3], "bytes": 60}
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(found.render())
    text = console.export_text()
    for piece in (
        "Bag",
        "index=ToyTree(arity=7)",
        "float32",
        "5×3",
        "not checked",
        "xtrellis 0",
        "NOTES.txt",
        "[red]x",
    ):
        assert piece in text


def test_a_history_is_shown_as_a_table(tmp_path):
    rounds = [[{"covered": 0.123456, "what": "[red]first"}, {"covered": 1, "what": "second"}]]
    meta = {"rounds_done": rounds, "mixed": [{"a": 1}, {"b": 2}], "plain": [1, 2], "none": []}
    store.save(Bag(parts={}, meta=meta), tmp_path / "m")
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(store.describe(tmp_path / "m").render())
    lines = [line.strip() for line in console.export_text().splitlines()]
    at = lines.index("rounds done")
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["covered", "what"], ["0.1235", "[red]first"], ["1", "second"],
    ]  # fmt: skip
    assert not any("rounds_done" in line for line in lines)
    assert any('mixed=[{"a":1},{"b":2}]' in line and "plain=[1,2]" in line for line in lines)
