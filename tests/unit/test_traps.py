"""Files that are small on disk and endless in memory, and paths that the system does not take."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard

import xtrellis as xt
from xtrellis.data.formats.files import head

PACK = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.ZstdCompressor().compress}
FREE = 1 << 20


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may unfold freely: a megabyte instead of 512."""
    monkeypatch.setattr("xtrellis.arrays.limits.UNFOLDED_FREELY", FREE)


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.svm", "labels.txt"])
def test_what_unfolds_without_end(name: str, suffix: str, tmp_path: Path) -> None:
    options = {"index_base": 0} if name == "a.svm" else {}
    (tmp_path / "a.txt").write_text("1 1 1\n\n")
    path = tmp_path / (name + suffix)
    start = {"a.txt": b"9 9 9\n", "a.jsonl": b"", "a.csv": b"text,labels\n", "a.svm": b"", "labels.txt": b""}[name]
    path.write_bytes(PACK[suffix](start + b" " * 5_000_000))
    assert path.stat().st_size < 30_000
    with pytest.raises(xt.DataError, match=r"unfolds to more than .* MB, over 100 times its size.*decompress it first"):
        xt.read(tmp_path / "a.txt" if name == "labels.txt" else path, **options)
    assert head(path, 3) == (start + b"   ")[:3]  # its beginning may be looked at


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("suffix", PACK)
def test_what_unfolds_as_data_do(suffix: str, tmp_path: Path) -> None:
    words = np.random.default_rng(0).integers(0, 10**6, 150_000)
    rows = b"".join(b"%d %d:1\n" % (word % 7, word) for word in words)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACK[suffix](b"150000 1000000 7\n" + rows))
    assert len(rows) > FREE
    assert xt.read(path).n_rows == 150_000
    path.write_bytes(PACK[suffix](b"100000 2 2\n" + b"1 1:1\n" * 100_000))  # all alike, but not large
    assert xt.read(path).n_rows == 100_000


@pytest.mark.usefixtures("small_limit")
def test_arrays_that_unfold_without_end(tmp_path: Path) -> None:
    rows = 3_000_000
    empty = sp.csr_array((rows, 3))
    sp.save_npz(tmp_path / "Y.npz", empty)
    sp.save_npz(tmp_path / "X.npz", empty)
    with pytest.raises(xt.DataError, match=r"X\.npz: unfolds to 12 MB, over 100 times its size.*compressed=False"):
        xt.read(tmp_path)
    for name in ("X.npz", "Y.npz"):
        sp.save_npz(tmp_path / name, empty, compressed=False)
    assert xt.read(tmp_path).n_rows == rows


@pytest.mark.usefixtures("small_limit")
def test_many_rows_in_few_bytes_of_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    same = pyarrow.array(["a"] * 1_000_000)
    parquet.write_table(pyarrow.table({"text": same, "label": same}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    with pytest.raises(xt.DataError, match="announces 1000000 rows in"):
        xt.read(tmp_path / "a.parquet")


def test_a_piece_of_zstd_unfolds_in_bounds(tmp_path: Path) -> None:
    """A kilobyte of zstd may hold 30 MB; the file is read in pieces that bound what one of them holds."""
    path = tmp_path / "a.txt.zst"
    path.write_bytes(PACK[".zst"](b"1 1 1\n" + b"\n" * 100_000_000))
    assert path.stat().st_size < 20_000
    with pytest.raises(xt.DataError, match="expected the end of the file after 1 rows"):
        xt.read(path)


LONG = ["a" * 5000, "b/" * 2500, "c" * 5000 + "/X.npz"]


@pytest.mark.parametrize("name", LONG, ids=lambda name: name[:3])
def test_paths_that_are_too_long(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    data = xt.Dataset(np.eye(2), np.eye(2), label_names=["a", "b"])
    for door in (
        lambda: xt.import_pecos(path),
        lambda: xt.read(path, format="npz"),
        lambda: xt.write(data, path, format="npz"),
        lambda: xt.write(data, path, format="xmc"),
        lambda: xt.load(path),
        lambda: xt.Tagger.of_model(xt.LinearTree().fit(np.eye(2), np.eye(2))).save(path),
    ):
        with pytest.raises((xt.DataError, xt.StoreError), match="File name too long"):
            door()


def test_paths_that_are_none(tmp_path: Path) -> None:
    data = xt.Dataset(np.eye(2), np.eye(2))
    for name in ("a\0b.txt", "\ud800.txt"):
        with pytest.raises(xt.DataError, match="cannot be opened"):
            xt.write(data, tmp_path / name)
    with pytest.raises(xt.StoreError, match=r"path must be a path, such as .*; got 5"):
        xt.import_pecos(5)  # type: ignore[arg-type]
    with pytest.raises(xt.DataError, match="is a device, not a file"):
        xt.read("/dev/zero", format="csv")
    assert list(tmp_path.iterdir()) == []
