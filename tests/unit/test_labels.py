"""Label frequency and propensities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from xtrellis.core.errors import InputError, ParameterError
from xtrellis.labels.frequency import code_frequency, label_frequency, prior_offsets
from xtrellis.labels.propensity import inverse_propensity, propensity_constants


def test_frequency_counts_rows_not_stored_zeros():
    Y = csr_array((np.array([1.0, 0.0, 5.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    assert label_frequency(Y).tolist() == [2, 0, 0]


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("WikiLSHTC-325K", (0.5, 0.4)),
        ("wikipedia_500k", (0.5, 0.4)),
        ("Amazon-670K", (0.6, 2.6)),
        ("Amazon-3M", (0.6, 2.6)),
        ("LF-AmazonTitles-131K", (0.6, 2.6)),
        ("LF-Amazon-1.3M", (0.6, 2.6)),
        ("AmazonCat-13K", (0.55, 1.5)),
        ("Wiki10-31K", (0.55, 1.5)),
        ("EURLex-4K", (0.55, 1.5)),
        ("LF-WikiSeeAlso-320K", (0.55, 1.5)),
        (None, (0.55, 1.5)),
    ],
)
def test_constants_by_name(name, constants):
    assert propensity_constants(name) == constants


def test_formula():
    w = inverse_propensity([0, 1, 100], 1000, A=0.5, B=0.4)
    c = (np.log(1000) - 1) * 1.4**0.5
    assert w == pytest.approx([1 + c / 0.4**0.5, 1 + c / 1.4**0.5, 1 + c / 100.4**0.5])
    assert (np.diff(w) < 0).all()
    assert (w > 1).all()


def test_refusals():
    with pytest.raises(InputError, match="at least 3 rows"):
        inverse_propensity([1], 2)
    with pytest.raises(InputError, match="between 0 and the 5"):
        inverse_propensity([6], 5)
    with pytest.raises(ParameterError, match="B must be"):
        inverse_propensity([1], 5, B=0)


ROWS = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("kind", "weights", "expected"),
    [
        ("all", None, [3 / 8, 3 / 8, 2 / 8, 0]),
        ("marginal", None, [3 / 4, 1 / 4, 0, 0]),  # labels 0 and 1 are equally frequent: the smaller id takes the row
        ("greedy", None, [3 / 4, 1 / 4, 0, 0]),
        ("soft", None, [9 / 16, 5 / 16, 2 / 16, 0]),
        ("all", [0, 0, 0, 2, 1], [0, 1 / 2, 1 / 2, 0]),
        ("marginal", [1, 1, 5, 1, 9], [7 / 8, 0, 1 / 8, 0]),
        ("greedy", [1, 1, 5, 1, 9], [7 / 8, 1 / 8, 0, 0]),  # once rows 0 to 2 are served, labels 1 and 2 are alike
    ],
)
def test_code_frequencies(kind, weights, expected):
    assert code_frequency(ROWS, kind, row_weights=weights) == pytest.approx(expected)


def test_focus():
    assert code_frequency(ROWS, "soft", focus=0) == pytest.approx(code_frequency(ROWS, "all"))
    assert code_frequency(ROWS, "soft", focus=1) == pytest.approx(code_frequency(ROWS, "marginal"))


def test_code_frequency_refusals():
    with pytest.raises(InputError, match="zero everywhere: no row has a label"):
        code_frequency(np.zeros((3, 2)))
    with pytest.raises(InputError, match="zero everywhere: no row of a weight"):
        code_frequency(ROWS, row_weights=[0, 0, 0, 0, 1])
    with pytest.raises(InputError, match=r"each of 5 rows; got shape \(4,\)"):
        code_frequency(ROWS, row_weights=[1] * 4)
    with pytest.raises(InputError, match="not negative; row 1 has -2"):
        code_frequency(ROWS, row_weights=[1, -2, 1, 1, 1])
    with pytest.raises(InputError, match="must be numbers"):
        code_frequency(ROWS, row_weights=["a"] * 5)
    with pytest.raises(ParameterError, match="kind must be one of"):
        code_frequency(ROWS, "most")


def test_offsets_shift_no_score_upwards():
    counts = np.array([1, 10, 0, 100])
    np.testing.assert_allclose(prior_offsets(counts, 0.1), [0, -0.230, -1.461, -0.461], atol=1e-3)
    np.testing.assert_allclose(prior_offsets(counts, -0.1), [-0.461, -0.230, -1.461, 0], atol=1e-3)
    assert np.isfinite(prior_offsets(np.zeros(3, np.int64), 0.1)).all()
