"""A training that can go on after a kill: trees and finished segments in a folder, with what they were made from.

    checkpoint.json          the fingerprint, and for each file its size, SHA-256 and arrays
    tree0.safetensors        the label tree
    tree0.nodes0to1.safetensors …

A file counts only once checkpoint.json lists it, and both are written aside and renamed: whatever moment the process
dies at, the folder holds whole segments. Nothing waits for the disk: should the machine itself go down, a file that is
not what its hash says is made again. The fingerprint says which data and parameters they belong to; a training of
anything else is refused, since mixing two trainings would give a model of neither.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..arrays import Array
from ..core import StoreError, as_path, clear_calls, progress, shown
from . import plain, tensors
from .folder import Folder
from .manifest import MANIFEST, is_tensor_file
from .scratch import Scratch

if TYPE_CHECKING:
    from typing_extensions import Self

LIST = "checkpoint.json"
FORMAT = "xtrellis-checkpoint"
_OURS = re.compile(
    r"((tree\d+(\.overlap|(\.round\d+(\.fold\d+)?)?\.nodes\d+to\d+)?|state\.\w+)\.safetensors|checkpoint\.json)(\.tmp)?"
)
_PART = re.compile(r"\w+\.part")  # a checkpoint inside this one (stages.py)
_MODEL = re.compile(r"\w+\.model|\.\w+\.model\.(tmp-.+|aside)")  # a finished part, or what a save left half done


class Checkpoint:
    """A folder of finished work. Use as a context: it is locked meanwhile, so that two trainings never share it."""

    def __init__(self, path: str | os.PathLike[str], made_from: Mapping[str, Any]) -> None:
        self.path = as_path(path, "checkpoint", error=StoreError)
        self.made_from = plain.parse(plain.dump(dict(made_from)), "fingerprint")  # as it will be read back
        self.files: dict[str, Any] = {}
        self._lock = -1

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._close()
            raise StoreError(f"checkpoint {self.path} is in use by another training; choose another folder") from None
        except OSError as error:
            self._close()
            raise StoreError(f"cannot use {self.path} as a checkpoint ({error.strerror})") from None
        try:
            self._open()
        except OSError as error:
            self._close()
            raise StoreError(f"cannot write to the checkpoint {self.path}: {error.strerror or error}") from error
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _open(self) -> None:
        names = os.listdir(self.path)
        for name in names:
            if name.endswith(".tmp") and _OURS.fullmatch(name):  # of a write that was cut short
                (self.path / name).unlink(missing_ok=True)
        if LIST not in names:
            foreign = sorted(name for name in names if not _OURS.fullmatch(name))
            if foreign:
                raise StoreError(
                    f"{self.path} holds other files ({shown(foreign[0])}, …) and no {LIST}; choose another folder"
                )
            self._write_list()
            return
        self.files = _read_list(self.path, self.made_from)

    def scratch(self, prefix: str, *, mapped: bool) -> Scratch:
        """For the segments of one tree; `mapped` ones take no memory after they are put."""
        return _CheckpointScratch(self, prefix, mapped)

    def put(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Add a file, whole or not at all."""
        file_name = f"{name}.safetensors"
        infos = {key: tensors.info_of(key, array) for key, array in arrays.items()}
        try:
            aside = self.path / f"{file_name}.tmp"
            with open(aside, "wb") as file:
                n_bytes, sha256 = tensors.write(file, arrays)
            os.replace(aside, self.path / file_name)
            described = {key: {"dtype": info.dtype, "shape": list(info.shape)} for key, info in infos.items()}
            self.files[name] = {"bytes": n_bytes, "sha256": sha256, "arrays": described}
            self._write_list()
        except OSError as error:
            raise StoreError(f"cannot write to the checkpoint {self.path}: {error.strerror or error}") from error

    def get(self, name: str) -> dict[str, Array] | None:
        """The arrays of a file, memory-mapped; None if there is no such file, or not with the content it had."""
        entry = self.files.get(name)
        return None if entry is None else _read(self.path, name, entry)

    def _write_list(self) -> None:
        text = plain.dump({"format": FORMAT, "made_from": self.made_from, "files": self.files})
        aside = self.path / f"{LIST}.tmp"
        with open(aside, "wb") as file:
            file.write(text)
        os.replace(aside, self.path / LIST)


class _CheckpointScratch(Scratch):
    def __init__(self, checkpoint: Checkpoint, prefix: str, mapped: bool) -> None:
        self._checkpoint, self._prefix, self._mapped = checkpoint, prefix, mapped

    def get(self, name: str) -> dict[str, Array] | None:
        return self._checkpoint.get(self._prefix + name)

    def put(self, name: str, arrays: dict[str, Array]) -> dict[str, Array]:
        self._checkpoint.put(self._prefix + name, arrays)
        return self._checkpoint.get(self._prefix + name) or arrays if self._mapped else arrays


@clear_calls
def discard(path: str | os.PathLike[str]) -> bool:
    """Delete a checkpoint: files and parts that are named like its own, nothing else; False if there was none."""
    folder = as_path(path, error=StoreError)
    try:
        _parse_list(folder)
    except StoreError:
        return False
    with suppress(OSError):
        _discard_parts(folder)  # what is missing of them is made again, while the list is there
        (folder / LIST).unlink()  # first of the files: from here on the rest is rubbish
        for name in os.listdir(folder):
            if _OURS.fullmatch(name):
                (folder / name).unlink()
        folder.rmdir()
    return True


def _discard_parts(folder: Path) -> None:
    with os.scandir(folder) as found:
        inner = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
    for entry in inner:
        if _PART.fullmatch(entry.name):
            discard(entry.path)
        elif _MODEL.fullmatch(entry.name):
            for name in os.listdir(entry.path):
                if name == MANIFEST or is_tensor_file(name):
                    (Path(entry.path) / name).unlink()
            Path(entry.path).rmdir()


def _parse_list(path: Path) -> dict[str, Any]:
    with Folder(path) as folder:
        found = plain.parse(folder.read(LIST, plain.MAX_BYTES), folder.where(LIST))
    if (
        not isinstance(found, dict)
        or found.get("format") != FORMAT
        or not isinstance(found.get("made_from"), dict)
        or not isinstance(found.get("files"), dict)
    ):
        raise StoreError(f"{path / LIST} is not the list of a checkpoint; choose another folder")
    return found


def _read_list(path: Path, made_from: dict[str, Any]) -> dict[str, Any]:
    found = _parse_list(path)
    wrong = _differences(made_from, found["made_from"])
    if wrong:
        raise StoreError(
            f"checkpoint {path} belongs to another training: {'; '.join(wrong)}. Use the same data and parameters, or "
            "delete the folder to start anew"
        )
    files: dict[str, Any] = found["files"]
    return files


def _differences(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    out = []
    for name in sorted(set(now) | set(then)):
        new, old = now.get(name), then.get(name)
        if new == old:
            continue
        if isinstance(new, dict) and isinstance(old, dict):  # parameters, or hashes of files
            show = shown if name == "params" else _brief
            out += [
                f"{key} is {show(new.get(key))}, was {show(old.get(key))}"
                for key in sorted(set(new) | set(old))
                if new.get(key) != old.get(key)
            ]
        else:
            out.append(f"{name} is {_brief(new)}, was {_brief(old)}")
    return out


def _brief(value: Any) -> str:
    """A hash need not be read whole."""
    words = str(value).split()
    return f"{words[0]} ({words[1][:8]}…)" if len(words) == 2 else str(value)[:60]


def _read(path: Path, name: str, entry: Any) -> dict[str, Array] | None:
    file_name = f"{name}.safetensors"
    try:
        infos = {key: tensors.info_from_json(key, value) for key, value in entry["arrays"].items()}
        with Folder(path) as folder:
            mapped = folder.map(file_name, entry["bytes"])
            if tensors.sha256(mapped) != entry["sha256"]:
                raise StoreError(f"{folder.where(file_name)}: its SHA-256 is not the one in {LIST}")
            return tensors.read(mapped, infos, folder.where(file_name))
    except (StoreError, KeyError, TypeError, AttributeError, ValueError) as error:
        progress.note(f"a damaged part of the checkpoint is made again ({error})")
        return None
