"""Texts for the kernels: in normal form C, cut into blocks of rows and encoded.

Python's `unicodedata.normalize` takes time quadratic in the length of a run of combining marks, and no other thread
runs meanwhile: a short text of nothing else would stop a server for minutes. No script needs more than a few marks on a
letter, so only the first 30 of a run are put in order and composed, as many as Unicode's stream-safe text format allows
(UAX #15); what follows them stays as it is.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._native import text as native
from ..arrays import Int64, StringTable
from .points import PointTable

LARGEST_BLOCK = 4 << 20  # characters; a block takes well under a second, so Ctrl-C and progress stay quick
SMALLEST_BLOCK = 64 << 10
LONGEST_RUN = 30  # combining marks
PIECE = 1 << 14  # characters normalised at a time: quick where nothing changes, which is most of a long text

# Before one of these any text can be cut: they never combine with what comes before them. Most texts have many.
_CUT = re.compile(r"[\x00-\x7f\u3001\u3002\u4e00-\u9fff]")


class Block(NamedTuple):
    """Rows [begin, end) and about how many characters, or bytes, they have."""

    begin: int
    end: int
    size: int


def blocks(texts: Sequence[str], threads: int, largest: int | None = None) -> list[Block]:
    """Cut into blocks of nearly equal size: enough of them to keep all threads busy to the end."""
    if not texts:
        return []
    if isinstance(texts, StringTable):  # its bytes: to count characters would read all texts, which may lie in files
        lengths = np.diff(texts.offsets)
    else:
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1)
    total = int(ends[-1])
    if total <= SMALLEST_BLOCK:
        return [Block(0, len(texts), total)]
    size = max(SMALLEST_BLOCK, min(largest or LARGEST_BLOCK, total // (4 * threads) + 1))
    cuts = np.searchsorted(ends, np.arange(size, total, size), side="left") + 1
    edges = np.unique(np.concatenate([[0], cuts, [len(texts)]]))
    sizes = np.diff(np.concatenate([[0], ends])[edges])
    return [Block(*map(int, row)) for row in zip(edges[:-1], edges[1:], sizes, strict=True)]


def encode(texts: Sequence[str]) -> tuple[bytes, Int64]:
    """UTF-8 of all texts end to end, and where each one begins."""
    blob, offsets = _join(texts)
    run = native.unstable_run(blob, LONGEST_RUN + 1)
    if run:
        changed = [text if text.isascii() else _normal(text, run) for text in texts]
        if any(map(operator.is_not, changed, texts)):
            blob, offsets = _join(changed)
    return blob, offsets


def _join(texts: Sequence[str]) -> tuple[bytes, Int64]:
    try:
        encoded = list(map(str.encode, texts))
    except UnicodeEncodeError:
        encoded = [encode_one(text) for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return b"".join(encoded), offsets


def encode_one(text: str) -> bytes:
    """UTF-8; a lone surrogate passes in its three-byte form (no word contains it)."""
    return text.encode("utf-8", "surrogatepass")


def normal_bytes(text: str) -> tuple[str, bytes]:
    """`normal_form(text)`, and its UTF-8."""
    blob = encode_one(text)
    run = 0 if len(blob) == len(text) else native.unstable_run(blob, LONGEST_RUN + 1)  # as many bytes: ASCII
    normal = _normal(text, run) if run else text
    return normal, blob if normal is text else encode_one(normal)


def normal_form(text: str) -> str:
    """Normal form C: é is one code point however it was typed. The text itself, if it is in it already."""
    return normal_bytes(text)[0]


def _normal(text: str, run: int) -> str:
    """Normal form of a text in which no more than `run` code points follow each other that it may change."""
    form = _nfc if run <= LONGEST_RUN else _nfc_of_short_runs
    normal = form(text) if len(text) <= PIECE else "".join(form(text[a:b]) for a, b in pieces(text))
    return text if normal == text else normal


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """(begin, end) of pieces that can be normalised one by one, so that other threads run and Ctrl-C works between."""
    begin = 0
    while begin < len(text):
        cut = _CUT.search(text, begin + PIECE)
        end = cut.start() if cut else len(text)
        yield begin, end
        begin = end


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _nfc_of_short_runs(text: str) -> str:
    """As above, but of a run of more than 30 marks only the first 30 count."""
    marks = _IS_MARK(text)
    edges = np.flatnonzero(marks[1:] != marks[:-1]) + 1
    begins, ends = np.append(0, edges), np.append(edges, len(text))
    long = (ends - begins > LONGEST_RUN) & (marks[begins] == 1)
    out, done = [], 0
    for begin, end in zip((begins[long] + LONGEST_RUN).tolist(), ends[long].tolist(), strict=True):
        out += [_nfc(text[done:begin]), text[begin:end]]
        done = end
    return "".join([*out, _nfc(text[done:])])


def _is_mark(char: str) -> int:
    """1 for what is put in order with its neighbours; a few vowel signs come apart into such."""
    return int(unicodedata.combining(unicodedata.normalize("NFD", char)[0]) > 0)


_IS_MARK = PointTable(_is_mark)
