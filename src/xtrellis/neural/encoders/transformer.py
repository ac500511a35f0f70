"""`TransformerEncoder`: a Hugging Face encoder, from a local folder or the hub's cache. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...arrays import Array, Float32, Int32, Int64
from ...core import choice, file_path, flag, integer, param, spans
from ..training import device_of, import_torch, one_thread, run_pieces
from .architectures import Settings
from .base import Encoder, Inputs, Trainable
from .pretrained import Pretrained, is_carried, opened, settings_at, trained_parameters, unpacked

PIECE = 32  # texts encoded at once


class TransformerEncoder(Encoder):
    """A pretrained transformer, fine-tuned with the model that stands on it.

    It can be an ALBERT, BERT, CamemBERT, DistilBERT, ELECTRA, MPNet, RoBERTa or XLM-RoBERTa, with weights as
    safetensors and a tokenizer that has a tokenizer.json.
    """

    reads = "texts"
    usual_rate = 5e-5
    usual_weight = 1.0

    path: str = param(file_path(), "folder of a model, or its name in the hub's cache", default="")
    pooling: str = param(
        choice("mean", "cls"), "the mean of the tokens' vectors, or the vector of the first token", default="mean"
    )
    max_length: int = param(
        integer(at_least=2),
        "tokens of a text at most, if the network has places for so many; the rest is cut off",
        default=128,
    )
    gradient_checkpointing: bool = param(flag(), "compute twice, to train in less memory", default=False)
    mixed_precision: bool = param(flag(), "compute in 16 bits where a GPU does the work", default=True)

    _source: Pretrained | None = None  # what the training reads, once one has begun
    _carried: tuple[Mapping[str, Array], Pretrained] | None = None  # of the weights that were asked for last
    _cached: tuple[Mapping[str, Array], str, Any] | None = None  # the network, likewise
    _known: tuple[str, Settings] | None = None  # the settings of trained or stored weights, and `path` then

    @property
    def width(self) -> int:
        return int(self._settings()["hidden_size"]) + 1

    def _settings(self) -> Settings:
        if self._known is not None and self._known[0] == self.path:
            return self._known[1]
        return settings_at(self.path)

    def _opened(self) -> Pretrained:
        """What lies at `path`: it stays the same for a training."""
        if self._source is None or self._source.path != self.path:
            self._source = opened(self.path)
        return self._source

    def _of(self, weights: Mapping[str, Array]) -> Pretrained:
        """What belongs to these weights: what they carry or, of weights in training, what lies at `path`."""
        if not is_carried(weights):
            return self._opened()
        if self._carried is None or self._carried[0] is not weights:
            self._carried = (weights, unpacked(weights))
        return self._carried[1]

    def module(self, torch: Any, device: Any, weights: Mapping[str, Array] | None = None) -> Any:
        """The network on a device: as pretrained, or with these weights."""
        module = self._opened().pretrained_network() if weights is None else self._of(weights).network(weights)
        module.eval()
        return module.to(device)

    def start(self, inputs: Inputs, *, seed: int, threads: int | None, device: Any) -> Trainable:
        self._source = None  # another model may lie at the same path since the last training
        out = _Training(self, inputs, device)
        self._known = (self.path, self._opened().settings)
        return out

    def files(self) -> dict[str, Array]:
        return self._opened().files()

    def tokens(self, texts: Sequence[str], weights: Mapping[str, Array] | None = None) -> tuple[Int64, Int32]:
        """Where each text begins, and all their token numbers, one after another."""
        return (self._opened() if weights is None else self._of(weights)).tokens(texts, self.max_length)

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
        self._source = None  # as in `start`
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
                run_pieces(torch, part, spans(n, -(-n // PIECE)), threads=threads if device.type == "cpu" else 1)
        return out

    def check(self, weights: Mapping[str, Array]) -> None:
        # Never by way of `path`, which is the word of whoever made the model.
        self._carried = (weights, unpacked(weights))
        self._known = (self.path, self._carried[1].settings)

    def n_features(self, weights: Mapping[str, Array]) -> int | None:
        return None

    def n_weights(self, n_features: int) -> int:
        return self._settings().n_weights


class _Training(Trainable):
    def piece(self, batch: int) -> int:
        return max(16, batch // 8)  # each has gradients of all parameters for itself: not too many

    def __init__(self, how: TransformerEncoder, inputs: Inputs, device: Any) -> None:
        torch = import_torch("a TransformerEncoder")
        self.how, self.device = how, device
        self.offsets, self.ids = how.tokens(inputs.texts or ())
        self.module = how.module(torch, device)
        if how.gradient_checkpointing:
            module = self.module  # the method's name until transformers 5
            enable = getattr(module, "activation_checkpointing_enable", module.gradient_checkpointing_enable)
            enable({"use_reentrant": False})
            self.module.train()  # or the library computes once all the same
        # On the CPU both names mean the same memory; elsewhere `batch` copies.
        self.parameters = trained_parameters(self.module)
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
