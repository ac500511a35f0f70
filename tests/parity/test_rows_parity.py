"""The native row parser and writer against a twin in plain Python: same arrays, same fault, same line."""

from __future__ import annotations

import re
import struct
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xtrellis._native import data as native

N_LABELS, N_FEATURES = 13, 41
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LARGEST = float(np.finfo(np.float32).max)
TOO_LARGE = Fraction(2**128 - 2**103)  # half way between the largest float32 and what would be the next


def round_to_float32(text: bytes) -> float:
    """Decimal to float32 in one rounding: via exact fractions, not via double."""
    exact = Fraction(text.decode())
    near = np.float32(max(-LARGEST, min(LARGEST, float(exact))))
    with np.errstate(over="ignore"):
        candidates = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    finite = [c for c in candidates if np.isfinite(c)]

    def rank(c: np.float32) -> tuple[Fraction, int]:
        return abs(Fraction(float(c)) - exact), struct.unpack("<I", struct.pack("<f", c))[0] & 1

    return float(min(finite, key=rank))


def twin(text: bytes, labelled: bool, comments: bool, base: int):
    """(rows, fault, line): rows as (labels, {feature: value}); the fault's number as in native/data/rows.hpp."""
    rows = []
    for number, line in enumerate(text.split(b"\n")[:-1]):
        if comments and line.startswith(b"#"):
            continue
        body = line.split(b"#")[0] if comments else line
        fields = re.split(rb"[ \t\r]+", body)
        first, rest = fields[0], [f for f in fields[1:] if f]
        labels: set[int] = set()
        if first and (not labelled or re.match(rb"\d+:", first)):
            rest = [first, *rest]
        elif first:
            for word in first.split(b","):
                if not re.fullmatch(rb"\d+", word):
                    # The number itself is judged before what follows it.
                    digits = re.match(rb"\d+", word)
                    return rows, 2 if digits and int(digits[0]) >= N_LABELS else 1, number
                if int(word) >= N_LABELS:
                    return rows, 2, number
                labels.add(int(word))
        features: dict[int, float] = {}
        twice = False
        for word in rest:
            match = re.match(rb"(\d+):", word)
            if not match:
                return rows, 3, number
            index = int(match[1]) - base
            if not 0 <= index < N_FEATURES:
                return rows, 4, number
            value = word[match.end() :]
            begins = _NUMBER.match(value)
            if begins and abs(Fraction(begins[0].decode())) >= TOO_LARGE:
                return rows, 6, number
            if not _NUMBER.fullmatch(value):
                return rows, 5, number
            twice = twice or index in features
            features[index] = round_to_float32(value)
        if twice:
            return rows, 7, number
        rows.append((sorted(labels), dict(sorted(features.items()))))
    return rows, 0, text.count(b"\n")


def check(text: bytes, labelled: bool, comments: bool, base: int) -> None:
    got = native.parse_rows(np.frombuffer(text, np.uint8), labelled, comments, N_LABELS, N_FEATURES, base)
    label_offsets, labels, offsets, features, values, lines, _, fault, _, _ = got
    rows, expected_fault, line = twin(text, labelled, comments, base)
    assert (fault, lines) == (expected_fault, line), text
    # A fault may leave part of its row behind the last offset; only whole rows count.
    assert len(label_offsets) == len(offsets) == len(rows) + 1
    for i, (row_labels, row_features) in enumerate(rows):
        assert labels[label_offsets[i] : label_offsets[i + 1]].tolist() == row_labels
        assert features[offsets[i] : offsets[i + 1]].tolist() == list(row_features)
        assert values[offsets[i] : offsets[i + 1]].tolist() == list(row_features.values())


SEED = b"12,3 0:0.25 17:1e-3 40:-12.5\n 5:1.0000001 6:3\n1,2,3\n\n7 8:123456789.123456789 # c\n2,1,2 9:+1.5 3:.5 4:7.\n"
number = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, allow_nan=False, places=9).map(str),
    st.from_regex(r"\A-?[0-9]{1,12}(\.[0-9]{0,14})?(e-?[0-9])?\Z"),
)
feature = st.tuples(st.integers(0, 42), number).map(lambda t: f"{t[0]}:{t[1]}")
line = st.tuples(st.lists(st.integers(0, 13), max_size=3), st.lists(feature, max_size=4)).map(
    lambda t: ",".join(map(str, t[0])) + " " + " ".join(t[1])
)


@settings(max_examples=150)
@given(
    st.lists(line, max_size=5).map(lambda ls: "".join(x + "\n" for x in ls).encode()), st.booleans(), st.integers(0, 1)
)
@example(b" 1:16777217 2:16777219 3:16777217.00000001 4:1.17549435e-38\n", True, 0)
@example(b" 1:3.4028235677973366e38\n", True, 0)
def test_written_rows(text: bytes, labelled: bool, base: int) -> None:
    check(text, labelled, False, base)


edit = st.tuples(st.integers(0, 2), st.integers(0, 10**6), st.sampled_from(b"0123456789:., \t\r\n-+eE#nai\x00\xff"))


@settings(max_examples=300)
@given(st.lists(edit, min_size=1, max_size=5), st.booleans(), st.booleans(), st.integers(0, 1))
def test_mutated_rows(edits: list[tuple[int, int, int]], labelled: bool, comments: bool, base: int) -> None:
    text = bytearray(SEED)
    for kind, at, byte in edits:
        at %= len(text)
        if kind == 0:
            text[at] = byte
        elif kind == 1:
            text.insert(at, byte)
        else:
            del text[at]
    check(bytes(text).rstrip(b"\n") + b"\n", labelled, comments, base)


def test_values_are_written_in_the_shortest_form() -> None:
    values = np.array([0.1, 1, -2.5, 1e-7, 123456.789, 3.4028235e38, 1e-45], np.float32)
    text = native.format_rows(
        np.zeros(2, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.float32),
        np.array([0, len(values)]),
        np.arange(len(values), dtype=np.int32),
        values,
        True,
        1,
        0,
        1,
    )
    words = text.split()
    assert [float(w.split(b":")[1]) for w in words] == [float(str(v)) for v in values]
    assert words[0] == b"1:0.1"
