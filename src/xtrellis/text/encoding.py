"""Texts for the kernels: in normal form C, cut into blocks of rows and encoded."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._native import text as native
from ..arrays import Int64

LARGEST_BLOCK = 4 << 20  # characters; a block takes well under a second, so Ctrl-C and progress stay quick
SMALLEST_BLOCK = 64 << 10


class Block(NamedTuple):
    """Rows [begin, end) and about how many characters they have."""

    begin: int
    end: int
    size: int


def blocks(texts: Sequence[str], threads: int) -> list[Block]:
    """Cut into blocks of nearly equal size: enough of them to keep all threads busy to the end."""
    if not texts:
        return []
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    total = int(ends[-1])
    size = max(SMALLEST_BLOCK, min(LARGEST_BLOCK, total // (4 * threads) + 1))
    cuts = np.searchsorted(ends, np.arange(size, total, size), side="left") + 1
    edges = np.unique(np.concatenate([[0], cuts, [len(texts)]]))
    sizes = np.diff(np.concatenate([[0], ends])[edges])
    return [Block(*map(int, row)) for row in zip(edges[:-1], edges[1:], sizes, strict=True)]


def encode(texts: Sequence[str]) -> tuple[bytes, Int64]:
    """UTF-8 of all texts end to end, and where each one begins."""
    blob, offsets = _join(texts)
    if not native.surely_normal(blob):
        changed = [text if text.isascii() else normal_form(text) for text in texts]
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


def normal_form(text: str) -> str:
    """Normal form C: é is one code point however it was typed."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def encode_one(text: str) -> bytes:
    """UTF-8; a lone surrogate passes in its three-byte form (no word contains it)."""
    return text.encode("utf-8", "surrogatepass")
