"""`TransformerEncoder`: any Hugging Face encoder, from a local folder or the hub's cache. Nothing is downloaded.

A trained model carries configuration and tokenizer beside its weights, as the bytes of the files that the library would
read (JSON, mostly): what it was made from may be gone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...arrays import Array, Float32, Int32, Int64
from ...core import (
    InputError,
    MissingExtraError,
    StoreError,
    choice,
    file_path,
    flag,
    integer,
    param,
    run,
    shown,
    spans,
)
from ..training import device_of, import_torch, one_thread
from .base import Encoder, Inputs, Trainable

PIECE = 32  # texts encoded at once
FILE = "file."  # before the name of a file that is carried
CONFIG = f"{FILE}config.json"
_PLAIN = re.compile(r"file\.\w[\w-]{0,60}\.(json|txt|model)")  # nothing that could lead out of a folder, and no code


class TransformerEncoder(Encoder):
    """A pretrained transformer, fine-tuned with the model that stands on it."""

    reads = "texts"
    usual_rate = 5e-5
    usual_weight = 1.0

    path: str = param(file_path(), "folder of a model, or its name in the hub's cache", default="")
    pooling: str = param(
        choice("mean", "cls"), "the mean of the tokens' vectors, or the vector of the first token", default="mean"
    )
    max_length: int = param(integer(at_least=2), "tokens of a text at most; the rest is cut off", default=128)
    gradient_checkpointing: bool = param(flag(), "compute twice, to train in less memory", default=False)
    mixed_precision: bool = param(flag(), "compute in 16 bits where a GPU does the work", default=True)

    _cached: tuple[Mapping[str, Array], str, Any] | None = None
    _carried: dict[str, Any] | None = None  # the configuration of stored weights

    @property
    def width(self) -> int:
        return int(self._settings()["hidden_size"]) + 1

    def _settings(self) -> dict[str, Any]:
        if self._carried is not None:
            return self._carried
        file = Path(self.path) / "config.json"
        if self.path and file.is_file():
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return found
        loaded: dict[str, Any] = self._load("AutoConfig").to_dict()
        return loaded

    def _load(self, kind: str, weights: Mapping[str, Array] | None = None, **options: Any) -> Any:
        """One of the library's Auto classes, from what the weights carry, or from what is on this machine."""
        try:
            import transformers
        except ImportError:
            raise MissingExtraError("transformers", "deep", "a TransformerEncoder") from None
        if weights is not None and CONFIG in weights:
            with _unpacked(weights) as folder, _quiet(transformers):
                try:
                    return getattr(transformers, kind).from_pretrained(folder, local_files_only=True, **options)
                except (OSError, ValueError, KeyError) as error:
                    reason = str(error).splitlines()[0][:200]
                    raise StoreError(f"the stored encoder cannot be read by this transformers: {reason}") from None
        if not self.path:
            raise InputError("a TransformerEncoder needs path: the folder of a model, or its name in the hub's cache")
        try:
            with _quiet(transformers):
                return getattr(transformers, kind).from_pretrained(self.path, local_files_only=True, **options)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0][:200]
            raise InputError(f"{self.path!r} is no model on this machine that can be read: {reason}") from None

    def module(self, torch: Any, device: Any, weights: Mapping[str, Array] | None = None) -> Any:
        """The network on a device: as pretrained, or with these weights."""
        if weights is None:
            module = self._load("AutoModel", use_safetensors=True, dtype=torch.float32)
        else:
            import transformers

            module = transformers.AutoModel.from_config(self._load("AutoConfig", weights))
            with torch.no_grad():
                for name, value in _parameters(module).items():
                    value.copy_(torch.from_numpy(np.array(weights[name])))
        module.eval()  # the model drops entries of the vectors; inside, randomness would depend on the threads
        return module.to(device)

    def start(self, inputs: Inputs, *, seed: int, threads: int | None, device: Any) -> Trainable:
        return _Training(self, inputs, device)

    def files(self) -> dict[str, Array]:
        with TemporaryDirectory(prefix="xtrellis-") as folder:
            for kind in ("AutoConfig", "AutoTokenizer"):
                self._load(kind).save_pretrained(folder)
            found = sorted(Path(folder).iterdir())
            return {FILE + file.name: np.frombuffer(file.read_bytes(), np.uint8) for file in found if file.is_file()}

    def tokens(self, texts: Sequence[str], weights: Mapping[str, Array] | None = None) -> tuple[Int64, Int32]:
        """All texts as token numbers, one after another, and where each begins."""
        tokenizer = self._load("AutoTokenizer", weights)
        parts, counts = [], []
        for first in range(0, len(texts), 4096):
            found = tokenizer(list(texts[first : first + 4096]), truncation=True, max_length=self.max_length)
            counts += [len(ids) for ids in found["input_ids"]]
            parts += [np.array(ids, np.int32) for ids in found["input_ids"]]
        return np.cumsum([0, *counts]).astype(np.int64), np.concatenate([*parts, np.zeros(0, np.int32)])

    def forward(self, torch: Any, module: Any, device: Any, tokens: list[Int32]) -> Any:
        """Vectors of some texts, with a 1 at the end of each."""
        longest = max(1, *(len(ids) for ids in tokens)) if tokens else 1
        ids, there = np.zeros((len(tokens), longest), np.int64), np.zeros((len(tokens), longest), np.int64)
        for i, row in enumerate(tokens):
            ids[i, : len(row)], there[i, : len(row)] = row, 1
        mask = torch.from_numpy(there).to(device)
        fast = self.mixed_precision and device.type != "cpu"
        with torch.autocast(device.type, enabled=True) if fast else nullcontext():
            out = module(input_ids=torch.from_numpy(ids).to(device), attention_mask=mask).last_hidden_state
        out = out.float()
        if self.pooling == "cls":
            pooled = out[:, 0]
        else:
            share = mask[:, :, None].float()
            pooled = (out * share).sum(1) / share.sum(1).clamp(min=1)
        return torch.cat([pooled, torch.ones_like(pooled[:, :1])], dim=1)

    def encode(self, weights: Mapping[str, Array], inputs: Inputs, *, threads: int | None, device: str) -> Float32:
        """Vectors of texts; which texts come together changes them by rounding only."""
        torch = import_torch("a TransformerEncoder")
        where = device_of(torch, device)
        cached = self._cached
        if cached is None or cached[0] is not weights or cached[1] != str(where):
            cached = (weights, str(where), self.module(torch, where, weights))
            self._cached = cached
        return self._vectors(torch, cached[2], where, inputs, threads, weights)

    def first_vectors(self, inputs: Inputs, *, threads: int | None, device: str) -> Float32:
        torch = import_torch("a TransformerEncoder")
        where = device_of(torch, device)
        return self._vectors(torch, self.module(torch, where), where, inputs, threads)

    def _vectors(
        self, torch: Any, module: Any, device: Any, inputs: Inputs, threads: int | None,
        weights: Mapping[str, Array] | None = None,
    ) -> Float32:  # fmt: skip
        offsets, ids = self.tokens(inputs.texts or (), weights)
        n = len(offsets) - 1
        out = np.empty((n, int(module.config.hidden_size) + 1), np.float32)
        # Texts of like length together: little is padded.
        order = np.argsort(np.diff(offsets), kind="stable")

        def part(span: tuple[int, int]) -> None:
            rows = order[slice(*span)]
            with torch.no_grad():
                found = self.forward(torch, module, device, [ids[offsets[r] : offsets[r + 1]] for r in rows])
            out[rows] = found.cpu().numpy()

        if n:
            with one_thread(torch):
                run(part, spans(n, -(-n // PIECE)), threads=threads if device.type == "cpu" else 1)
        return out

    def check(self, weights: Mapping[str, Array]) -> None:
        values = {name: array for name, array in weights.items() if not name.startswith(FILE)}
        files = {name: array for name, array in weights.items() if name.startswith(FILE)}
        if not values or any(array.dtype != np.float32 for array in values.values()):
            raise StoreError("a TransformerEncoder needs its weights as float32")
        for name, array in files.items():
            if array.dtype != np.uint8 or array.ndim != 1 or not _PLAIN.fullmatch(name):
                raise StoreError(f"{shown(name)} must be the bytes of a file with a plain name")
        torch = import_torch("a TransformerEncoder")
        config = self._load("AutoConfig", weights)
        import transformers

        with torch.device("meta"):
            module = transformers.AutoModel.from_config(config)
        wanted = {name: tuple(value.shape) for name, value in _parameters(module).items()}
        if {name: array.shape for name, array in values.items()} != wanted:
            raise StoreError(f"the stored weights are not those of the model in {self.path!r}")
        self._carried = config.to_dict() if CONFIG in files else None

    def n_features(self, weights: Mapping[str, Array]) -> int | None:
        return None

    def n_weights(self, n_features: int) -> int:
        found = self._settings()
        hidden, layers = int(found["hidden_size"]), int(found.get("num_hidden_layers", 12))
        return hidden * (int(found.get("vocab_size", 30_000)) + 512) + layers * 12 * hidden**2


class _Training(Trainable):
    def piece(self, batch: int) -> int:
        return max(16, batch // 8)  # each has gradients of all parameters for itself: not too many

    def __init__(self, how: TransformerEncoder, inputs: Inputs, device: Any) -> None:
        torch = import_torch("a TransformerEncoder")
        self.how, self.device = how, device
        self.offsets, self.ids = how.tokens(inputs.texts or ())
        self.module = how.module(torch, device)
        if how.gradient_checkpointing:
            for part in self.module.modules():
                if isinstance(part, torch.nn.Dropout):
                    part.p = 0.0
            self.module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            self.module.train()  # or the library computes once all the same
        # On the CPU both names mean the same memory; elsewhere `batch` copies.
        self.parameters = _parameters(self.module)
        self.dense: dict[str, Float32] = {n: p.detach().cpu().numpy() for n, p in self.parameters.items()}

    def leaves(self, torch: Any) -> dict[str, Any]:
        return self.parameters

    def batch(self, rows: Int32, epoch: int) -> list[Int32]:
        if self.device.type != "cpu":
            torch = import_torch("a TransformerEncoder")
            with torch.no_grad():
                for name, value in self.parameters.items():
                    value.copy_(torch.from_numpy(self.dense[name]))
        return [self.ids[self.offsets[row] : self.offsets[row + 1]] for row in rows]

    def forward(self, torch: Any, batch: Any, span: tuple[int, int], leaf: Any, dense: Mapping[str, Any]) -> Any:
        return self.how.forward(torch, self.module, self.device, batch[slice(*span)]) + leaf.to(self.device) * 0


@contextmanager
def _unpacked(weights: Mapping[str, Array]) -> Iterator[str]:
    """A folder with the files that the weights carry, while the library reads it."""
    with TemporaryDirectory(prefix="xtrellis-") as folder:
        for name, content in weights.items():
            if _PLAIN.fullmatch(name):
                (Path(folder) / name.removeprefix(FILE)).write_bytes(content.tobytes())
        yield folder


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No bars of the library's own: whoever wants to see progress listens to ours."""
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _parameters(module: Any) -> dict[str, Any]:
    """All but the pooler: its output is not used, so it could not learn."""
    return {name: value for name, value in module.named_parameters() if not name.startswith("pooler.")}
