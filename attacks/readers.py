"""Data files with bytes, lines, numbers and structure damaged, read with all kinds of options.

Starts from small files that `xt.write` makes in every format and compression. What is read must be whole: matrices that
keep within their shape, finite numbers, texts that a Vectorizer can read.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.sparse as sp
import zstandard

import xtrellis as xt

from .common import Attack, Case, Wrong
from .data import dataset
from .mutate import JSON_VALUES, mutate_array, mutate_bytes, mutate_json

COMPRESSED = ("", ".gz", ".xz", ".zst")
TEXT_FORMATS = ("jsonl", "csv", "tsv", "parquet")


class Base(NamedTuple):
    """A valid data set: its files, and which of them (or which prefix) is read."""

    format: str
    compression: str
    target: str
    files: dict[str, bytes]


class Readers(Attack):
    name = "readers"

    def prepare(self) -> None:
        self.bases = make_bases(self.folder / "bases")
        self.place = self.folder / "case"

    def case(self, rng: random.Random, number: int) -> Case:
        base, other = rng.choice(self.bases), rng.choice(self.bases)
        files = dict(base.files)
        for _ in range(rng.choice((1, 1, 1, 2))):
            name = rng.choice(sorted(files))
            files[name] = damage(rng, base, files[name], rng.choice(sorted(other.files.values())))
        if rng.random() < 0.05:
            names = sorted(files)
            one, two = rng.choice(names), rng.choice(names)
            files[one], files[two] = files[two], files[one]
        if rng.random() < 0.05 and len(files) > 1:
            del files[rng.choice(sorted(files))]
        options = some_options(rng, base.format)
        target = base.target
        if rng.random() < 0.1 and target in files:  # the name says nothing: the content must
            files["data"] = files.pop(target)
            target = "data"
        deep = rng.random() < 0.3
        return Case(
            base.format,
            f"read({target!r}, {options}) of {base.format}{base.compression}",
            lambda: self.run(files, target, options, deep),
        )

    def run(self, files: dict[str, bytes], target: str, options: dict[str, Any], deep: bool) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        for name, content in files.items():
            (self.place / name).write_bytes(content)
        found = xt.read(self.place / target, **options)
        check(found)
        if deep and found.texts is not None and found.texts:
            xt.Vectorizer(char_ngrams="3").fit_transform(found.texts)
        elif deep:
            xt.write(found, self.place / "again" / ("X.npz" if found.X is not None else "again.jsonl"))


def check(found: xt.Dataset) -> None:
    for name, matrix in (("X", found.X), ("Y", found.Y), ("excluded", found.excluded)):
        if matrix is None:
            continue
        nnz = int(matrix.indptr[-1])
        if (
            matrix.indptr[0] != 0
            or (np.diff(matrix.indptr) < 0).any()
            or nnz > min(len(matrix.indices), len(matrix.data))
        ):
            raise Wrong(f"offsets of {name} do not rise")
        if nnz and not 0 <= matrix.indices.min() <= matrix.indices.max() < matrix.shape[1]:
            raise Wrong(f"an index of {name} is outside its shape")
        if not np.isfinite(matrix.data).all():
            raise Wrong(f"{name} is not finite")
    if found.texts is not None and (
        len(found.texts) != found.n_rows or not all(isinstance(t, str) for t in found.texts)
    ):
        raise Wrong("texts are not one string a row")
    for names, count in ((found.label_names, found.n_labels), (found.feature_names, found.n_features)):
        if names is not None and (len(names) != count or not all(isinstance(n, str) for n in names)):
            raise Wrong("names are not one string each")


# ── what to start from ──────────────────────────────────────────────────────────────────────────────────────────────


def make_bases(folder: Path) -> list[Base]:
    rng = np.random.default_rng(0)
    X = sp.csr_array(np.round(rng.random((8, 6)) * (rng.random((8, 6)) < 0.5), 3))
    Y = (rng.random((8, 5)) < 0.3).astype(float)
    names, features = ["a", "bé", "c d", "日本", "e"], [f"f{i}" for i in range(6)]
    excluded = sp.csr_array(([1.0, 1.0], ([0, 3], [1, 2])), shape=(8, 5))
    numeric = [
        dataset(X, Y, label_names=names, feature_names=features),
        xt.Dataset(X, Y, excluded=excluded),
        xt.Dataset(X[:1], Y[:1]),
    ]
    texts = [
        "boil pasta",
        'say "hi", then; go',
        "",
        "ünïcode 日本 🙂\u0301",
        "line\nbreak\ttab",
        "x" * 300,
        " a ",
        "b|c",
    ]
    spoken = [
        dataset(None, Y, texts=texts, label_names=names),
        dataset(None, Y[:2], texts=texts[:2], label_names=names),
    ]
    found: list[Base] = []
    for format in ("xmc", "svmlight", *TEXT_FORMATS):
        for compression in COMPRESSED:
            for i, data in enumerate(spoken if format in TEXT_FORMATS else numeric):
                place = folder / f"{format}{compression}{i}"
                target = f"data.{'txt' if format == 'xmc' else format}{compression}"
                base = 1 if format == "svmlight" else None
                xt.write(data, place / target, format=format, index_base=base)
                found.append(Base(format, compression, target, contents(place)))
    for i, data in enumerate(numeric):
        place = folder / f"split{i}"
        xt.write(data, place, format="xmc-split", part="train")
        found.append(Base("xmc-split", "", "", contents(place)))
        packed = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in contents(place).items()}
        found.append(Base("xmc-split", ".gz", "trn", packed))
        place = folder / f"npz{i}"
        xt.write(data, place, format="npz")
        found += [Base("npz", "", target, contents(place)) for target in ("X.npz", "")]
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def some_options(rng: random.Random, format: str) -> dict[str, Any]:
    """Mostly none; options that are valid, though perhaps not for this file."""
    options: dict[str, Any] = {"threads": rng.choice((1, 2))} if rng.random() < 0.5 else {}
    if rng.random() < 0.3:
        options["format"] = format
    if rng.random() < 0.1:
        options["labels"] = rng.choice((["a", "e", "zzz"], ["0", "1"], [], ["a", "a"]))
    if format == "svmlight":
        if rng.random() < 0.9:  # without it nothing is read
            options["index_base"] = rng.choice((0, 1))
        if rng.random() < 0.1:
            options[rng.choice(("n_features", "n_labels"))] = rng.choice((0, 3, 5, 6, 2**31 - 1))
    if format in TEXT_FORMATS and rng.random() < 0.1:
        options[rng.choice(("text_column", "label_column"))] = rng.choice(("text", "labels", "", "x"))
    if format in ("csv", "tsv", "parquet") and rng.random() < 0.2:
        options["label_separator"] = rng.choice((";", "|", ",", "; ", "\t", '"', "\n", "ab"))
    if rng.random() < 0.1:
        options["unlabelled"] = True
    return options


# ── damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def damage(rng: random.Random, base: Base, content: bytes, other: bytes) -> bytes:
    """To the file as it lies on the disk, or to what is inside and then packed again."""
    if base.compression and rng.random() < 0.85:
        try:
            plain = unpack(base.compression, content)
        except Exception:  # names beside the data are not packed, and some files are damaged already
            plain = content
        return pack(base.compression, inside(rng, base.format, plain, other), rng)
    return inside(rng, base.format, content, other)


def inside(rng: random.Random, format: str, content: bytes, other: bytes) -> bytes:
    if format == "jsonl" and rng.random() < 0.5:
        return odd_json_lines(rng, content)
    if format == "parquet" and rng.random() < 0.5:
        return odd_table(rng)
    if format == "npz" and content[:2] == b"PK" and rng.random() < 0.7:
        return odd_npz(rng, content)
    content = mutate_bytes(rng, content, other)
    if format not in ("npz", "parquet") and rng.random() < 0.7:  # else most damage would end as "this is not UTF-8"
        content = content.decode("utf-8", "replace").encode()
    return content


def unpack(compression: str, content: bytes) -> bytes:
    if compression == ".gz":
        return gzip.decompress(content)
    return (
        lzma.decompress(content)
        if compression == ".xz"
        else zstandard.ZstdDecompressor().decompressobj().decompress(content)
    )


def pack(compression: str, content: bytes, rng: random.Random) -> bytes:
    def one(part: bytes) -> bytes:
        if compression == ".gz":
            return gzip.compress(part, mtime=0)
        return lzma.compress(part) if compression == ".xz" else zstandard.ZstdCompressor().compress(part)

    at = rng.randrange(len(content) + 1) if rng.random() < 0.2 else 0  # several streams in one file
    return one(content[:at]) + one(content[at:]) if at else one(content)


def odd_json_lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    for _ in range(rng.choice((1, 2))):
        i = rng.randrange(len(lines))
        try:
            value = json.loads(lines[i])
        except ValueError:
            value = rng.choice(JSON_VALUES)
        lines[i] = json.dumps(mutate_json(rng, value), ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def odd_npz(rng: random.Random, content: bytes) -> bytes:
    """The archive with an array changed, left out, named otherwise, or its bytes damaged under a right checksum."""
    try:
        return _odd_npz(rng, content)
    except Exception:  # damaged already
        return mutate_bytes(rng, content)


def _odd_npz(rng: random.Random, content: bytes) -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", rng.choice((0, zipfile.ZIP_DEFLATED))) as new,
    ):
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            raw = old.read(name)
            if name == chosen:
                how = rng.randrange(5)
                if how == 0:
                    continue
                if how == 1:
                    raw = mutate_bytes(rng, raw, raw)
                elif how == 2:
                    name = rng.choice((*names, "../x.npy", "", "indices.npy"))
                else:
                    raw = odd_npy(rng, raw)
            new.writestr(name, raw)
    return out.getvalue()


def odd_npy(rng: random.Random, raw: bytes) -> bytes:
    array = np.load(io.BytesIO(raw))
    if array.dtype.kind in "SU":  # the name of the matrix's kind
        array = np.array(rng.choice((b"csc", b"coo", b"bsr", b"dia", b"lil", b"", b"\xff", "csr", 7)))
    elif array.shape == (2,):
        pair = [
            rng.choice((0, 1, -1, 8, 2**31 - 1, 2**31, 2**62, 2**63 - 1)) for _ in range(rng.choice((2, 2, 2, 1, 3)))
        ]
        array = np.array(pair, rng.choice(("int64", "int64", "float64")))
    else:
        array = mutate_array(rng, array)
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def odd_table(rng: random.Random) -> bytes:
    """Tables that Parquet can hold and nobody expects."""
    columns = {
        rng.choice(("text", "labels", "label", "x", "", "TEXT")): odd_column(rng)
        for _ in range(rng.choice((1, 2, 2, 3)))
    }
    if rng.random() < 0.7:
        columns["text"] = rng.choice((pyarrow.array(["a b", "c", ""]), odd_column(rng)))
    if rng.random() < 0.7:
        columns["labels"] = rng.choice((pyarrow.array([["a"], [], ["b", "c"]]), odd_column(rng)))
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def odd_column(rng: random.Random) -> Any:
    texts = ["a;b", None, "x\0y"]
    return rng.choice(
        (
            lambda: pyarrow.array([1, 2, 3]),
            lambda: pyarrow.array([None, None, None]),
            lambda: pyarrow.array(texts),
            lambda: pyarrow.array(texts).dictionary_encode(),
            lambda: pyarrow.array([b"\xff\xfe", b"a", b""]),
            lambda: pyarrow.array([["a", None], None, [""]]),
            lambda: pyarrow.array([[["a"]], [], [[]]]),
            lambda: pyarrow.array([{"a": 1}, {"a": None}, None]),
            lambda: pyarrow.array([1.5, float("nan"), None]),
            lambda: pyarrow.array([[1], [2, 3], []]),
            lambda: pyarrow.array([10**12] * 3, pyarrow.timestamp("us")),
            lambda: pyarrow.array([2**62] * 3, pyarrow.timestamp("ms")),
            lambda: pyarrow.array([True, False, None]),
            lambda: pyarrow.array(["a" * 10_000, "b", "c"], pyarrow.large_string()),
            lambda: pyarrow.array([b"\xed\xa0\x80", b"\xff", b"a"]).view(pyarrow.string()),
            lambda: pyarrow.array([[("k", "v")], [], None], pyarrow.map_(pyarrow.string(), pyarrow.string())),
        )
    )()
