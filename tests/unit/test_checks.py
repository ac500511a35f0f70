"""What a parameter may be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from xtrellis.core.checks import Check, choice, flag, integer, n_bytes, number, size, size_text, text
from xtrellis.core.errors import ParameterError

GOOD = [
    (integer(), [0, -5, 2**31 - 1, -(2**62), np.int8(3), np.uint64(3)]),
    (integer(at_most=2**63 - 1), [2**62, 2**63 - 1]),
    (integer(at_least=1, at_most=3), [1, 2, 3]),
    (integer(above=0, or_none=True), [1, None]),
    (number(), [0, 0.5, -1e300, np.float32(2), np.int64(3), Fraction(1, 3)]),
    (number(above=0, infinite=True), [1e-300, math.inf, np.float64(np.inf)]),
    (number(at_least=0, at_most=1), [0, 1, 0.5]),
    (flag(), [True, False]),
    (choice("a", "b"), ["a", "b"]),
    (text(), ["", "x", "\ud800"]),
    (size(or_none=True), [1, 2**40, "4GB", "512 MiB", "1.5g", "1000", "3b", None]),
    (Check(), [object(), None, 3]),
]
BAD = [
    (integer(), [1.0, "1", True, None, [1], np.array([1]), np.float64(1), 10**400, -(10**400), 10**5000, 1j, 2**31]),
    (integer(at_most=2**63 - 1), [2**63, np.uint64(2**63)]),
    (integer(at_least=1, at_most=3), [0, 4]),
    (integer(above=0, or_none=True), [0, False]),
    (number(), ["1", True, None, math.nan, math.inf, -math.inf, 10**400, 1j, np.array([1.0]), np.nan]),
    (number(above=0, infinite=True), [0, -math.inf, math.nan]),
    (number(at_least=0, at_most=1), [-1e-9, 1.1, math.inf]),
    (flag(), [0, 1, "true", None, np.True_]),
    (choice("a", "b"), ["c", "A", None, 1, ["a"], {}]),
    (text(), [3, None, b"x"]),
    (
        size(),
        [0, -1, 1.5, True, None, "", "0", "0.1B", "4 XB", "GB", "-3GB", "1e9", "4GB!", "9" * 400],
    ),
]


@pytest.mark.parametrize(("check", "value"), [(c, v) for c, values in GOOD for v in values])
def test_good_values_pass(check, value):
    check("x", value)


@pytest.mark.parametrize(
    ("check", "value"), [(c, v) for c, values in BAD for v in values], ids=lambda v: type(v).__name__
)
def test_bad_values_are_refused_in_one_short_line(check, value):
    with pytest.raises(ParameterError, match=r"^x must be ") as caught:
        check("x", value)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_requirements_read_well():
    assert integer(at_least=1).requirement == "an integer ≥ 1"
    assert number(above=0, at_most=1).requirement == "a number > 0 and ≤ 1"
    assert number(infinite=True).requirement == "a number (inf is allowed)"
    assert integer().requirement == "an integer"
    assert "or None" in str(integer(or_none=True).error("x", "y"))


@pytest.mark.parametrize("word", ["none", "None", "NULL", ""])
def test_none_in_text(word):
    assert integer(or_none=True).parse("x", word) is None
    with pytest.raises(ParameterError):
        integer().parse("x", word)


def test_json_forms():
    assert number(infinite=True).from_json("x", "-inf") == -math.inf
    assert number().from_json("x", 3) == 3
    assert integer().from_json("x", 3) == 3


@pytest.mark.parametrize(
    ("given", "meant"),
    [(5, 5), ("5", 5), ("4GB", 4 * 10**9), ("4 gb", 4 * 10**9), ("512MiB", 2**29), ("1.5k", 1500), (" 2TiB ", 2**41)],
)
def test_sizes_are_read(given, meant):
    assert size().holds(given)
    assert n_bytes(given) == meant


def test_a_size_from_the_command_line():
    assert n_bytes(size().parse("memory_limit", "4GB")) == 4 * 10**9
    assert size(or_none=True).parse("memory_limit", "none") is None
    with pytest.raises(ParameterError, match=r"memory_limit must be a number of bytes ≥ 1.*'4GB'; got 'lots'"):
        size().parse("memory_limit", "lots")
    assert size_text(4 * 10**9) == "4.0 GB"
