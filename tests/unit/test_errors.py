"""One family of errors, with messages that help."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.core import errors
from xtrellis.core.errors import DataError, MissingExtraError, nearest, shown

FAMILY = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]


def test_one_family():
    assert len(FAMILY) >= 7
    for error in FAMILY:
        assert issubclass(error, xt.XtrellisError)
        assert error.__doc__


def test_errors_are_what_python_users_expect():
    assert issubclass(xt.ParameterError, ValueError)
    assert issubclass(xt.InputError, ValueError)
    assert issubclass(xt.DataError, ValueError)
    assert issubclass(xt.NotFittedError, RuntimeError)
    assert issubclass(xt.MissingExtraError, ImportError)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "bad"),
        ({"path": "a.txt"}, "a.txt: bad"),
        ({"path": Path("d/a.txt"), "line": 7}, "d/a.txt, line 7: bad"),
        ({"line": 7}, "line 7: bad"),
    ],
)
def test_data_errors_name_the_place(place, text):
    error = DataError("bad", **place)
    assert str(error) == text
    assert (error.path, error.line) == (place.get("path"), place.get("line"))


def test_missing_extras_say_what_to_install():
    error = MissingExtraError("pyarrow", "columnar", "reading Parquet")
    assert str(error) == (
        "reading Parquet needs pyarrow; install it with: pip install 'xtrellis[columnar]' "
        "(in a checkout: pip install -e '.[columnar]')"
    )


@pytest.mark.parametrize(
    "error",
    [DataError("bad", path="a", line=3), MissingExtraError("a", "b", "c"), xt.StoreError("x"), xt.ParameterError("y")],
)
def test_errors_travel_between_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert getattr(again, "line", None) == getattr(error, "line", None)


def test_nearest():
    assert nearest("beem", ["beam", "cost"]) == "; did you mean 'beam'?"
    assert nearest("zzz", ["beam", "cost"]) == "; valid names: beam, cost"
    assert nearest("zzz", []) == "; valid names: (none)"
    many = [f"name {i}" for i in range(30_000)]
    assert nearest("name 29999x", many) == "; did you mean 'name 29999'?"
    assert nearest("zzz", many) == "; it knows 30,000 names, none of them similar"


def test_shown_is_short_and_never_fails():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert shown("x") == "'x'"
    assert shown(10**5000) == "<int>"
    assert shown(Broken()) == "<Broken>"
    assert len(shown("x" * 10_000)) == 200
