"""Damage, drawn from a random.Random: to bytes and lines, to JSON values, to NumPy arrays."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

NUMBERS = [
    b"0", b"-0", b"-1", b"1", b"1e38", b"3.5e38", b"-3.5e38", b"1e-46", b"1e400", b"-1e400", b"nan", b"inf", b"-inf",
    b"0x10", b"1.", b".5", b"+1", b"1e", b"--1", b"007", b"1_000", b"1,5", b"2147483647", b"2147483648",
    b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"1" + b"0" * 30,
    b"9" * 400, b"1" * 5000, "٣".encode(), "２".encode(), "½".encode(), b"true", b"",
]  # fmt: skip
ODDITIES = [
    b"\0", b"\0\0\0\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xfe\xff", b"\r",
    b"\r\n", b"\n\n\n", b"\x1a", b"\x0b", b"\x0c", b"\x85", b"\xc2\x85", "\u2028".encode(), "\u0301".encode() * 200,
    "\u202e\u200b\ufeff".encode(), "\U0001f469\u200d\U0001f4bb".encode(), "ﷺ".encode(), "ßİıſKÅ".encode(), b'"',
    b'""', b"'", b"\\", b"\\u0000", b"\\ud800", b";", b"|", b",", b":", b"\t", b"#", b"{", b"}", b"[" * 2000,
    b'{"a":' * 500, b" " * 5000, b"a" * 70_000, b"null", b"NaN", b"Infinity", b"__proto__", b"../../etc/passwd",
    b"%s%n", b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd",
]  # fmt: skip
JSON_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    -(2**63), 10**30, 0.0, -0.0, 0.5, 1.5, -1e-320, 1e38, 1e308, float("nan"), float("inf"), "", "a", "model", "\0",
    "\ud800", "é\u0301", "🙂" * 50, "x" * 3000, "1", "inf", "-inf", "nan", "None", "true", "../x", "/dev/zero", [],
    {}, [[]], [None], [0], [1, 2, 3], [-1], [2**62, 2**62], ["a"], {"a": 1}, {"class": "LinearTree", "params": {}},
    {"class": "BalancedTree", "params": {"arity": 2}}, {"class": "os.system", "params": {"path": "/"}},
    {"dtype": "float32", "shape": [0]}, [[1, [2, [3]]]] * 30,
]  # fmt: skip


def mutate_bytes(rng: random.Random, content: bytes, other: bytes = b"") -> bytes:
    """One to four wounds; `other` is what a splice takes from."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        content = rng.choice(_WOUNDS)(rng, content, other)
    return content


def _span(rng: random.Random, content: bytes) -> tuple[int, int]:
    """A piece, mostly short."""
    begin = rng.randrange(len(content) + 1)
    length = rng.choice((1, 1, 2, 4, 8, rng.randrange(64), rng.randrange(len(content) + 1)))
    return begin, min(len(content), begin + length)


def _flip(rng: random.Random, content: bytes, other: bytes) -> bytes:
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8)) if out else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _set(rng: random.Random, content: bytes, other: bytes) -> bytes:
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8)) if out else 0):
        out[rng.randrange(len(out))] = rng.choice((0, 255, 127, 128, 10, 32, 34, 44, 58, rng.randrange(256)))
    return bytes(out)


def _delete(rng: random.Random, content: bytes, other: bytes) -> bytes:
    begin, end = _span(rng, content)
    return content[:begin] + content[end:]


def _duplicate(rng: random.Random, content: bytes, other: bytes) -> bytes:
    begin, end = _span(rng, content)
    return content[:end] + content[begin:end] * rng.choice((1, 1, 2, 50)) + content[end:]


def _insert(rng: random.Random, content: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    piece = rng.choice((rng.choice(ODDITIES), rng.choice(NUMBERS), rng.randbytes(rng.randrange(1, 20))))
    return content[:at] + piece + content[at:]


def _truncate(rng: random.Random, content: bytes, other: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _splice(rng: random.Random, content: bytes, other: bytes) -> bytes:
    (begin, end), (first, last) = _span(rng, content), _span(rng, other)
    return content[:begin] + other[first:last] + content[end if rng.random() < 0.5 else begin :]


def _lines(rng: random.Random, content: bytes, other: bytes) -> bytes:
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(6)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines.insert(j, lines[i])
    elif how == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif how == 3:
        lines[i] = b""
    elif how == 4:
        lines[i] = rng.choice(other.split(b"\n"))
    else:
        lines.insert(j, rng.choice(ODDITIES))
    return (b"\r\n" if rng.random() < 0.1 else b"\n").join(lines)


def _number(rng: random.Random, content: bytes, other: bytes) -> bytes:
    found = list(re.finditer(rb"[-+]?\d[\d.]*(?:e[-+]?\d+)?", content[:20_000]))
    if not found:
        return _insert(rng, content, other)
    place = rng.choice(found if rng.random() < 0.7 else found[:4])  # counts stand at the beginning
    return content[: place.start()] + rng.choice(NUMBERS) + content[place.end() :]


_WOUNDS = [
    _flip,
    _set,
    _delete,
    _duplicate,
    _insert,
    _insert,
    _truncate,
    _splice,
    _lines,
    _lines,
    _number,
    _number,
    _number,
]


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def mutate_json(rng: random.Random, value: Any, other: Any = None) -> Any:
    """The same value (changed in place) with one to three places changed; `other` lends whole branches."""
    root = [value]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = rng.choice(places(root))
        there = holder[key]
        how = rng.randrange(9)
        if how == 0 and (isinstance(holder, dict) or len(holder) > 1):
            del holder[key]
        elif how == 1 and isinstance(holder, dict):
            holder[rng.choice((f"{key}x", "", "\ud800", "class", "a" * 300, key.upper(), str(rng.randrange(9))))] = (
                there
            )
        elif how == 2:
            from_holder, from_key = rng.choice(places([other if other is not None else value]))
            holder[key] = _copy(from_holder[from_key])
        elif how == 3 and isinstance(there, list):
            holder[key] = there * rng.choice((0, 2, 3))
        elif how == 4:
            holder[key] = rng.choice(([there], {"a": there}, str(there), [there, there]))
        elif how == 5 and isinstance(there, (int, float)) and not isinstance(there, bool):
            holder[key] = rng.choice((there + 1, there - 1, -there, there * 2, there * 1000, there / 2, float(there)))
        else:
            holder[key] = _copy(rng.choice(JSON_VALUES))
    return root[0]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a tree of dicts and lists."""
    found, todo = [], [value]
    while todo:
        holder = todo.pop()
        for key in range(len(holder)) if isinstance(holder, list) else list(holder):
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                todo.append(holder[key])
    return found


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


# ── arrays ──────────────────────────────────────────────────────────────────────────────────────────────────────────

DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
_INTEGERS = (0, 1, -1, 2, 127, -128, 255, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e38, -1e38, 3.4e38, 1e-45, 1e300)


def mutate_array(rng: random.Random, array: Any) -> Any:
    """A copy with other values, another shape or another dtype."""
    how = rng.randrange(10)
    with np.errstate(all="ignore"):
        if how < 6:
            return _values(rng, array)
        if how == 6:
            return array.astype(rng.choice(DTYPES))
        if how == 7:
            return _shape(rng, array)
        if how == 8:
            return np.zeros([rng.choice((0, 1, 2, 3, 100)) for _ in range(rng.randrange(4))], rng.choice(DTYPES))
        return array.reshape(-1)[::-1].reshape(array.shape).copy()


def _values(rng: random.Random, array: Any) -> Any:
    out = np.array(array)
    flat = out.reshape(-1)
    if not flat.size:
        return out
    for _ in range(rng.choice((1, 1, 2, 5, flat.size))):
        at = rng.choice((0, flat.size - 1, rng.randrange(flat.size)))
        if out.dtype.kind == "f":
            value: Any = rng.choice((*_FLOATS, rng.gauss(0, 100)))
        else:
            near = int(flat[at]) + rng.choice((-1, 1, 2))
            wanted = rng.choice((*_INTEGERS, near, near, len(flat), rng.getrandbits(16)))
            bits = 8 * out.dtype.itemsize
            value = np.array([wanted % 2**bits], f"uint{bits}").view(out.dtype)[0]
        flat[at] = value
    if rng.random() < 0.1:
        np.random.default_rng(rng.getrandbits(32)).shuffle(flat)
    return out


def _shape(rng: random.Random, array: Any) -> Any:
    how = rng.randrange(5)
    if how == 0 or not array.ndim:
        return np.array(array).reshape(-1)
    if how == 1:
        return np.array(array)[: rng.randrange(len(array) + 1)]
    if how == 2:
        return np.concatenate([array, array[: rng.randrange(1, len(array) + 2)]])
    if how == 3:
        return np.array(array)[None]
    return np.ascontiguousarray(np.array(array).T)
