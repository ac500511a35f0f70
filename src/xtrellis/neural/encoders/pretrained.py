"""A pretrained network: from a folder or the hub's cache, to be trained; or from what a trained model carries.

A trained model carries settings and tokenizer beside its weights, as the bytes of two JSON files: what it was made from
may be gone, and what `path` means on another machine is not for the model's maker to choose. Both files are looked at
(`architectures`, `tokenizer`) before a library sees them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array, Int32, Int64
from ...core import InputError, MissingExtraError, StoreError, shown
from ..training import import_torch
from .architectures import Settings
from .tokenizer import Tokenizer, carried

FILE = "file."  # before the name of a file that is carried
CONFIG, TOKENIZER = f"{FILE}config.json", f"{FILE}tokenizer.json"
LARGEST = {CONFIG: 16 << 10, TOKENIZER: 64 << 20}  # bytes; the words of a million tokens take about 40 MiB
LARGEST_CONFIG = 16 << 20  # of a config.json in a folder, which may name many labels

# Whatever the library is asked to read. Without the second it would ask on standard input whether code may run.
_ASKED: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class Pretrained:
    """Settings and tokenizer of a network: all but its weights."""

    settings: Settings
    tokenizer: Tokenizer
    raw: bytes  # tokenizer.json
    path: str | None  # where they were read; None: they were carried

    def files(self) -> dict[str, Array]:
        """For a model to carry."""
        content = {CONFIG: self.settings.to_json(), TOKENIZER: self.raw}
        return {name: np.frombuffer(raw, np.uint8) for name, raw in content.items()}

    def tokens(self, texts: Sequence[str], max_length: int) -> tuple[Int64, Int32]:
        """Where each text begins, and all their token numbers, one after another; the network has a row for each."""
        with _told(self.path):
            begins, ids = self.tokenizer(texts, at_most=min(max_length, self.settings.longest))
            if ids.size and ids.max() >= self.settings["vocab_size"]:
                raise ValueError(
                    f"its tokenizer makes token {ids.max()}, but vocab_size is {self.settings['vocab_size']}"
                )
        return begins, ids.astype(np.int32)

    def network(self, weights: Mapping[str, Array]) -> Any:
        """With these weights."""
        torch = import_torch("a TransformerEncoder")
        module = self.settings.network(import_transformers())
        with torch.no_grad():
            for name, value in trained_parameters(module).items():
                value.copy_(torch.from_numpy(np.array(weights[name])))
        return module

    def pretrained_network(self) -> Any:
        """With the weights that lie beside the settings."""
        transformers = import_transformers()
        made = getattr(transformers, self.settings.architecture.model)
        config = self.settings.config(transformers)
        with _read_by(transformers, str(self.path)):
            options = {"use_safetensors": True, "output_loading_info": True, **_ASKED}
            module, report = made.from_pretrained(self.path, config=config, **options)
        found = trained_parameters(module)
        missing = sorted(set(report["missing_keys"]) & set(found))
        with _told(self.path):
            if missing:
                raise ValueError(f"its weights lack {missing[0]}")
            if _shapes(found) != self._shapes():
                raise ValueError("its weights are not those of its config.json")
        return module.float()

    def check(self, weights: Mapping[str, Array]) -> None:
        """ValueError unless these are the arrays of this network."""
        settings = self.settings
        if settings.n_modules > len(weights):  # before anything of that size is built
            what = settings.architecture.own("num_hidden_layers")
            raise ValueError(f"{what}: there are {len(weights)} arrays, too few for {settings.n_modules} layers")
        found, wanted = _shapes(weights), self._shapes()
        for name in sorted(set(found) | set(wanted)):
            if found.get(name) != wanted.get(name):
                raise ValueError(
                    f"the stored weights are not those of its settings: {shown(name)} is {_shape(found.get(name))} and "
                    f"should be {_shape(wanted.get(name))}"
                )
            if weights[name].dtype != np.float32:
                raise ValueError(f"{name} must be float32; got {weights[name].dtype}")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        torch = import_torch("a TransformerEncoder")
        transformers = import_transformers()
        try:
            with torch.device("meta"):  # takes no memory
                return _shapes(trained_parameters(self.settings.network(transformers)))
        except Exception as error:  # another version of the library may be stricter than we are
            raise ValueError(f"the transformers library cannot build it: {str(error)[:200]}") from None


def opened(path: str) -> Pretrained:
    """What lies in a folder, or in the hub's cache under that name."""
    settings = settings_at(path)
    transformers = import_transformers()
    with _read_by(transformers, path):
        found = transformers.AutoTokenizer.from_pretrained(path, use_fast=True, **_ASKED)
    with _told(path):
        # Some know no tokenizer.json; one setting has no place in it.
        if not found.is_fast or getattr(found, "split_special_tokens", False):
            raise ValueError(f"its tokenizer, a {type(found).__name__}, cannot be written as a tokenizer.json")
        raw = carried(found.backend_tokenizer, found.truncation_side)
        if len(raw) > LARGEST[TOKENIZER]:
            raise ValueError(f"its tokenizer takes {len(raw)} bytes; {LARGEST[TOKENIZER]} at most can be carried")
        return Pretrained(settings, Tokenizer(raw), raw, path)


def settings_at(path: str) -> Settings:
    """Of the network in a folder, or in the hub's cache under that name."""
    if not path:
        raise InputError("a TransformerEncoder needs path: the folder of a model, or its name in the hub's cache")
    transformers = import_transformers()
    with _read_by(transformers, path):
        file = Path(transformers.utils.cached_file(path, "config.json", local_files_only=True))
        if file.stat().st_size > LARGEST_CONFIG:
            raise ValueError(f"config.json has more than {LARGEST_CONFIG} bytes")
        found = json.loads(file.read_text(encoding="utf-8"))
    with _told(path):
        return Settings.of_config(found, transformers)


def unpacked(weights: Mapping[str, Array]) -> Pretrained:
    """What a model carries; StoreError unless it is whole and belongs to its weights. Nothing else is read."""
    with _told(None):
        raw = {name: _file(weights, name) for name in LARGEST}
        for name in weights:
            if name.startswith(FILE) and name not in LARGEST:
                raise ValueError(f"it carries {shown(name)}; there can only be {' and '.join(LARGEST)}")
        with _named(CONFIG):
            settings = Settings.of(json.loads(str(raw[CONFIG], "utf-8")))
        with _named(TOKENIZER):
            tokenizer = Tokenizer(raw[TOKENIZER])
        out = Pretrained(settings, tokenizer, raw[TOKENIZER], None)
        out.check({name: array for name, array in weights.items() if name not in LARGEST})
        return out


def is_carried(weights: Mapping[str, Array]) -> bool:
    """False for weights of a training under way: they are still those of a path."""
    return any(name.startswith(FILE) for name in weights)


def trained_parameters(module: Any) -> dict[str, Any]:
    """All but the pooler: its output is not used, so it could not learn."""
    return {name: value for name, value in module.named_parameters() if not name.startswith("pooler.")}


def import_transformers() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", "deep", "a TransformerEncoder") from None
    return transformers


def _file(weights: Mapping[str, Array], name: str) -> bytes:
    array = weights.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError(f"{name} must be the bytes of a file; got {array.dtype} of shape {array.shape}")
    if array.size > LARGEST[name]:
        raise ValueError(f"{name} must not have more than {LARGEST[name]} bytes; got {array.size}")
    return array.tobytes()


def _shapes(arrays: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(array.shape) for name, array in arrays.items()}


def _shape(found: tuple[int, ...] | None) -> str:
    return "missing" if found is None else " × ".join(map(str, found)) or "a number"


@contextmanager
def _named(file: str) -> Iterator[None]:
    """ValueErrors that begin with the name of a file."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None


@contextmanager
def _told(path: str | None) -> Iterator[None]:
    """ValueErrors, as what the user is told of a path or of a stored model."""
    try:
        yield
    except ValueError as error:
        if path is None:
            raise StoreError(f"the stored encoder: {error}") from None
        raise InputError(f"the model in {path!r} cannot be used: {error}") from None


@contextmanager
def _read_by(transformers: Any, path: str) -> Iterator[None]:
    """While the library reads: no bars of its own, and one kind of error, whatever it stumbles over."""
    logging = transformers.utils.logging
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # missing files and libraries, wrong JSON, wrong shapes, panics of Rust …
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{path!r} is no model on this machine that can be read: {reason}") from None
    finally:
        if bars:
            logging.enable_progress_bar()
