"""Saving: take an object apart, write its arrays while hashing them, then let the folder appear all at once."""

from __future__ import annotations

import os

from ..arrays import Array
from ..core import Configured, StoreError, clear_calls, progress
from . import plain, tensors
from .journal import JOURNAL, journal_bytes
from .manifest import MANIFEST, ROOT, FileInfo, Manifest, ObjectInfo, check_parts_depth, part_name
from .registry import name_of
from .state import Storable
from .swap import staging, target_of


@clear_calls
def save(obj: Storable, path: str | os.PathLike[str]) -> None:
    """Write `obj` as a model folder, whole or not at all; a model already there is replaced only when this one is done.

    Folders that are not xtrellis models, or hold other files beside one, are never replaced. Missing parent folders
    are made. An object that was loaded from this very path stays usable: its pages live until it is let go.
    """
    if not isinstance(obj, Storable):
        raise StoreError(f"cannot save a {type(obj).__name__}; only models, vectorisers, taggers and trees are stored")
    root, arrays = taken_apart(obj)
    total = sum(info.nbytes for part in root.walk() for info in part.arrays.values())
    try:
        target = target_of(path)
        with staging(target) as folder, progress.step("saving", total=total, unit="B") as advance:
            files = {}
            for name, of_object in arrays.items():
                # The one place where a file comes to be; fsynced here so that the rename never outruns the data.
                with open(folder / name, "xb") as file:
                    files[name] = FileInfo(*tensors.write(file, of_object, advance))
                    file.flush()
                    os.fsync(file.fileno())
            if lines := obj.journal_lines():
                with open(folder / JOURNAL, "xb") as file:
                    file.write(journal_bytes(lines))
                    file.flush()
                    os.fsync(file.fileno())
            with open(folder / MANIFEST, "xb") as file:
                file.write(Manifest(root, files).to_bytes())
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"cannot save to {path}: {error.strerror or error}") from error


def taken_apart(obj: Storable) -> tuple[ObjectInfo, dict[str, dict[str, Array]]]:
    """What model.json says of an object and its parts, and their arrays by the name of their file."""
    arrays: dict[str, dict[str, Array]] = {}
    return _take_apart(obj, ROOT, 0, arrays), arrays


def _take_apart(obj: Storable, name: str, depth: int, arrays: dict[str, dict[str, Array]]) -> ObjectInfo:
    """What model.json says of `obj`; its arrays are added to `arrays` under the name of their file."""
    try:
        check_parts_depth(depth, name)
        state = obj.to_state()
        params = obj.to_config()["params"] if isinstance(obj, Configured) else {}
        info = ObjectInfo(
            name=name,
            class_name=name_of(obj),
            params=plain.plain(params, f"params of {name}"),
            meta=plain.plain(state.meta, f"meta of {name}"),
            arrays={a: tensors.info_of(a, array) for a, array in state.arrays.items()},
        )
        if info.file is not None:
            arrays[info.file] = dict(state.arrays)
        for part, inner in state.parts.items():
            info.parts[part] = _take_apart(inner, part_name(part, name), depth + 1, arrays)
    except ValueError as error:
        raise StoreError(f"cannot save: {error}") from None
    return info
