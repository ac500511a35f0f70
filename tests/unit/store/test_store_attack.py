"""Hostile, damaged and newer folders: loading works or raises one StoreError. No crash, no hang, no way out."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_toys import Bag, Toy

import xtrellis
from xtrellis import store
from xtrellis.core.errors import StoreError
from xtrellis.store import plain

MAX = 2**63 - 1


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "m"
    store.save(Bag(parts={"inner": Toy().fit()}, arrays={"a": np.arange(4.0), "b": np.arange(3)}), where)
    return where


def refused(path, message, *, file=None):
    """Load and describe raise one StoreError that names the file and says `message`."""
    for action in (store.load, store.describe):
        with pytest.raises(StoreError, match=message) as caught:
            action(path)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) < 1000
        if file is not None:
            assert file in str(caught.value)


def edit(path, change):
    manifest = json.loads((path / "model.json").read_text())
    change(manifest)
    (path / "model.json").write_text(json.dumps(manifest))


def put(manifest, place, value):
    *parents, last = place.split("/")
    for key in parents:
        manifest = manifest[key]
    if value is ...:
        del manifest[last]
    else:
        manifest[last] = value


# --- model.json ---------------------------------------------------------------------------------------------------

RAW = {
    "empty": (b"", "not valid JSON"),
    "not json": (b"hello", "not valid JSON"),
    "truncated": (b'{"format": "xtrellis-model", "ver', "not valid JSON"),
    "not utf-8": (b'{"format": "\xff\xfe"}', "not valid JSON"),
    "bom": (b'\xef\xbb\xbf{"format": "xtrellis-model"}', "not valid JSON"),
    "utf-16": ('{"format": "xtrellis-model"}'.encode("utf-16"), "not valid JSON"),
    "nul": (b"\0" * 100, "not valid JSON"),
    "a list": (b"[]", "not an xtrellis model"),
    "a number": (b"3", "not an xtrellis model"),
    "other format": (b'{"format": "other", "version": 1}', "not an xtrellis model"),
    "no version": (b'{"format": "xtrellis-model"}', "'version' must be an integer"),
    "nan": (b'{"format": "xtrellis-model", "version": NaN}', "NaN is not JSON"),
    "infinity": (b'{"format": "xtrellis-model", "version": -Infinity}', "-Infinity is not JSON"),
    "huge float": (b'{"format": "xtrellis-model", "version": 1e999}', "too large"),
    "huge int": (b'{"format": "xtrellis-model", "version": ' + b"9" * 5000 + b"}", "not valid JSON"),
    "duplicate key": (b'{"format": "xtrellis-model", "format": "xtrellis-model"}', "given twice"),
    "deep lists": (b"[" * 200_000, "nested too deeply"),
    "deep objects": (b'{"a":' * 200_000, "nested too deeply"),
    "rather deep": (b"[" * 100 + b"]" * 100, "nested more than 64 deep"),
    "only the format": (b'{"format": "xtrellis-model", "version": 1}', "lacks 'files'"),
}


@pytest.mark.parametrize(("raw", "message"), RAW.values(), ids=RAW)
def test_raw_manifests(path, raw, message):
    (path / "model.json").write_bytes(raw)
    refused(path, message, file="model.json")


def test_a_huge_manifest_is_not_read(path):
    os.truncate(path / "model.json", 1 << 40)  # sparse: a terabyte that takes no room
    refused(path, "at most", file="model.json")


EDITS = [
    ("version", 2, r"written by a newer xtrellis \(format 2; .*pip install -U"),
    ("version", 10**30, "'version' must be an integer"),
    ("version", 0, "'version' must be an integer"),
    ("version", True, "'version' must be an integer"),
    ("version", "1", "'version' must be an integer"),
    ("extra", 1, "unknown field 'extra'"),
    ("written_by", [], "written_by must be a JSON object"),
    ("written_by", {"numpy": 2}, "written_by must map"),
    ("model", None, "model must be a JSON object"),
    ("model/class", ..., "model lacks 'class'"),
    ("model/extra", 1, "unknown field 'extra'"),
    ("model/class", 5, "class of model must be a name"),
    ("model/class", "os.system", "class of model must be a name"),
    ("model/class", "Toy\n", "class of model must be a name"),
    ("model/params", [], "params of model must be a JSON object"),
    ("model/meta", 3, "meta of model must be a JSON object"),
    ("model/arrays", [], "arrays of model must be a JSON object"),
    ("model/parts", [], "parts of model must be a JSON object"),
    ("model/parts/inner", 3, "model.inner must be a JSON object"),
    ("model/parts/..", {}, "part '..' of model must be named"),
    ("model/arrays/a", 3, "array 'a' must have"),
    ("model/arrays/a/dtype", "O", "unknown dtype 'O'"),
    ("model/arrays/a/dtype", "object", "unknown dtype 'object'"),
    ("model/arrays/a/dtype", "bool", "unknown dtype 'bool'"),
    ("model/arrays/a/dtype", ["float64"], "unknown dtype"),
    ("model/arrays/a/dtype", "float32", r"float64\[4\]; model.json says float32\[4\]"),
    ("model/arrays/a/shape", [5], r"float64\[4\]; model.json says float64\[5\]"),
    ("model/arrays/a/shape", [2, 2], "model.json says"),
    ("model/arrays/a/shape", [-4], "shape of integers"),
    ("model/arrays/a/shape", [4.0], "shape of integers"),
    ("model/arrays/a/shape", [True, 4], "shape of integers"),
    ("model/arrays/a/shape", "4", "shape of integers"),
    ("model/arrays/a/shape", [1] * 100, "shape of integers"),
    ("model/arrays/a/shape", [2**62, 2**62], "impossible shape"),
    ("model/arrays/a/shape", [0, 2**62, 2**62], "impossible shape"),
    ("model/arrays/a/shape", [2**100], "shape of integers"),
    ("model/arrays/a", ..., "'a' is not listed in model.json"),
    ("model/arrays/c", {"dtype": "int8", "shape": [0]}, "array 'c' is missing"),
    ("model/arrays/__metadata__", {"dtype": "int8", "shape": [0]}, "must be named by letters"),
    ("files", [], "files must be a JSON object"),
    ("files/model.safetensors", ..., "'model.safetensors' does not match"),
    ("files/model.safetensors", 3, "must be a JSON object"),
    ("files/model.other.safetensors", {"size": 3, "sha256": "0" * 64}, "'model.other.safetensors' does not match"),
    ("files/model.safetensors/size", -1, "integer ≥ 0"),
    ("files/model.safetensors/size", 1.5, "integer ≥ 0"),
    ("files/model.safetensors/size", 2**64, "integer ≥ 0"),
    ("files/model.safetensors/size", MAX, "truncated or changed"),
    ("files/model.safetensors/size", 7, "truncated or changed"),
    ("files/model.safetensors/sha256", "xyz", "64 hex digits"),
    ("files/model.safetensors/sha256", 5, "64 hex digits"),
]


@pytest.mark.parametrize(("place", "value", "message"), EDITS)
def test_edited_manifests(path, place, value, message):
    edit(path, lambda manifest: put(manifest, place, value))
    refused(path, message)


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "C:", "a\0b", "A", "é", "x" * 65, "a.b", "a\n", " "],
)
def test_part_and_file_names_cannot_leave_the_folder(path, name):
    def part(manifest):
        manifest["model"]["parts"][name] = manifest["model"]["parts"].pop("inner")

    def file(manifest):
        manifest["files"][name] = manifest["files"].pop("model.inner.safetensors")

    original = (path / "model.json").read_bytes()
    edit(path, part)
    refused(path, "must be named by lower-case letters", file="model.json")
    (path / "model.json").write_bytes(original)
    edit(path, file)
    refused(path, "does not match", file="model.json")


def test_deep_and_long_parts(path):
    def deep(manifest):
        inner = manifest["model"]["parts"]["inner"]
        for _ in range(12):
            inner = {"class": "Bag", "params": {}, "meta": {}, "arrays": {}, "parts": {"p": inner}}
        manifest["model"]["parts"]["inner"] = inner

    original = (path / "model.json").read_bytes()
    edit(path, deep)
    refused(path, "nested more than 8 parts deep")
    (path / "model.json").write_bytes(original)

    def long(manifest):
        inner = manifest["model"]["parts"]["inner"]
        for _ in range(4):
            inner = {"class": "Bag", "params": {}, "meta": {}, "arrays": {}, "parts": {"p" * 60: inner}}
        manifest["model"]["parts"]["inner"] = inner

    edit(path, long)
    refused(path, "longer than 200")


def test_only_listed_classes_are_built(path):
    for name in ("Popen", "Storable", "ToyTree", "Model", "LinearTre"):
        edit(path, lambda manifest, name=name: put(manifest, "model/class", name))
        with pytest.raises(StoreError, match=rf"model: class '{name}' is not one this version of xtrellis can load"):
            store.load(path)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("params/beam", 0, "beam must be an integer ≥ 1"),
        ("params/beam", "10", "beam must be an integer"),
        ("params/beam", 10**300, "beam must be an integer"),
        ("params/cost", "nan", "cost must be a number"),
        ("params/cost", {}, "cost must be a number"),
        ("params/loss", "hing", "did you mean 'hinge'"),
        ("params/beem", 1, "did you mean 'beam'"),
        ("params/index", 3, "index must be an object with 'class' and 'params'"),
        ("params/index", {"class": "Popen", "params": {}}, "index must be a ToyIndex; got 'Popen'"),
        ("params/index", {"class": "ToyIndex", "params": {}}, "index must be a ToyIndex; got 'ToyIndex'"),
        ("params/index", {"class": "Toy", "params": {}}, "index must be a ToyIndex; got 'Toy'"),
        ("params/index", {"class": ["x"], "params": {}}, "index must be a ToyIndex"),
        ("params/index", {"class": "ToyTree", "params": {"arity": 1}}, "arity must be an integer ≥ 2"),
        ("params/index", {"class": "ToyTree", "params": {"arty": 1}}, "did you mean 'arity'"),
        ("meta", {}, "KeyError: 'n'"),
        ("meta/n", 6, "weights must be"),
        ("meta/n", "5", "weights must be"),
        ("class", "Bag", "Bag takes no parameters"),
    ],
)
def test_what_the_class_itself_must_refuse(path, place, value, message):
    edit(path, lambda manifest: put(manifest, f"model/parts/inner/{place}", value))
    with pytest.raises(StoreError, match=message) as caught:
        store.load(path)
    assert "model.inner.safetensors" in str(caught.value)


# --- the folder ---------------------------------------------------------------------------------------------------


def test_nothing_there(tmp_path):
    refused(tmp_path / "no", "there is no model at")
    refused(tmp_path / "no/such/place", "there is no model at")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "is not an xtrellis model: it has no model.json")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "is not a model: a model is a folder")
    os.mkfifo(tmp_path / "fifo")
    refused(tmp_path / "fifo", "is not a model: a model is a folder")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", "cannot open|no model")
    refused(tmp_path / ("x" * 300), "too long")


@pytest.mark.parametrize("name", ["model.json", "model.safetensors", "model.inner.safetensors"])
def test_what_is_not_a_plain_file(path, tmp_path, name):
    file = path / name
    kept = tmp_path / "kept"
    shutil.copy(file, kept)

    file.unlink()
    refused(path, "missing" if name != "model.json" else "it has no model.json")
    file.mkdir()
    refused(path, "not a plain file", file=name)
    file.rmdir()
    os.mkfifo(file)
    refused(path, "not a plain file", file=name)  # and does not wait for a writer
    file.unlink()
    file.symlink_to(kept)
    refused(path, "is a link", file=name)  # even to a good copy
    file.unlink()
    file.symlink_to("nowhere")
    refused(path, "is a link", file=name)
    file.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path)  # socket paths are short
        try:
            server.bind(name)
        finally:
            os.chdir(here)
        refused(path, "not a plain file", file=name)
    file.unlink()
    shutil.copy(kept, file)
    assert isinstance(store.load(path, verify=True), Bag)


def test_files_of_another_model_are_noticed_and_notes_are_not_minded(path):
    (path / "README.md").write_text("a model card")
    (path / ".DS_Store").write_bytes(b"\0")
    assert isinstance(store.load(path, verify=True), Bag)
    assert store.describe(path).foreign == [".DS_Store", "README.md"]
    shutil.copy(path / "model.safetensors", path / "model.old.safetensors")
    refused(path, "not listed in model.json; files of two models are mixed", file="model.old.safetensors")


def test_unreadable_files(path):
    if os.geteuid() == 0:  # root reads everything: let the system call fail by itself
        with pytest.MonkeyPatch.context() as patch:
            real = os.open

            def denied(name, *args, **kwargs):
                if name == "model.safetensors":
                    raise PermissionError(13, "Permission denied")
                return real(name, *args, **kwargs)

            patch.setattr(os, "open", denied)
            refused(path, r"cannot be opened \(Permission denied\)", file="model.safetensors")
    else:
        (path / "model.safetensors").chmod(0)
        refused(path, r"cannot be opened \(Permission denied\)", file="model.safetensors")


# --- tensor files -------------------------------------------------------------------------------------------------


def tensor_file(path, header, data=b"", *, length=None, pad=True):
    """Write model.safetensors with any header, and let model.json agree about its size."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    if pad:
        raw += b" " * (-(8 + len(raw)) % 64)
    raw = (len(raw) if length is None else length).to_bytes(8, "little") + raw + data
    (path / "model.safetensors").write_bytes(raw)
    edit(path, lambda manifest: put(manifest, "files/model.safetensors/size", len(raw)))


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


A, B = entry("F64", [4], 0, 32), entry("I64", [3], 32, 56)


def test_a_header_written_by_hand_is_read(path):
    data = np.arange(4.0).tobytes() + np.arange(3).tobytes()
    tensor_file(path, {"__metadata__": {"by": "hand"}, "b": B, "a": A}, data)
    arrays = store.load(path).state.arrays
    assert arrays["a"].tolist() == [0, 1, 2, 3]
    assert arrays["b"].tolist() == [0, 1, 2]


HEADERS = {
    "not json": (b"hello", "not valid JSON"),
    "not utf-8": (b"\xff\xff\xff", "not valid JSON"),
    "list": ([], "header must be a JSON object"),
    "duplicate": (b'{"a": 1, "a": 2}', "given twice"),
    "deep": (b"[" * 100_000, "nested too deeply"),
    "nan": (b'{"a": NaN}', "NaN is not JSON"),
    "empty": ({}, "array 'a' is missing"),
    "one missing": ({"a": A}, "array 'b' is missing"),
    "one more": ({"a": A, "b": B, "c": entry("U8", [0], 56, 56)}, "'c' is not listed"),
    "not an entry": ({"a": 3, "b": B}, "must have dtype, shape and data_offsets"),
    "extra field": ({"a": {**A, "x": 1}, "b": B}, "must have dtype, shape and data_offsets"),
    "unknown dtype": ({"a": {**A, "dtype": "F128"}, "b": B}, "unknown dtype"),
    "bool": ({"a": {**A, "dtype": "BOOL"}, "b": B}, "unknown dtype"),
    "dtype of another type": ({"a": {**A, "dtype": {}}, "b": B}, "unknown dtype"),
    "other dtype": ({"a": {**A, "dtype": "I64"}, "b": B}, "model.json says"),
    "other shape": ({"a": {**A, "shape": [2, 2]}, "b": B}, "model.json says"),
    "negative shape": ({"a": {**A, "shape": [-4]}, "b": B}, "shape of integers"),
    "overflowing shape": ({"a": {**A, "shape": [2**32, 2**32]}, "b": B}, "impossible shape"),
    "overlap": ({"a": A, "b": entry("I64", [3], 24, 48)}, "a gap or an overlap"),
    "same place": ({"a": A, "b": entry("I64", [3], 0, 24)}, "a gap or an overlap"),
    "gap": ({"a": A, "b": entry("I64", [3], 40, 64)}, "a gap or an overlap"),
    "not from 0": ({"a": entry("F64", [4], 24, 56), "b": entry("I64", [3], 56, 80)}, "a gap or an overlap"),
    "past the end": ({"a": entry("F64", [4], 10**12, 10**12 + 32), "b": B}, "a gap or an overlap"),
    "unaligned": ({"a": entry("F64", [4], 1, 33), "b": B}, "inside an element"),
    "negative offset": ({"a": entry("F64", [4], -32, 0), "b": B}, "must have data_offsets"),
    "backwards": ({"a": entry("F64", [4], 32, 0), "b": B}, "must have data_offsets"),
    "huge offset": ({"a": entry("F64", [4], 2**64, 2**64 + 32), "b": B}, "must have data_offsets"),
    "float offset": ({"a": entry("F64", [4], 0.0, 32.0), "b": B}, "must have data_offsets"),
    "three offsets": ({"a": {**A, "data_offsets": [0, 32, 64]}, "b": B}, "must have data_offsets"),
    "offsets of text": ({"a": {**A, "data_offsets": "ab"}, "b": B}, "must have data_offsets"),
    "wrong length": ({"a": entry("F64", [4], 0, 24), "b": B}, "needs 32 bytes; its offsets span 24"),
}


@pytest.mark.parametrize(("header", "message"), HEADERS.values(), ids=HEADERS)
def test_hostile_headers(path, header, message):
    tensor_file(path, header, bytes(56))
    refused(path, message, file="model.safetensors")


@pytest.mark.parametrize("length", [0, 3, 10**6, plain.MAX_BYTES + 1, 2**32, MAX, 2**64 - 1, 2**64 - 8])
def test_header_lengths(path, length):
    tensor_file(path, {"a": A, "b": B}, bytes(56), length=length)
    refused(path, "header claims|not valid JSON", file="model.safetensors")


def test_trailing_and_missing_data(path):
    tensor_file(path, {"a": A, "b": B}, bytes(57))
    refused(path, "take 56 bytes; the file holds 57", file="model.safetensors")
    tensor_file(path, {"a": A, "b": B}, bytes(55))
    refused(path, "take 56 bytes; the file holds 55", file="model.safetensors")
    tensor_file(path, {"a": A, "b": B}, bytes(56), pad=False)
    refused(path, "not a multiple of 64", file="model.safetensors")


def test_a_huge_header_is_not_parsed(path):
    size = plain.MAX_BYTES + 64 + 56
    with (path / "model.safetensors").open("wb") as file:
        file.write((size - 8 - 56).to_bytes(8, "little"))
        file.truncate(size)
    edit(path, lambda manifest: put(manifest, "files/model.safetensors/size", size))
    refused(path, "header claims", file="model.safetensors")


def test_every_truncation(path):
    raw = (path / "model.safetensors").read_bytes()
    for size in range(0, len(raw), 11):
        (path / "model.safetensors").write_bytes(raw[:size])
        refused(path, "truncated or changed", file="model.safetensors")
        edit(path, lambda manifest, size=size: put(manifest, "files/model.safetensors/size", size))
        with pytest.raises(StoreError, match=r"model\.safetensors"):
            store.load(path)
        edit(path, lambda manifest: put(manifest, "files/model.safetensors/size", len(raw)))


def test_every_damaged_byte_is_found_by_its_hash(path):
    file = path / "model.inner.safetensors"
    raw = file.read_bytes()
    for place in range(0, len(raw), 5):
        file.write_bytes(raw[:place] + bytes([raw[place] ^ 0x10]) + raw[place + 1 :])
        for action in (store.load, store.describe):
            with pytest.raises(StoreError, match=r"model\.inner\.safetensors"):
                action(path, verify=True)


def test_damaged_names_are_an_error_when_read_not_a_crash(tmp_path):
    toy = Toy().fit()
    store.save(toy, tmp_path / "m")
    file = tmp_path / "m/model.safetensors"
    file.write_bytes(file.read_bytes().replace(b"label 3", b"label \xff"))
    with pytest.raises(StoreError, match="string 3 of 5 is not UTF-8"):
        list(store.load(tmp_path / "m").names)


# --- anything -----------------------------------------------------------------------------------------------------


@cache
def valid_files():
    with tempfile.TemporaryDirectory() as folder:
        store.save(Bag(parts={"inner": Toy().fit()}, arrays={"a": np.arange(4.0)}), Path(folder) / "m")
        return {file.name: file.read_bytes() for file in sorted((Path(folder) / "m").iterdir())}


def use(model):
    """Touch every byte a loaded model gives."""
    total = float(np.nan_to_num(model.state.arrays["a"]).sum()) if "a" in model.state.arrays else 0.0
    toy = model.state.parts.get("inner")
    if isinstance(toy, Toy):
        np.take(toy.weights, toy.ids, axis=0)
        len(list(toy.names))
    return total


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_of_bytes_loads_or_raises_a_store_error(tmp_path, toys, data):
    files = dict(valid_files())
    for _ in range(data.draw(st.integers(1, 3), "changes")):
        name = data.draw(st.sampled_from(sorted(files)), "file")
        raw = bytearray(files[name])
        limit = (
            len(raw) if name == "model.json" or data.draw(st.booleans()) else min(len(raw), 400)
        )  # headers more often
        begin = data.draw(st.integers(0, max(0, limit - 1)), "place")
        kind = data.draw(st.sampled_from(["flip", "replace", "insert", "delete", "truncate", "copy"]), "kind")
        if kind == "flip" and raw:
            raw[begin] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "replace":
            new = data.draw(
                st.binary(max_size=12) | st.sampled_from([b"-1", b"1e9", b"null", b'"', b"{", b"99999999999"])
            )
            raw[begin : begin + len(new)] = new
        elif kind == "insert":
            raw[begin:begin] = data.draw(st.binary(max_size=8) | st.sampled_from([b"0", b"9", b",", b"}", b"[]"]))
        elif kind == "delete":
            del raw[begin : begin + data.draw(st.integers(1, 20))]
        elif kind == "truncate":
            del raw[begin:]
        else:
            raw[begin : begin + 8] = raw[: data.draw(st.integers(0, 64))]
        files[name] = bytes(raw)
    folder = tmp_path / "fuzz"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    try:
        use(store.load(folder, verify=data.draw(st.booleans(), "verify")))
    except StoreError as error:
        message = str(error)
    else:
        message = "fuzz"
    assert "fuzz" in message or "is not UTF-8" in message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), value=JSON)
def test_any_json_in_any_place_loads_or_raises_a_store_error(tmp_path, toys, data, value):
    manifest = json.loads(valid_files()["model.json"])
    node = manifest
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else list(range(len(node)))), "key")
        inner = node[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans(), "stop"):
            break
        node = inner
    node[key] = value
    folder = tmp_path / "fuzz"
    folder.mkdir(exist_ok=True)
    for name, raw in valid_files().items():
        (folder / name).write_bytes(raw)
    (folder / "model.json").write_text(json.dumps(manifest))
    try:
        use(store.load(folder))
        message = "fuzz"
    except StoreError as error:
        message = str(error)
    assert "fuzz" in message


def test_the_newer_format_error_names_this_version(path):
    edit(path, lambda manifest: manifest.update(version=7, something_new={}))
    refused(path, rf"format 7; this one, {xtrellis.__version__}, reads up to 1")
