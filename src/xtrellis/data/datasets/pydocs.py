"""The embedded data set: paragraphs of docstrings, labelled with what they document.

A row is a paragraph. Its labels are the object it documents, the object's class, its module and package, and the
objects of its "See Also" section. The test set is one paragraph in eight or so, chosen by the text itself, never an
object's first: so every test label has been seen in training, and no text is in both parts.

Nothing is shipped: the text is what this Python, NumPy and SciPy carry, collected on first use in a process of its
own and kept in a cache folder. Same versions, same data.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.sparse import csr_array

from ...arrays import Csr
from ...core import DataError, progress
from ..dataset import Dataset
from . import cache, paragraphs

FORMAT = 1  # of the cached file and of the rules below; a change of either makes a new file
TEST_SHARE = 1 / 6  # of what may be held out: about 12% of all
MAX_OBJECTS = 8  # a paragraph of more objects is boilerplate; one of fewer carries the labels of them all
TIMEOUT = 300.0  # seconds; collecting takes about two


class Split(NamedTuple):
    """A data set in two parts with the same labels."""

    train: Dataset
    test: Dataset


def load() -> Split:
    """The data set, from the cache or made anew (about 4 s)."""
    python = ".".join(map(str, sys.version_info[:3]))
    versions = f"{python}-numpy{np.__version__}-scipy{scipy.__version__}-{sys.platform}"
    table = cache.remembered(f"pydocs{FORMAT}-{versions}.json", _build, _sound)
    return Split(_dataset(table, "train"), _dataset(table, "test"))


def _build() -> dict[str, Any]:
    with progress.step("collecting docstrings", unit="objects") as advance:
        objects = _collect()
        advance(len(objects))
    return assemble(objects)


def _collect() -> list[dict[str, Any]]:
    script = Path(__file__).with_name("collect.py")
    try:
        # In an empty folder, so that nothing lying about can pose as a module.
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-B", str(script)],
                cwd=folder,
                env={**os.environ, "PYTHONHASHSEED": "0"},  # some docstrings show a set
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise DataError(f"docstrings could not be collected: {error}") from None
    if not lines or lines.pop() != {"end": True}:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise DataError(f"docstrings could not be collected: {reason[0]}")
    return lines


def assemble(objects: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Rows from collected objects: `labels` (names), and `train` and `test` with `texts` and `rows` of label ids."""
    known: dict[str, str] = {}  # every public name of an object -> the name it goes by
    listed = list(objects)
    for entry in listed:
        known[entry["name"]] = entry["name"]
    for entry in listed:
        for alias in entry["aliases"]:
            known.setdefault(alias, entry["name"])

    texts: dict[str, list[int]] = {}  # paragraph -> the objects that have it
    prose = [paragraphs.read(entry["doc"]) for entry in listed]
    for i, found in enumerate(prose):
        for text in found.paragraphs:
            owners = texts.setdefault(text, [])
            if not owners or owners[-1] != i:
                owners.append(i)
    texts = {text: owners for text, owners in texts.items() if len(owners) <= MAX_OBJECTS}

    firsts = set()  # of each object, the first paragraph that is left
    for found in prose:
        firsts.update([text for text in found.paragraphs if text in texts][:1])
    labels = [_labels(entry, found.see_also, known) for entry, found in zip(listed, prose, strict=True)]
    names = sorted({name for owners in texts.values() for i in owners for name in labels[i]})
    ids = {name: i for i, name in enumerate(names)}
    out: dict[str, Any] = {"format": FORMAT, "labels": names}
    for part in ("train", "test"):
        chosen = [text for text in texts if (text not in firsts and _held_out(text)) == (part == "test")]
        rows = [sorted({ids[name] for i in texts[text] for name in labels[i]}) for text in chosen]
        out[part] = {"texts": chosen, "rows": rows}
    return out


def _labels(entry: dict[str, Any], see_also: list[str], known: dict[str, str]) -> list[str]:
    name, module = entry["name"], entry["module"]
    found = [name, entry["class"], module, module.partition(".")[0]]
    found += [_resolve(target, name, known) for target in see_also]
    return [label for label in dict.fromkeys(found) if label]


def _resolve(target: str, source: str, known: dict[str, str]) -> str | None:
    """A name as written in a docstring: looked up beside the object, then in each enclosing module, then as it is."""
    target = re.sub("^np[.]", "numpy.", target)
    scope = source
    while "." in scope:
        scope = scope.rpartition(".")[0]
        if f"{scope}.{target}" in known:
            return known[f"{scope}.{target}"]
    return known.get(target) or known.get(f"numpy.{target}") or known.get(f"builtins.{target}")


def _held_out(text: str) -> bool:
    key = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return key < TEST_SHARE * 2**64


def _sound(table: Any) -> bool:
    """True if a cached file is what `assemble` makes; anything else is made anew."""
    try:
        n_labels = len(table["labels"])
        strings = [*table["labels"], *table["train"]["texts"], *table["test"]["texts"]]
        counts = [len(table[part]["texts"]) == len(table[part]["rows"]) > 0 for part in ("train", "test")]
        ids = [i for part in ("train", "test") for row in table[part]["rows"] for i in row]
        return (
            table["format"] == FORMAT
            and all(counts)
            and all(isinstance(s, str) for s in strings)
            and all(type(i) is int and 0 <= i < n_labels for i in ids)
        )
    except (KeyError, TypeError):
        return False


def _dataset(table: dict[str, Any], part: str) -> Dataset:
    names, texts, rows = table["labels"], table[part]["texts"], table[part]["rows"]
    return Dataset(None, _matrix(rows, len(names)), texts=texts, label_names=names, name=f"pydocs-{part}")


def _matrix(rows: list[list[int]], n_labels: int) -> Csr:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.array([label for row in rows for label in row], np.int32)
    return csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), n_labels))
