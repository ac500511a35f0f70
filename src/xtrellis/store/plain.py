"""Strict JSON: what Python's parser lets pass (NaN, repeated names, any depth) is refused, both ways."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ..core import StoreError

MAX_BYTES = 16 << 20  # of model.json and of one tensor header: far above need, far below what hurts
MAX_DEPTH = 64
MAX_HOLDERS = 1 << 18  # objects and lists: an empty one is 2 bytes of text and 64 of memory


def parse(raw: bytes | memoryview, where: str) -> Any:
    """JSON text as Python values, or a StoreError that names `where`."""
    try:
        text = str(raw, "utf-8")
        if text.count("{") + text.count("[") > MAX_HOLDERS:
            raise ValueError(f"more than {MAX_HOLDERS} objects and lists")
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
        if isinstance(value, (dict, list)):
            _check_depth(value)
    except RecursionError:
        raise StoreError(f"{where}: its JSON is nested too deeply") from None
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise StoreError(f"{where}: not valid JSON ({error})") from None
    return value


def dump(value: Any, *, indent: int | None = None) -> bytes:
    """Plain values as UTF-8 JSON. Lone surrogates stay escaped, so the text is always valid UTF-8."""
    return json.dumps(
        value, allow_nan=False, indent=indent, separators=None if indent else (",", ":"), ensure_ascii=True
    ).encode("ascii")


def plain(value: Any, name: str) -> Any:
    """`value` as JSON can carry it (NumPy scalars and tuples become plain), or an error that says what cannot be."""
    return _plain(value, name, 0)


def _plain(value: Any, name: str, depth: int) -> Any:
    if depth > MAX_DEPTH // 2:
        raise StoreError(f"{name} is nested too deeply to be saved")
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise StoreError(f"{name} is {value}, which JSON cannot hold; save it as text or in an array")
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{name}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise StoreError(f"{name} has the key {key!r}; JSON keys are strings")
        return {key: _plain(item, f"{name}.{key}", depth + 1) for key, item in value.items()}
    raise StoreError(f"{name} is a {type(value).__name__}, which JSON cannot hold; save it as an array or a part")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the name {name!r:.80} is given twice")
            seen.add(name)
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _check_depth(value: Any) -> None:
    level = [value]  # what json.loads makes: exactly dict and list hold others
    for _ in range(MAX_DEPTH):
        inside = [v for item in level for v in (item.values() if type(item) is dict else item)]
        level = [v for v in inside if type(v) is dict or type(v) is list]
        if not level:
            return
    raise ValueError(f"nested more than {MAX_DEPTH} deep")
