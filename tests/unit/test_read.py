"""Files as users have them: what is accepted, what is refused, and what the message says."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard

import xtrellis as xt
from xtrellis.core import progress

XMC = b"3 4 5\n0,2 0:1 3:0.5\n 1:2\n4,1,1 2:-1e-3 0:7\n"


def dense(matrix: object) -> list[list[float]]:
    return matrix.toarray().tolist()  # type: ignore[attr-defined]


def file(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def check_xmc(data: xt.Dataset) -> None:
    third = float(np.float32(-1e-3))
    assert dense(data.X) == [[1, 0, 0, 0.5], [0, 2, 0, 0], [7, 0, third, 0]]
    assert dense(data.Y) == [[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]]


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.txt", bytes),
        ("a.txt.gz", gzip.compress),
        ("a.txt.xz", lzma.compress),
        ("a.txt.zst", zstandard.ZstdCompressor().compress),
        ("no-suffix", gzip.compress),
        ("a.dat", lambda b: b.replace(b"\n", b"\r\n")),
        ("b.txt", lambda b: b[:-1]),
        ("c.txt", lambda b: b"\xef\xbb\xbf" + b),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_xmc_in_all_wrappings(tmp_path: Path, name: str, pack, threads: int) -> None:
    check_xmc(xt.read(file(tmp_path, name, pack(XMC)), threads=threads))


def test_zstd_frames_one_after_the_other(tmp_path: Path) -> None:
    pack = zstandard.ZstdCompressor().compress
    check_xmc(xt.read(file(tmp_path, "a.txt.zst", pack(XMC[:10]) + pack(XMC[10:]))))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", 1, "cannot tell the format"),
        (b"3 4\n", 1, "halves of a split XMC"),
        (b"1 2 99999999999\n 1:1\n", 1, "labels is 99999999999"),
        (b"1 2 " + b"9" * 500 + b"\n", 1, "at most 2147483647"),
        (b"2 4 5\n0 1:1\n", None, "expected 2 rows, as the header says; the file ends after 1"),
        (b"1 4 5\n0 1:1\n2 1:1\n", 3, "end of the file after 1 rows"),
        (b"1 4 5\n0 1:1\n\n", 3, "end of the file after 1 rows"),
        (b"1 4 5\n5 1:1\n", 2, "label 5 is out of range; by the header they run from 0 to 4"),
        (b"1 4 5\n-1 1:1\n", 2, "expected label numbers .* got '-1'"),
        (b"1 4 5\n1, 1:1\n", 2, "expected label numbers"),
        (b"1 4 5\n1,2;3 1:1\n", 2, "expected label numbers"),
        (b"1 4 5\n0 4:1\n", 2, "feature 4 is out of range; by the header they run from 0 to 3"),
        (b"1 4 5\n0 -1:1\n", 2, "got '-1:1'"),
        (b"1 4 5\n0 18446744073709551617:1\n", 2, "out of range"),
        (b"2 4 5\n0 1:1\n0 1:1 2:\n", 3, "value of feature 2; got '2:'"),
        (b"1 4 5\n0 1\n", 2, "expected feature:value"),
        (b"1 4 5\n0 1:nan\n", 2, "finite number as the value of feature 1; got '1:nan'"),
        (b"1 4 5\n0 1:inf\n", 2, "finite number"),
        (b"1 4 5\n0 1:1e39\n", 2, "does not fit float32"),
        (b"1 4 5\n0 1:1x\n", 2, "finite number"),
        (b"1 4 5\n0 1:0x10\n", 2, "finite number"),
        (b"1 4 5\n0 1:--1\n", 2, "finite number"),
        (b"1 4 5\n0 2:1 1:1 2:1\n", 2, "feature 2 occurs twice"),
        (b"1 4 5\n0 1:1\x00\n", 2, "finite number"),
        (b"1 4 5\n\xff\xfe\n", 2, "expected label numbers"),
        (b"1 0 5\n0 0:1\n", 2, "there are none"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_xmc_errors_name_file_line_and_expectation(
    tmp_path: Path, content: bytes, line: int | None, message: str, threads: int
) -> None:
    path = file(tmp_path, "bad.txt", content)
    with pytest.raises(xt.DataError, match=message) as caught:
        xt.read(path, threads=threads)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


def test_a_fault_far_down_gets_its_line_number_with_any_threads(tmp_path: Path) -> None:
    rows = [b"1 1:1"] * 200_000
    rows[150_000] = b"1 1:oops"
    rows[199_999] = b"1 1:later"
    path = file(tmp_path, "bad.txt", b"200000 4 5\n" + b"\n".join(rows) + b"\n")
    for threads in (1, 2, 3):
        with pytest.raises(xt.DataError, match="oops") as caught:
            xt.read(path, threads=threads)
        assert caught.value.line == 150_002


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_truncated_and_damaged_compression(tmp_path: Path, suffix: str) -> None:
    pack = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.ZstdCompressor().compress}[suffix]
    whole = pack(XMC)
    for content in (whole[:-6], whole[: len(whole) // 2], b"not compressed at all", XMC):
        with pytest.raises(xt.DataError, match=r"cannot be read|rows"):
            xt.read(file(tmp_path, f"a.txt{suffix}", content))


def test_names_lie_beside(tmp_path: Path) -> None:
    path = file(tmp_path, "train.txt", XMC)
    file(tmp_path, "labels.txt", "a\nb\nç d\ne\nf\n")
    file(tmp_path, "features.txt", "p\r\nq\r\nr\r\ns")
    data = xt.read(path)
    assert list(data.label_names) == ["a", "b", "ç d", "e", "f"]
    assert list(data.feature_names) == ["p", "q", "r", "s"]
    file(tmp_path, "labels.txt", "a\nb\n")
    with pytest.raises(xt.DataError, match="expected 5 names"):
        xt.read(path)
    file(tmp_path, "labels.txt", b"a\n\xff\nc\nd\ne\n")
    with pytest.raises(xt.DataError, match="UTF-8") as caught:
        xt.read(path)
    assert caught.value.line == 2


def test_labels_given_are_the_columns(tmp_path: Path) -> None:
    path = file(tmp_path, "train.txt", XMC)
    with pytest.raises(xt.DataError, match="5 labels and no names"):
        xt.read(path, labels=["a"])
    assert list(xt.read(path, labels=list("vwxyz")).label_names) == list("vwxyz")
    file(tmp_path, "labels.txt", "a\nb\nc\nd\ne\n")
    data = xt.read(path, labels=["e", "zz", "a"])
    assert dense(data.Y) == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert data.dropped_labels == 2
    with pytest.raises(xt.ParameterError, match="'a' occurs twice"):
        xt.read(path, labels=["a", "a"])
    with pytest.raises(xt.ParameterError, match="one string"):
        xt.read(path, labels="abc")


def split_files(folder: Path) -> None:
    file(folder, "trn_X_Xf.txt", "2 3\n0:1 2:0.5\n1:1\n")
    file(folder, "trn_X_Y.txt", "2 4\n0:1 3:1\n1:1.0\n")
    file(folder, "filter_labels_train.txt", "0 3\n1 2\n")


def test_split_files_by_folder_prefix_and_file(tmp_path: Path) -> None:
    split_files(tmp_path)
    for path in (tmp_path, tmp_path / "trn", tmp_path / "trn_X_Xf.txt", tmp_path / "trn_X_Y.txt"):
        data = xt.read(path)
        assert dense(data.X) == [[1, 0, 0.5], [0, 1, 0]]
        assert dense(data.Y) == [[1, 0, 0, 0], [0, 1, 0, 0]]
        assert dense(data.excluded) == [[0, 0, 0, 1], [0, 0, 1, 0]]
    file(tmp_path, "tst_X_Xf.txt", "1 3\n0:1\n")
    file(tmp_path, "tst_X_Y.txt", "1 4\n\n")
    with pytest.raises(xt.DataError, match="part='train'"):
        xt.read(tmp_path)
    assert xt.read(tmp_path, part="test").n_rows == 1
    assert xt.read(tmp_path, part="train").n_rows == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("trn_X_Y.txt", "1 4\n0:1\n", "has 1 rows; trn_X_Xf.txt beside it has 2"),
        ("trn_X_Y.txt", "2 4\n4:1\n1:1\n", "line 2: label 4 is out of range"),
        ("trn_X_Xf.txt", "2 3 4\n1:1\n1:1\n", "line 1: expected a first line of 2 counts: rows features"),
        ("filter_labels_train.txt", "0 1\n0 9\n", "line 2: row 0, label 9 is outside"),
        ("filter_labels_train.txt", "0 -1\n", "line 1: expected 'row label'"),
    ],
)
def test_split_errors(tmp_path: Path, name: str, content: str, message: str) -> None:
    split_files(tmp_path)
    file(tmp_path, name, content)
    with pytest.raises(xt.DataError, match=message):
        xt.read(tmp_path)


def test_split_without_its_other_half(tmp_path: Path) -> None:
    file(tmp_path, "trn_X_Xf.txt", "2 3\n0:1 2:0.5\n1:1\n")
    with pytest.raises(xt.DataError, match=r"trn_X_Y.txt: there is no such file"):
        xt.read(tmp_path)


def test_svmlight_needs_its_index_base(tmp_path: Path) -> None:
    path = file(tmp_path, "a.svm", "# a comment\n1,0 1:2 3:1 # more: text\n 2:1\n")
    with pytest.raises(xt.DataError, match="index_base=0 or index_base=1"):
        xt.read(path)
    one, zero = xt.read(path, index_base=1), xt.read(path, index_base=0)
    assert dense(one.X) == [[2, 0, 1], [0, 1, 0]]
    assert dense(one.Y) == [[1, 1], [0, 0]]
    assert dense(zero.X) == [[0, 2, 0, 1], [0, 0, 1, 0]]
    wide = xt.read(path, index_base=1, n_features=5, n_labels=7)
    assert (wide.n_features, wide.n_labels) == (5, 7)
    assert xt.read(path, index_base=1, labels=["a", "b", "c"]).n_labels == 3
    with pytest.raises(xt.DataError, match="line 2: feature 3 is out of range; by n_features and n_labels"):
        xt.read(path, index_base=1, n_features=2)
    with pytest.raises(xt.DataError, match="line 1: feature 0 is out of range"):
        xt.read(file(tmp_path, "b.svm", "1 0:1\n"), index_base=1)
    with pytest.raises(xt.DataError, match=r"line 1: expected label numbers .* got '-1'"):
        xt.read(file(tmp_path, "b.svm", "-1 1:1\n"), index_base=1)
    with pytest.raises(xt.DataError, match="got 'qid:3'"):
        xt.read(file(tmp_path, "b.svm", "1 qid:3 1:1\n"), index_base=1)
    assert xt.data.find_format(file(tmp_path, "c", "1 1:1\n")) == "svmlight"


def test_npz_pairs(tmp_path: Path) -> None:
    X, Y = sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]]), sp.csc_matrix([[1, 0, 1], [0, 0, 1]])
    for folder, names in (("a", ("X.npz", "Y.npz")), ("b", ("X.trn.npz", "Y.trn.npz"))):
        (tmp_path / folder).mkdir()
        sp.save_npz(tmp_path / folder / names[0], X)
        sp.save_npz(tmp_path / folder / names[1], Y)
        for path in (tmp_path / folder, tmp_path / folder / names[0], tmp_path / folder / names[1]):
            data = xt.read(path)
            assert dense(data.X) == X.toarray().tolist()
            assert dense(data.Y) == Y.toarray().tolist()
    sp.save_npz(tmp_path / "b" / "X.tst.npz", X[:1])
    sp.save_npz(tmp_path / "b" / "Y.tst.npz", Y.tocsr()[:1])
    with pytest.raises(xt.DataError, match="part='train'"):
        xt.read(tmp_path / "b")
    assert xt.read(tmp_path / "b", part="test").n_rows == 1
    sp.save_npz(tmp_path / "a" / "Y.npz", Y.tocsr()[:1])
    with pytest.raises(xt.DataError, match="has 1 rows"):
        xt.read(tmp_path / "a")
    (tmp_path / "a" / "Y.npz").unlink()
    with pytest.raises(xt.DataError, match="no such file"):
        xt.read(tmp_path / "a")
    np.savez(tmp_path / "a" / "Y.npz", x=np.array([object()], dtype=object))
    with pytest.raises(xt.DataError, match="not a sparse matrix"):
        xt.read(tmp_path / "a")
    sp.save_npz(tmp_path / "plain.npz", X)
    with pytest.raises(xt.DataError, match="two files"):
        xt.read(tmp_path / "plain.npz")


def test_npz_that_points_outside_itself(tmp_path: Path) -> None:
    bad = sp.csc_matrix(np.eye(3))
    bad.indices[0] = 10**6
    sp.save_npz(tmp_path / "X.npz", bad)
    sp.save_npz(tmp_path / "Y.npz", sp.csr_matrix(np.eye(3)))
    with pytest.raises(xt.DataError, match=r"not a valid csc|not a sparse matrix"):
        xt.read(tmp_path)


def test_jsonl(tmp_path: Path) -> None:
    lines = ['{"text": "é one", "labels": ["b", "a", "b"], "id": 3}', "", '{"text": "", "labels": []}']
    data = xt.read(file(tmp_path, "a.jsonl", "\n".join([*lines, '{"label": "c", "text": "three"}'])))
    assert data.X is None
    assert data.texts == ["é one", "", "three"]
    assert list(data.label_names) == ["a", "b", "c"]
    assert dense(data.Y) == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    known = xt.read(tmp_path / "a.jsonl", labels=["c", "x", "b"])
    assert dense(known.Y) == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert known.dropped_labels == 1
    assert xt.data.find_format(file(tmp_path, "b", lines[0])) == "jsonl"
    other = xt.read(file(tmp_path, "c.jsonl", '{"t": "x", "tags": ["q"]}'), text_column="t", label_column="tags")
    assert other.labels_of(0) == ["q"]


def test_label_numbers_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rows = [json.dumps({"text": t, "labels": [t]}) for t in "hgfabc"]
    one = xt.read(file(tmp_path, "a.jsonl", "\n".join(rows)))
    two = xt.read(file(tmp_path, "b.jsonl", "\n".join(reversed(rows))))
    assert list(one.label_names) == list(two.label_names) == list("abcfgh")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": "x", "labels": ["a"]', "JSON object; .* at column"),
        (b'["x"]', "expected a JSON object; got"),
        (b'{"labels": ["a"]}', "'text' to be a string; it is missing"),
        (b'{"text": 3, "labels": ["a"]}', "'text' to be a string; got '3'"),
        (b'{"text": "x"}', "'labels' to be a list of strings .* it is missing"),
        (b'{"text": "x", "labels": [1]}', "labels that are strings; got 1"),
        (b'{"text": "x", "labels": [""]}', "got an empty one"),
        (b'{"text": "x", "labels": {}}', "'labels' to be a list"),
        (b'{"text": "x", "labels": [], "label": "a"}', "both 'labels' and 'label'"),
        (b'{"text": "\xff", "labels": []}', "expected UTF-8 text; byte 0xff at position 10"),
        (rb'{"text": "\ud800", "labels": []}', "half of a surrogate pair"),
        (b"[" * 100_000, "expected a JSON object"),
    ],
)
def test_jsonl_errors_name_the_line(tmp_path: Path, line: bytes, message: str) -> None:
    path = file(tmp_path, "a.jsonl", b'{"text": "fine", "labels": ["a"]}\n' + line + b"\n")
    with pytest.raises(xt.DataError, match=message) as caught:
        xt.read(path)
    assert caught.value.line == 2


def test_csv_and_tsv(tmp_path: Path) -> None:
    csv = 'id,text,labels\r\n1,"a ""quoted"", long\ntext",x; y\r\n\r\n2,plain,\r\n3,,"x"'
    data = xt.read(file(tmp_path, "a.csv", csv))
    assert data.texts == ['a "quoted", long\ntext', "plain", ""]
    assert [data.labels_of(i) for i in range(3)] == [["x", "y"], [], ["x"]]
    tsv = xt.read(file(tmp_path, "a.tsv", 'label\tt\na;b\tsome "words" here\n'), text_column="t")
    assert tsv.labels_of(0) == ["a;b"]
    assert tsv.texts == ['some "words" here']
    both = file(tmp_path, "b.csv", "text,labels\nq,a|b\n")
    with pytest.raises(xt.DataError, match="say which separates"):
        xt.read(both)
    assert xt.read(both, label_separator="|").labels_of(0) == ["a", "b"]
    assert xt.read(both, label_separator=";").labels_of(0) == ["a|b"]
    long = xt.read(file(tmp_path, "c.csv", "text,label\n" + "x" * 300_000 + ",a\n"))
    assert len(long.texts[0]) == 300_000


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", 1, "column names"),
        (b"text,tags\na,b\n", None, "column named 'labels' or 'label'; the columns are 'text', 'tags'"),
        (b"text,labels,label\na,b,c\n", None, "expected one column"),
        (b"text,text,label\na,b,c\n", None, "expected one column"),
        (b"text,label\na,b\nc\n", 3, "expected 2 columns; got 1"),
        (b'text,label\n"a\nb",b\nc,d,e\n', 4, "expected 2 columns; got 3"),
        (b'text,label\n"a,b\n', 2, "closing quote"),
        (b'text,label\n"a"b,c\n', 2, "closing quote"),
        (b"text,label\na\rb,c\n", 2, "separator or the end"),
        (b"text,label\nok,b\n\xe9,c\n", 3, "UTF-8"),
        (b"text,labels\nok,a;;b\n", 2, "empty one"),
    ],
)
def test_csv_errors_name_the_line(tmp_path: Path, content: bytes, line: int | None, message: str) -> None:
    with pytest.raises(xt.DataError, match=message) as caught:
        xt.read(file(tmp_path, "a.csv", content))
    assert caught.value.line == line


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["p", "q"], "labels": [["b", "a"], []]}), tmp_path / "a.parquet")
    assert xt.read(tmp_path / "a.parquet").labels_of(0) == ["a", "b"]
    pq.write_table(pa.table({"text": ["p", "q"], "labels": ["b;a", ""]}), tmp_path / "b")
    assert xt.read(tmp_path / "b").labels_of(0) == ["a", "b"]
    pq.write_table(pa.table({"text": [1, 2], "labels": [["b"], ["a"]]}), tmp_path / "c.parquet")
    with pytest.raises(xt.DataError, match="row 0: expected strings"):
        xt.read(tmp_path / "c.parquet")
    pq.write_table(pa.table({"text": ["p"], "labels": [["b", None]]}), tmp_path / "c.parquet")
    with pytest.raises(xt.DataError, match="row 0: expected labels that are strings"):
        xt.read(tmp_path / "c.parquet")
    with pytest.raises(xt.DataError, match="not a Parquet file"):
        xt.read(file(tmp_path, "d.parquet", b"PAR1 and no more"))


def test_folders_with_parts(tmp_path: Path) -> None:
    file(tmp_path, "train.jsonl.xz", lzma.compress(b'{"text": "x", "labels": ["a"]}'))
    assert xt.read(tmp_path).texts == ["x"]
    file(tmp_path, "test.jsonl", b'{"text": "y", "labels": ["a"]}')
    with pytest.raises(xt.DataError, match="say which with part"):
        xt.read(tmp_path)
    assert xt.read(tmp_path, part="test").texts == ["y"]
    file(tmp_path, "test.csv", b"text,label\nz,a\n")
    with pytest.raises(xt.DataError, match=r"several files for the test part: test.csv, test.jsonl"):
        xt.read(tmp_path, part="test")
    with pytest.raises(xt.ParameterError, match="part is for folders"):
        xt.read(tmp_path / "test.csv", part="test")
    (tmp_path / "empty").mkdir()
    with pytest.raises(xt.DataError, match="no data that is known"):
        xt.read(tmp_path / "empty")


def test_what_is_said_must_mean_something(tmp_path: Path) -> None:
    path = file(tmp_path, "train.txt", XMC)
    with pytest.raises(xt.DataError, match="no such file or folder"):
        xt.read(tmp_path / "missing.txt")
    with pytest.raises(xt.ParameterError, match=r"format must be one of .*did you mean 'jsonl'"):
        xt.read(path, format="jsonlines")
    with pytest.raises(xt.ParameterError, match="index_base is for svmlight files; this one is xmc"):
        xt.read(path, index_base=0)
    with pytest.raises(xt.ParameterError, match="threads must be an integer ≥ 1"):
        xt.read(path, threads=0)
    with pytest.raises(xt.DataError, match="cannot tell the format from the first line, 'what is this"):
        xt.read(file(tmp_path, "a.txt", "what is this\n"))
    check_xmc(xt.read(file(tmp_path, "odd.csv", XMC), format="xmc"))


def test_shared_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file(tmp_path, "tiny/train.jsonl", '{"text": "x", "labels": ["a"]}')
    monkeypatch.setenv("XTRELLIS_DATA", str(tmp_path))
    assert xt.data.find_data_root() == tmp_path
    assert xt.data.shared("tiny", "train").name == "tiny/train"
    with pytest.raises(xt.DataError, match="no data set 'huge' here; there is tiny"):
        xt.data.shared("huge", "train")
    monkeypatch.setenv("XTRELLIS_DATA", str(tmp_path / "gone"))
    with pytest.raises(xt.DataError, match="XTRELLIS_DATA"):
        xt.data.find_data_root()


def test_listeners_hear_of_bytes_and_of_duplicates(tmp_path: Path) -> None:
    heard: list[str] = []
    seen = 0.0

    class Listener:
        def begin(self, title: str, total: float | None, unit: str) -> int:
            heard.append(f"{title} {total} {unit}")
            return 1

        def advance(self, step: int, amount: float) -> None:
            nonlocal seen
            seen += amount

        def end(self, step: int) -> None:
            heard.append("end")

        def note(self, message: str) -> None:
            heard.append(message)

    with progress.listen(Listener()):
        xt.read(file(tmp_path, "a.txt", XMC))
    assert heard[:2] == [f"reading a.txt {len(XMC)} B", "end"]
    assert "1 labels occur twice" in heard[2]
    assert seen == len(XMC)


def test_lines_longer_than_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xtrellis.data.formats.rows._PIECE", 16)
    monkeypatch.setattr("xtrellis.data.formats.rows._PIECES", 1)
    long = " ".join(f"{i}:1" for i in range(3000))
    data = xt.read(file(tmp_path, "a.txt", f"4 3000 2\n0 {long}\n1 1:1\n\n1 {long}"), threads=2)
    assert np.diff(data.X.indptr).tolist() == [3000, 1, 0, 3000]
    assert np.diff(data.Y.indptr).tolist() == [1, 1, 0, 1]
