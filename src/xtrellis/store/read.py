"""Loading: check what the folder says of itself, map its arrays, and let each class check what only it can know."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload

from ..arrays import Array
from ..core import Configured, MissingExtraError, ParameterError, StoreError, clear_calls, flag, progress, shown
from . import plain, tensors
from .folder import Folder
from .journal import JOURNAL, MOST_BYTES, read_journal
from .manifest import MANIFEST, Manifest, ObjectInfo, is_tensor_file
from .registry import resolve
from .state import State, Storable

T = TypeVar("T")
S = TypeVar("S", bound=Storable)
_TRIES = 16


class AnyFolder(Protocol):
    """A model folder: on disk, or its files in memory."""

    @property
    def path(self) -> Path: ...
    def names(self) -> list[str]: ...
    def where(self, name: str) -> str: ...
    def read(self, name: str, limit: int) -> bytes: ...
    def map(self, name: str, size: int) -> mmap.mmap | memoryview: ...


@overload
def load(path: str | os.PathLike[str], *, verify: bool = False, kind: None = None) -> Any: ...
@overload
def load(path: str | os.PathLike[str], *, verify: bool = False, kind: type[S]) -> S: ...
@clear_calls
def load(path: str | os.PathLike[str], *, verify: bool = False, kind: type[Storable] | None = None) -> Any:
    """The object saved at `path`, its arrays memory-mapped: nothing is read before it is used.

    Sizes, headers, dtypes and shapes are always checked. `verify` also reads every file and compares its SHA-256,
    model.json's own too (models saved before it had one are verified but for that).
    `kind` is the class expected; anything else is refused before it is built.
    """

    wanted: object = kind
    if wanted is not None and not (isinstance(wanted, type) and issubclass(wanted, Storable)):
        raise ParameterError(f"kind must be a class of models, such as xt.Tagger; got {shown(wanted)}")
    flag()("verify", verify)

    return with_folder(path, lambda folder: rebuilt(folder, verify=verify, kind=kind))


def rebuilt(folder: AnyFolder, *, verify: bool = False, kind: type[Storable] | None = None) -> Storable:
    """What a folder holds."""
    manifest = read_manifest(folder, verify=verify)
    if kind is not None and not issubclass(resolve_at(manifest.root, folder), kind):
        raise StoreError(f"{folder.path} holds a {manifest.root.class_name}; a {kind.__name__} is needed")
    out = _rebuild(manifest.root, map_files(folder, manifest, verify=verify), folder)
    if JOURNAL in folder.names():
        entries, lines, _ = read_journal(folder.read(JOURNAL, MOST_BYTES), folder.where(JOURNAL))
        if entries:
            try:
                out.replay(entries, lines)
            except Exception as error:  # as in _rebuild: whatever a file can make a class do, the user hears one thing
                raise StoreError(f"{folder.where(JOURNAL)}: {type(error).__name__}: {error}"[:500]) from error
    return out


def with_folder(path: str | os.PathLike[str], use: Callable[[Folder], T]) -> T:
    """`use(folder)`, again if a save put another model into its place while it was read."""
    for _ in range(_TRIES):
        with Folder(path) as folder:
            try:
                return use(folder)
            except StoreError as error:
                if not folder.replaced():
                    raise
                last = error
    raise last


def read_manifest(folder: AnyFolder, *, verify: bool) -> Manifest:
    """`model.json`, checked; and no tensor file beside those it lists, which would mean two models were mixed."""
    raw, where = folder.read(MANIFEST, plain.MAX_BYTES), folder.where(MANIFEST)
    manifest = Manifest.from_bytes(raw, where)
    if verify:
        manifest.check_hash(raw, where)
    for name in folder.names():
        if is_tensor_file(name) and name not in manifest.files:
            raise StoreError(f"{folder.where(name)}: not listed in {MANIFEST}; files of two models are mixed")
    return manifest


def map_files(folder: AnyFolder, manifest: Manifest, *, verify: bool) -> dict[str, dict[str, Array]]:
    """The arrays of each object, by the name of the object."""
    found: dict[str, dict[str, Array]] = {}
    total = sum(file.size for file in manifest.files.values())
    with progress.step("verifying", total=total, unit="B") if verify else nullcontext(_ignore) as advance:
        for part in manifest.root.walk():
            if part.file is None:
                continue
            file = manifest.files[part.file]
            mapped = folder.map(part.file, file.size)
            found[part.name] = tensors.read(mapped, part.arrays, folder.where(part.file))
            if verify and tensors.sha256(mapped, advance) != file.sha256:
                raise StoreError(
                    f"{folder.where(part.file)}: its SHA-256 is not the one in {MANIFEST}; the file is damaged"
                )
    return found


def _ignore(amount: float) -> None:
    """Progress that nobody watches."""


def resolve_at(info: ObjectInfo, folder: AnyFolder) -> type[Storable]:
    """The class of a stored object; errors name the folder."""
    try:
        return resolve(info.class_name)
    except StoreError as error:
        raise StoreError(f"{folder.where(MANIFEST)}: {info.name}: {error}") from None


def _rebuild(info: ObjectInfo, arrays: dict[str, dict[str, Array]], folder: AnyFolder) -> Storable:
    cls = resolve_at(info, folder)
    parts = {name: _rebuild(part, arrays, folder) for name, part in info.parts.items()}
    state = State(info.meta, arrays.get(info.name, {}), parts)
    try:
        if issubclass(cls, Configured):
            params = cls.params_from_json(info.params)
        elif info.params:
            raise StoreError(f"{cls.__name__} takes no parameters; got {sorted(info.params)!r:.80}")
        else:
            params = {}
        out = cls.from_state(params, state)
        out.loaded(info.params)
        return out
    except MissingExtraError:
        raise  # the model is well; what it needs is not installed
    except Exception as error:
        # Whatever a file can make a class do, the user hears one thing: which model is wrong, and where.
        reason = str(error) if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
        place = info.file or MANIFEST
        raise StoreError(f"{folder.where(place)}: not a valid {info.class_name} ({reason[:500]})") from error
