"""The embedded data set: what it is made of, how it is split, and the cache that holds it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.core.errors import DataError, ParameterError
from xtrellis.data.datasets import cache, paragraphs, pydocs

DOC = """sin(x, /, out=None, *, where=True)

Trigonometric sine, element-wise.

Parameters
----------
x : array_like
    Angle, in radians (:math:`2 \\pi` rad equals 360 degrees).

    A second paragraph stays with its entry.
out : ndarray
    Where the result is kept, by `name` or :func:`numpy.copyto`.

See Also
--------
arcsin, sinh : Others of the family.
    They are all alike.
:func:`~scipy.linalg.eig`

Notes
-----
.. versionadded:: 1.0

The sine is one of the fundamental functions of trigonometry:

>>> np.sin(np.pi/2.)
1.0

Too short here.

Prose that runs into its example code
>>> print(1)
1

References
----------
.. [1] Some book about functions and many other things.
"""


def test_paragraphs_keep_prose_and_leave_machinery():
    prose = paragraphs.read(DOC)
    assert prose.paragraphs == [
        "Trigonometric sine, element-wise.",
        "x : array_like Angle, in radians (2 \\pi rad equals 360 degrees). A second paragraph stays with its entry.",
        "out : ndarray Where the result is kept, by name or numpy.copyto.",
        "The sine is one of the fundamental functions of trigonometry:",
        "Prose that runs into its example code",
    ]
    assert prose.see_also == ["arcsin", "sinh", "scipy.linalg.eig"]


@pytest.mark.parametrize(
    "doc", ["", "\n\n", "---", "x\n---", "a(b)", "Parameters\n----------", "See Also\n--------\n", "É\n===\n"]
)
def test_odd_docstrings_give_nothing(doc):
    assert paragraphs.read(doc) == paragraphs.Prose()


def test_addresses_do_not_make_a_difference():
    assert paragraphs.read("Defaults to <object at 0x7f00> always and everywhere.").paragraphs == [
        "Defaults to <object> always and everywhere."
    ]


def entry(name, doc, *, cls=None, module="m", aliases=()):
    return {"name": name, "class": cls, "module": module, "aliases": list(aliases), "doc": doc}


def test_labels_are_object_class_module_package_and_see_also():
    see = "Does something.\n\nSee Also\n--------\ng\nh2 : by its alias\nmissing"
    table = pydocs.assemble(
        [
            entry("m.sub.C.f", see, cls="m.sub.C", module="m.sub"),
            entry("m.sub.C.g", "Does more.", cls="m.sub.C", module="m.sub"),
            entry("m.h", "Helps others.", aliases=["m.sub.h2"]),
        ]
    )
    row = table["train"]["texts"].index("Does something.")
    labels = {table["labels"][i] for i in table["train"]["rows"][row]}
    assert labels == {"m.sub.C.f", "m.sub.C", "m.sub", "m", "m.sub.C.g", "m.h"}


def test_shared_text_is_one_row_and_boilerplate_none():
    few = [entry(f"m.f{i}", "The same words.") for i in range(2)]
    many = [entry(f"m.g{i}", f"Number is {'x' * (i + 2)}.\n\nEverybody says these very same words.") for i in range(20)]
    table = pydocs.assemble(few + many)
    texts = table["train"]["texts"] + table["test"]["texts"]
    rows = table["train"]["rows"] + table["test"]["rows"]
    assert len(texts) == len(set(texts)) == 21
    assert [table["labels"][i] for i in rows[texts.index("The same words.")]] == ["m", "m.f0", "m.f1"]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("XTRELLIS_CACHE", str(tmp_path_factory.mktemp("cache")))
    before = set(sys.modules)
    split = xt.datasets.load("pydocs")
    # `tkinter` is on the collector's way and nobody else's: imports must not leak into this process.
    assert "tkinter" not in set(sys.modules) - before
    yield split
    patch.undo()


def test_real_size_and_names(real):
    train, test = real
    assert len(train.texts) == train.Y.shape[0] > 15_000
    assert len(test.texts) == test.Y.shape[0]
    assert 0.08 < len(test.texts) / (len(test.texts) + len(train.texts)) < 0.2
    assert train.Y.shape[1] == test.Y.shape[1] == len(train.label_names) > 5_000
    known = set(train.label_names)
    assert {
        "numpy.linalg.eigvalsh",
        "scipy.linalg.eigvalsh",
        "os.path.join",
        "builtins.dict.get",
        "numpy.arccos",
    } <= known
    assert not [name for name in known if any(part.startswith("_") for part in name.split("."))]
    assert not {"this", "antigravity", "idlelib"} & known


def test_real_split_is_sound(real):
    train, test = real
    assert (np.bincount(train.Y.indices, minlength=train.Y.shape[1]) > 0).all()
    assert not set(train.texts) & set(test.texts)
    assert (np.diff(train.Y.indptr) > 0).all()
    assert (np.diff(test.Y.indptr) > 0).all()
    row = train.texts.index("Compute the eigenvalues of a complex Hermitian or real symmetric matrix.")
    labels = {train.label_names[i] for i in train.Y[[row]].indices}
    assert {"numpy.linalg.eigvalsh", "numpy.linalg", "numpy", "numpy.linalg.eigh"} <= labels


def test_real_data_comes_back_from_the_cache(real, monkeypatch):
    monkeypatch.setattr(pydocs, "_build", lambda: pytest.fail("must not be built again"))
    again = xt.datasets.load("pydocs")
    assert list(again.train.texts) == list(real.train.texts)
    assert (again.test.Y != real.test.Y).nnz == 0


def test_unknown_name():
    assert xt.datasets.names() == ["pydocs"]
    with pytest.raises(ParameterError, match="did you mean 'pydocs'"):
        xt.datasets.load("pydoc")


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"format": 1}', "\\x00", "[" * 100_000])
def test_a_damaged_cache_is_built_anew(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("XTRELLIS_CACHE", str(tmp_path / "deep" / "er"))
    table = pydocs.assemble(
        [
            entry(f"m.f{i}", f"First of {'x' * (i + 2)}.\n\nThen {i} comes more text, and more {'y' * (i + 2)}.")
            for i in range(40)
        ]
    )
    assert pydocs._sound(table)
    assert cache.remembered("t.json", lambda: table, pydocs._sound) == table
    path = cache.folder() / "t.json"
    path.write_text(damage)
    assert cache.remembered("t.json", lambda: table, pydocs._sound) == table
    assert json.loads(path.read_text()) == table
    assert [p.name for p in path.parent.iterdir()] == ["t.json"]


@pytest.mark.parametrize(
    "change", [{"format": 0}, {"labels": []}, {"train": {"texts": ["a"], "rows": [[0], [1]]}}, {"labels": [1, 2]}]
)
def test_an_unsound_table_is_noticed(change):
    table = {
        "format": pydocs.FORMAT,
        "labels": ["a", "b"],
        **{part: {"texts": ["t"], "rows": [[0, 1]]} for part in ("train", "test")},
    }
    assert pydocs._sound(table)
    assert not pydocs._sound({**table, **change})


def test_without_a_cache_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XTRELLIS_CACHE", str(tmp_path / "file"))
    assert cache.remembered("t.json", lambda: [1], lambda value: True) == [1]


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("XTRELLIS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "xtrellis"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "xtrellis"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (subprocess.CompletedProcess([], 1, b"", b"Traceback\nImportError: boom"), "ImportError: boom"),
        (subprocess.CompletedProcess([], -11, b'{"name": 1}\n', b""), "exit code -11"),
        (subprocess.CompletedProcess([], 0, b"{half", b""), "could not be collected"),
    ],
)
def test_a_failed_collector_is_told(monkeypatch, result, message):
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: result)
    with pytest.raises(DataError, match=message):
        pydocs._collect()
