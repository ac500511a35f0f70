"""Models and data as the commands open them, with the mistakes a user can make told before any work is done."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import Check, DataError, InputError, ParameterError, StoreError, choice, flag, integer, nearest, text

if TYPE_CHECKING:
    from ..data import Dataset
    from ..tagger import Tagger

MANIFEST = "model.json"


def is_model(path: Path) -> bool:
    """True if `path` is a model folder (or its manifest)."""
    return (path / MANIFEST).is_file()


def load_tagger(path: Path, threads: int | None = None, beam: int | None = None) -> Tagger:
    """The model at `path` with its label names; a bare model's labels are called by their numbers.

    `threads` and `beam`, if given, replace the model's own.
    """
    tagger = _load(path)
    for part in (tagger.vectorizer, tagger.model):
        if threads is not None and part is not None and "threads" in part.get_params(deep=False):
            part.set_params(threads=threads)
    if beam is not None:
        tagger.model.set_params(beam=beam)
    return tagger


def require_probabilities(tagger: Tagger, path: Path, option: str) -> None:
    """Refuse an option that takes probabilities where a model knows none, with what to type."""
    from ..tagger import knows_probabilities

    if not knows_probabilities(tagger):
        lacked = tagger.model.why_no_probabilities
        cure = "train it on more rows" if lacked else "train it with --preset best"
        raise InputError(
            f"{option} takes probabilities, and {path} knows none{f', since {lacked}' if lacked else ''}; {cure}, or "
            "with 50 rows or more held out (--holdout 0.1 instead of --test)"
        )


def _load(path: Path) -> Tagger:
    from ..model import Model
    from ..store import load
    from ..tagger import Tagger

    loaded = load(path)
    if isinstance(loaded, Model):
        return Tagger.of_model(loaded)
    if not isinstance(loaded, Tagger):
        raise StoreError(f"{path} holds a {type(loaded).__name__}, which cannot predict by itself")
    return loaded


class Source:
    """How to read the data of a command line: `--format`, `--read`, `--threads`, and what has options of its own."""

    def __init__(
        self,
        format: str | None,
        pairs: list[str] | None,
        threads: int | None,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        skip_bad_rows: bool = False,
    ) -> None:
        self.options: dict[str, Any] = {"format": format, "threads": threads}
        for key, value in pairs_of("--read", "label_column=tags", pairs or [], once=True):
            if key not in READ_OPTIONS:
                raise ParameterError(f"--read has no option {key!r}{nearest(key, READ_OPTIONS)}")
            self.options[key] = READ_OPTIONS[key].parse(key, value)
        own = {"delimiter": delimiter, "encoding": encoding, "skip_bad_rows": skip_bad_rows or None}
        self.options |= {key: value for key, value in own.items() if value is not None}

    def read(self, path: Path, part: str, *, unlabelled: bool = False, beside: Tagger | None = None) -> Dataset:
        """The data at `path`; of a folder that holds train and test, the `part` that the command needs.

        svmlight data, which does not say how many features there are, has those of the model `beside` it.
        """
        from ..data import read

        _refuse_model(path)
        given: dict[str, Any] = {"part": part} if has_parts(path) else {}
        if beside is not None and self._is_svmlight(path):
            given["n_features"] = features_of(beside)
        with spooled(path) as place:
            try:
                return read(place, unlabelled=unlabelled, **{**given, **self.options})
            except DataError as error:
                if place == path:
                    raise
                raise DataError(str(error).replace(str(place), _name_of(path))) from None

    def _is_svmlight(self, path: Path) -> bool:
        from ..data import find_format

        format = self.options.get("format")
        return format == "svmlight" or (format is None and path.is_file() and find_format(path) == "svmlight")

    def read_all(self, paths: Sequence[Path], part: str) -> Dataset:
        """All that the paths name, as one; a folder without data of its own stands for the data files in it."""
        from ..data import concatenate

        found = [file for path in paths for file in files_of(path, self.options.get("format"))]
        return concatenate([self.read(file, part) for file in found], name=found[0].stem)

    def streaming(self, path: Path) -> dict[str, Any]:
        """Options for reading `path` row by row."""
        given = {"part": "test"} if has_parts(path) else {}
        return {**given, **self.options}

    def name(self, path: Path | Sequence[Path], part: str) -> str:
        """What `read` reads, for people."""
        if not isinstance(path, Path):
            names = [self.name(one, part) for one in path[:3]]
            return ", ".join(names) + (f" and {len(path) - 3:,} more" if len(path) > 3 else "")
        return f"{path} ({self.options.get('part', part)})" if has_parts(path) else str(path)


def _refuse_model(path: Path) -> None:
    if is_model(path):
        raise InputError(f"{path} is a model, not data")


def features_of(tagger: Tagger) -> int | None:
    """How many features rows have, if the model reads features and says so."""
    if tagger.vectorizer is not None:
        return None
    trees = getattr(tagger.model, "trees", None)
    noted = tagger.about.get("data", {}).get("features")
    found = getattr(trees[0] if trees else tagger.model, "n_features", noted)
    return found if isinstance(found, int) else None


def files_of(path: Path, format: str | None) -> list[Path]:
    """`path` itself, or the data files of a folder that is no data set by itself."""
    from ..data import find_format

    _refuse_model(path)
    if not path.is_dir() or has_parts(path) or format is not None:
        return [path]
    try:
        find_format(path)
        return [path]
    except DataError as error:
        inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        data = [file for file in inside if any(end in DATA_SUFFIXES for end in file.suffixes[-2:])]
        if not data:
            raise error from None
        return data


DATA_SUFFIXES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".svm", ".svmlight", ".libsvm", ".xmc", ".txt")


@contextmanager
def spooled(path: Path) -> Iterator[Path]:
    """A path that can be read more than once: stdin and pipes are copied to a file for the time being."""
    from .streams.rows import is_pipe, stdin

    if not is_pipe(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="xtrellis-") as folder:
        copy = Path(folder) / ("stdin" if str(path) == "-" else path.name)  # notes go by this name
        with copy.open("wb") as file:
            if str(path) == "-":
                shutil.copyfileobj(stdin(), file, 1 << 20)
            else:
                with path.open("rb") as pipe:
                    shutil.copyfileobj(pipe, file, 1 << 20)
        yield copy


def _name_of(path: Path) -> str:
    return "stdin" if str(path) == "-" else str(path)


READ_OPTIONS: dict[str, Check] = {
    "part": choice("train", "test"),
    "index_base": integer(at_least=0, at_most=1),
    "n_features": integer(at_least=0),
    "n_labels": integer(at_least=0),
    "text_column": text(),
    "label_column": text(),
    "label_separator": text(),
    "header": flag(),
    "quotes": flag(),
    "delimiter": text(),
}


def has_parts(path: Path) -> bool:
    """True for a folder with a training and a test part, by the names its files begin with."""
    names = [p.name for p in path.iterdir()] if path.is_dir() else []
    return all(any(name.startswith(starts) for name in names) for starts in (("train", "trn"), ("test", "tst")))


def require_features(path: Path, tagger: Tagger) -> None:
    """Refuse features that have other names than the model's, if there are names beside the data that is streamed."""
    from ..data import find_format, read_names
    from .streams.rows import is_pipe

    if tagger.vectorizer is not None or not path.exists() or is_pipe(path):
        return
    if has_parts(path) or find_format(path) in ("xmc", "xmc-split", "npz"):
        folder = path if path.is_dir() else path.parent
        tagger.require_features(read_names(folder, "features.txt", None, "features"))


def check_target(path: Path) -> None:
    """Refuse a place where a model cannot be written, before an hour of training."""
    from ..store import target_of

    target = target_of(path)
    parent = next(p for p in target.parents if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise StoreError(f"{path} cannot be written: {parent} is not a folder you may write to")


def folder_size(path: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name to write to; the file appears at `path` only if the block succeeds."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; --to must name a file")
    # The suffix stays last, since writers choose the format by it.
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def pairs_of(option: str, example: str, given: list[str], *, once: bool = False) -> list[tuple[str, str]]:
    """Repeated `--set key=value` as pairs; a key that comes twice is refused where it may come `once`."""
    out: list[tuple[str, str]] = []
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ParameterError(f"{option} must be key=value, such as {option} {example}; got {pair!r}")
        said = next((before for known, before in out if known == key.strip()), None)
        if once and said is not None:
            raise ParameterError(f"{option} says {key.strip()} twice, {said!r} and {value!r}; give it once")
        out.append((key.strip(), value))
    return out
