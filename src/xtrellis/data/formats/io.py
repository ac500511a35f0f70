"""`read` and `write`: one door for every format, which is found from the suffix and, failing that, from the content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from ...core import DataError, ParameterError, as_path, choice, clear_calls, require
from ..dataset import Dataset
from . import annif, fasttext, jsonl, npz, svmlight, tables, xmc
from .files import head, plain_name, without_bom
from .options import Options, make_options, refuse_foreign

READERS: dict[str, Callable[[Path, Options], Dataset]] = {
    "xmc": xmc.read_xmc,
    "xmc-split": xmc.read_split,
    "svmlight": svmlight.read_svmlight,
    "npz": npz.read_npz,
    "jsonl": jsonl.read_jsonl,
    "csv": tables.read_csv,
    "tsv": tables.read_tsv,
    "parquet": tables.read_parquet,
    "annif-tsv": annif.read_annif_tsv,
    "annif-folder": annif.read_annif_folder,
    "fasttext": fasttext.read_fasttext,
}
WRITERS: dict[str, Callable[[Dataset, Path, Options], None]] = {
    "xmc": xmc.write_xmc,
    "xmc-split": xmc.write_split,
    "svmlight": svmlight.write_svmlight,
    "npz": npz.write_npz,
    "jsonl": jsonl.write_jsonl,
    "csv": tables.write_csv,
    "tsv": tables.write_tsv,
    "parquet": tables.write_parquet,
}
FORMATS = (*READERS, "xt")  # data folders, which the room beside this one puts in (data/folder)

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".npz": "npz",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".xmc": "xmc",
    ".xt": "xt",
}
_ARRAY = re.compile(rb"\s*\[\s*(?:[{\]]|\Z)")  # of JSON objects
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_TEXT_SUFFIXES = (".txt", ".dat", ".data", ".json", "")  # these say nothing; the content does


@clear_calls
def read(
    path: str | Path,
    *,
    format: str | None = None,
    part: str | None = None,
    labels: Iterable[str] | None = None,
    index_base: int | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    header: bool | None = None,
    quotes: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    skip_bad_rows: bool = False,
    unlabelled: bool = False,
    threads: int | None = None,
) -> Dataset:
    """Read a data set from a file, a folder, or a prefix of split XMC files; files may be compressed: .gz, .xz, .zst.

    format: one of xmc, xmc-split, svmlight, npz, jsonl, csv, tsv, parquet, annif-tsv, annif-folder, fasttext, xt; found
        from suffix and content if not given. xt is a data folder (`xt.open`).
    part: "train" or "test", for a folder that holds both.
    labels: label names whose order gives the columns of Y, e.g. a model's. Labels that are not among them are left out
        and counted in `Dataset.dropped_labels`. Without it, text formats number labels in the order of their names.
    index_base: the number of the first feature in an svmlight file, 0 or 1; `n_features`, `n_labels`: its columns.
    text_column, label_column, label_separator: for jsonl, csv, tsv and parquet; see docs/data-formats.md. Columns
        of csv and tsv may also be given by their number, from 1.
    header, quotes: of csv and tsv; False if the first row is data already, or if quotes are characters like others.
    delimiter: what separates the columns of csv and tsv; found from the first row if not given, "tab" is a tab.
    encoding: of texts that are not UTF-8 (nor UTF-16 with a mark, which is recognised), such as "latin-1".
    skip_bad_rows: leave out rows of texts that cannot be read, and tell how many; otherwise the first is an error.
    unlabelled: read the texts of jsonl, csv, tsv and parquet only, to predict their labels; the label column is not
        looked at and may be missing. (Rows of the other formats may lack labels anyway.)
    threads: cores to use; all by default. The result does not depend on it.

    Whatever is wrong with the data raises DataError with the file, the line, and what was expected there.
    """
    options = make_options(
        part=part,
        labels=labels,
        index_base=index_base,
        n_features=n_features,
        n_labels=n_labels,
        text_column=text_column,
        label_column=label_column,
        label_separator=label_separator,
        header=header,
        quotes=quotes,
        delimiter=delimiter,
        encoding=encoding,
        skip_bad_rows=skip_bad_rows,
        unlabelled=unlabelled,
        threads=threads,
    )
    choice(*FORMATS, or_none=True)("format", format)
    given = as_path(path, error=DataError)
    place = file_of_part(given, options) if format not in ("npz", "xmc-split") else given
    found = format or find_format(place, options)
    refuse_foreign(options, found)
    if options.part is not None and not given.is_dir():
        raise ParameterError(f"part is for folders that hold train and test; {path} is not a folder")
    return READERS[found](place, options)


@clear_calls
def write(
    dataset: Dataset,
    path: str | Path,
    *,
    format: str | None = None,
    part: str | None = None,
    index_base: int | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
) -> None:
    """Write a data set; the format is found from the suffix (`.txt` is xmc), the compression from .gz, .xz or .zst.

    Each format holds what it can: xmc, xmc-split and npz features, labels and names; svmlight features and labels;
    jsonl, csv, tsv and parquet texts and labels; xt, a data folder, all of it. Float32 values read back exactly. Files
    appear whole or not at all.
    """
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    options = make_options(
        part=part,
        index_base=index_base,
        text_column=text_column,
        label_column=label_column,
        label_separator=label_separator,
    )
    choice(*WRITERS, or_none=True)("format", format)
    target = as_path(path, error=DataError)
    suffix = Path(plain_name(target)).suffix.lower()
    found = format or ("xmc" if suffix == ".txt" else _SUFFIXES.get(suffix))
    if found is None:
        raise ParameterError(
            f"cannot tell the format from the name {target.name!r}; give format, one of {', '.join(WRITERS)}"
        )
    refuse_foreign(options, found)
    if options.label_separator is not None and found == "jsonl":
        raise ParameterError("label_separator is for csv and tsv files; jsonl files hold lists of labels")
    if options.part is not None and found not in ("npz", "xmc-split"):
        raise ParameterError(f"part is for npz and xmc-split folders; this is {found}")
    WRITERS[found](dataset, target, options)


@clear_calls
def find_format(path: Path, options: Options | None = None) -> str:
    """The format's name; a DataError that shows what was found if it cannot be told."""
    options, path = options or Options(), as_path(path, error=DataError)
    if xmc.split_prefix(path, options) is not None:
        return "xmc-split"
    if path.is_dir():
        if (path / "data.json").is_file():
            return "xt"
        if npz.pair_of(path, options) is not None:
            return "npz"
        if annif.is_corpus(path):
            return "annif-folder"
        raise DataError("has no data that is known: train.* and test.*, X.npz and Y.npz, or trn_X_Xf.txt", path=path)
    if not path.exists():
        raise DataError("there is no such file or folder", path=path)
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix == ".tsv":
        return annif.tsv_format(head(path, encoding=options.encoding)) if options.header is None else "tsv"
    return _SUFFIXES.get(suffix) or content_format(head(path, encoding=options.encoding), path, options)


def content_format(start: bytes, path: str | Path, options: Options | None = None) -> str:
    """The format that the first bytes of a file or a stream show, with what is said of its columns."""
    options = options or Options()
    start = without_bom(start)
    if start.startswith(b"PAR1"):
        return "parquet"
    if Path(str(path)).suffix.lower() in _SPREADSHEETS:
        raise DataError("is a file of a spreadsheet program; save it as CSV (UTF-8) there", path=path)
    if start.startswith(b"PK\x03\x04"):
        return "npz"
    if not start.strip():
        raise DataError("cannot tell the format: the file is empty", path=path, line=1)
    if start.startswith(fasttext.PREFIX.encode()):
        return "fasttext"
    if start.lstrip().startswith(b"{") or _ARRAY.match(start):
        return "jsonl"
    line = start.split(b"\n", 1)[0].rstrip()
    if annif.tsv_format(start) == "annif-tsv":
        return "annif-tsv"
    if options.delimiter is not None or options.header is not None or options.quotes is not None:
        return "tsv" if (options.delimiter or ("\t" if b"\t" in line else "")) == "\t" else "csv"
    wanted = (options.text_column or "text").encode("utf-8", "replace").lower()
    for delimiter, name in ((b"\t", "tsv"), (b",", "csv"), (b";", "csv"), (b"|", "csv")):
        cells = [cell.strip(b'" ').lower() for cell in line.split(delimiter)]
        if len(cells) > 1 and wanted in cells:
            return name
    words = line.split()
    if all(word.isdigit() for word in words) and len(words) == 3:
        return "xmc"
    if re.match(rb"([ \t]*|\d+(,\d+)*[ \t]+)\d+:\S", line):
        return "svmlight"
    hint = (
        "; two counts begin the halves of a split XMC set, which are named …_X_Xf.txt and …_X_Y.txt"
        if (all(word.isdigit() for word in words) and len(words) == 2)
        else ""
    )
    shown = line[:60].decode("utf-8", "backslashreplace")
    raise DataError(
        f"cannot tell the format from the first line, {shown!r}{hint}; give format, one of {', '.join(FORMATS)}",
        path=path,
        line=1,
    )


def file_of_part(path: Path, options: Options) -> Path:
    """In a folder with train.* and test.*, the file that is meant; `path` itself otherwise."""
    if not path.is_dir():
        return path
    files: dict[str, list[Path]] = {}
    for file in sorted(path.iterdir()):
        stem, _, _ = file.name.partition(".")
        suffix = Path(plain_name(file)).suffix
        if stem in xmc.PARTS and file.is_file() and (suffix in _SUFFIXES or suffix in _TEXT_SUFFIXES):
            files.setdefault(stem, []).append(file)
    if not files:
        return path
    if options.part is None and len(files) > 1:
        raise DataError("holds the parts train and test; say which with part='train'", path=path)
    part = options.part or next(iter(files))
    if part not in files:
        raise DataError(f"has no {part} part; it has {', '.join(sorted(files))}", path=path)
    if len(files[part]) > 1:
        names = ", ".join(file.name for file in files[part])
        raise DataError(f"has several files for the {part} part: {names}; give the path of one", path=path)
    return files[part][0]
