"""`XTransformer`: an encoder that has learned to tell label clusters apart, and linear classifiers on what it says.

Chang et al., "Taming Pretrained Transformers for Extreme Multi-label Text Classification" (KDD 2020). The encoder is
fine-tuned to match rows with balanced clusters of labels; then a `LinearTree` is trained on [x/‖x‖, w φ(x)/‖φ(x)‖].
With `tree=LinearTree(overlap=Overlap())` this is the "+ Ours" of Liu et al. 2021 on X-Transformer.
Training needs torch (extra `deep`); a trained model with a BagEncoder does not.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse as sp

from .. import progress
from ..arrays import as_features, as_labels, as_pairs, as_rows, for_scipy
from ..checks import choice, integer, n_bytes, number, part, size, size_text
from ..config import param
from ..errors import StoreError, TrainingError
from ..features import concatenate_features
from ..linear import Estimate, Explanation, LinearTree
from ..linear.explain import as_row
from ..linear.stages import Stages
from ..model import check_k
from ..store import State
from ..types import Array, Csr, Float32, Int32, TopK
from .clusters import balanced, clusters_of_rows, n_clusters
from .curves import from_array, to_array
from .encoded import EncodedModel
from .extra import device_of
from .ova import ova_settings
from .ova_task import LOSSES, OvATask
from .reading import folded
from .rows import checked_texts, door, inputs_of, split
from .training import Loop

if TYPE_CHECKING:
    from typing_extensions import Self

CURVES = ("epoch", "loss", "train_p1", "held_out_p1", "held_out_r10")
STATES = 2  # whole states in memory: the one that is trained and the best so far


class XTransformer(EncodedModel):
    """Encoder → its vectors beside the features → a tree of linear classifiers."""

    tree: LinearTree = param(
        part(LinearTree),
        "classifies features and vectors side by side; seed and threads are this model's",
        default=LinearTree(prune=0.03),  # the weights of vectors are many and small
    )
    vector_weight: float | None = param(
        number(above=0, or_none=True),
        "length of a vector beside the row's features, which have length 1; None: what suits the encoder",
        default=None,
    )
    clusters: int | None = param(
        integer(at_least=1, or_none=True),
        "label clusters that the encoder learns to tell apart, a power of two; None: about one for 80 labels",
        default=None,
    )
    loss: str = param(choice(*LOSSES), "what the encoder minimises over all clusters", default="squared-hinge")
    dropout: float = param(
        number(at_least=0, at_most=0.9), "share of a vector's entries set to 0 in training", default=0.4
    )
    epochs: int = param(integer(at_least=1), "passes of the encoder over the rows at most", default=10)
    learning_rate: float = param(
        number(above=0), "first step of the clusters' weights; falls to 0 over the epochs", default=0.02
    )
    seed: int = param(integer(at_least=0), "makes everything random repeatable; the tree gets it too", default=0)
    memory_limit: int | str | None = param(
        size(or_none=True), "bytes that training may take, the data included; such as '4GB'", default=None, stored=False
    )

    _tree: LinearTree | None = None

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._tree is not None

    @property
    def fitted_tree(self) -> LinearTree:
        """The trained tree (`tree` is only its description)."""
        self._require_fitted()
        return self._tree  # type: ignore[return-value]  # _require_fitted has looked

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.fitted_tree.n_labels

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        texts: Sequence[str] | None = None,
        label_features: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from n×d features (and n texts, if the encoder reads them) and n×L labels.

        `label_features` and `checkpoint` as in LinearTree; several processes as in Elias (they share the work on the
        encoder; the tree is trained by each). Should the loss become NaN, a TrainingError says so.
        """
        torch = self._torch(checkpoint)
        X, Y, texts = door(self.encoder, X, Y, texts)
        if label_features is not None:
            label_features = as_features(label_features, name="label features")
        self._announce(X, Y)
        made_from = {"X": X, "Y": Y, "label features": label_features}
        with Stages(checkpoint, self.to_config()["params"], made_from) as stages:
            found = dict(stages.arrays("encoder", lambda at: self._tune(torch, X, Y, texts, at)))
            curves = from_array(found.pop("curves"), CURVES)
            vectors = self.encoder.encode(
                found, inputs_of(self.encoder, X, texts), threads=self.threads, device=self.device
            )
            joined = self._beside(X, vectors)
            del vectors
            tree = self._new_tree().fit(joined, Y, label_features=label_features, checkpoint=stages.part("tree"))
        self._weights = {name: np.array(value) for name, value in found.items()}
        self._tree, self._curves = tree, curves
        return self

    def _tune(
        self, torch: Any, X: Csr, Y: Csr, texts: Sequence[str] | None, checkpoint: Path | None
    ) -> dict[str, Array]:
        """The encoder's weights after learning which clusters rows belong to, and how it went."""
        count = n_clusters(self.clusters, int(Y.shape[1]))
        graph = balanced(self.encoder, X, Y, texts, count, seed=self.seed, threads=self.threads, device=self.device)
        targets = clusters_of_rows(Y, graph)
        progress.note(f"fine-tuning the encoder for {targets.shape[1]:,} clusters of labels")
        train, held_out = split(Y, self.holdout, self.seed)
        how = ova_settings(self, len(train), loss=self.loss)
        inputs, device = inputs_of(self.encoder, X, texts), device_of(torch, self.device)
        task = MatcherTask(inputs, targets, train, held_out, self.encoder, how, torch, device)
        loop = Loop(task, epochs=self.epochs, patience=self.early_stopping, rows=len(train), more=("held_out_r10",))
        loop.run(checkpoint=checkpoint, params=self.to_config()["params"], data={"X": X, "Y": Y})
        weights = {name: value.copy() for name, value in task.encoder_weights().items()}
        return {"curves": to_array(loop.curves, CURVES), **weights, **self.encoder.files()}

    def unseen_rows(self, Y: Csr) -> Int32:
        """None: rows that choose the encoder's epoch are rows of the tree as well."""
        return np.zeros(0, np.int32)

    def _new_tree(self) -> LinearTree:
        tree = self.tree.clone().set_params(seed=self.seed, threads=self.threads, memory_limit=self.memory_limit)
        tree.index = copy.deepcopy(self.tree.index)  # it may know the labels' names, which are no parameter
        return tree

    def estimate(self, X: Any, Y: Any, *, label_features: Any = None) -> Estimate:
        """What the tree will take, whose rows are features and vectors. Quick and rough; `memory` is of the encoder."""
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        n, dim = int(X.shape[0]), self.encoder.width - 1
        dense = sp.csr_array(
            (np.ones(n * dim, np.float32), np.tile(np.arange(dim, dtype=np.int32), n), np.arange(n + 1) * dim),
            shape=(n, dim),
        )
        return self._new_tree().estimate(concatenate_features(X, dense), Y, label_features=label_features)

    def memory(self, n_features: int, n_labels: int) -> int:
        """Bytes that fine-tuning the encoder will take beside the data, about."""
        clusters = n_clusters(self.clusters, n_labels) * self.encoder.width
        return 4 * STATES * (3 * self.encoder.n_weights(n_features) + 4 * clusters)

    def _announce(self, X: Csr, Y: Csr) -> None:
        wanted = self.memory(int(X.shape[1]), int(Y.shape[1]))
        data = sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in (X, Y))
        progress.note(f"the encoder takes about {size_text(wanted)} beside {size_text(data)} of data")
        if self.memory_limit is not None and wanted + data > n_bytes(self.memory_limit):
            raise TrainingError(
                f"the encoder would take about {size_text(wanted + data)}, more than memory_limit="
                f"{self.memory_limit!r}; a smaller dim of the encoder or fewer features take less"
            )

    @property
    def n_features(self) -> int:
        """Columns of X; those of the tree's rows that are no vectors."""
        return self.fitted_tree.trees[0].n_features - self.encoder.width + 1

    def features(self, X: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """What the tree reads: the rows' features at length 1, their vectors at length `vector_weight`."""
        rows = as_rows(X, n_features=self.n_features)
        checked_texts(self.encoder, texts, rows.shape[0])
        X = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
        return self._beside(X, self.embed(X, texts=texts))

    def _beside(self, X: Csr, vectors: Float32) -> Csr:
        """Without the constant: the tree has its own."""
        weight = self.vector_weight or self.encoder.usual_weight
        return concatenate_features(X, vectors[:, :-1], weights=(1.0, weight))

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row; scores are the tree's."""
        tree, k = self._asked(), check_k(k)
        return tree.predict(self.features(X, texts=texts), k)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        tree = self._asked()
        rows = self.features(X, texts=texts)
        return tree.score(rows, for_scipy(as_pairs(labels, n_rows=int(rows.shape[0]), n_labels=self.n_labels)))

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` gets label number `label`, or why not: the tree's explanation, in features alone.

        What entries of the vector added counts for the features that they come from, or as a whole if it cannot be
        told. Arguments as in Elias.
        """
        tree, n_features = self.fitted_tree, self.n_features
        row = as_row(x, n_features=n_features)
        reading = self.reading(row, texts=texts)
        why = tree.explain(self._beside(row, reading.vector[None]), label, label_counts=label_counts)
        return folded(why, reading, first=n_features)

    def _asked(self) -> LinearTree:
        tree = self.fitted_tree
        if tree.threads != self.threads:
            tree.threads = self.threads
        return tree

    def to_state(self) -> State:
        """For the store."""
        return State(arrays=self._encoder_arrays(CURVES), parts={"tree": self.fitted_tree})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        model = cls(**params)
        model._take_encoder(state, CURVES)
        tree = state.parts.get("tree")
        if not isinstance(tree, LinearTree):
            raise StoreError("an XTransformer needs the part 'tree', a LinearTree")
        wanted = model.encoder.n_features(model._weights)
        beside = tree.trees[0].n_features - model.encoder.width + 1
        if beside < 0 or wanted not in (None, beside):
            raise StoreError(
                f"the tree of this XTransformer has {tree.trees[0].n_features} features, too few or too many for "
                f"its encoder's {model.encoder.width - 1} and {'the' if wanted is None else wanted} of the rows"
            )
        model._tree = tree
        return model


class MatcherTask(OvATask):
    """Clusters in the place of labels; recall among the first ten, which a search would look into."""

    def measure(self) -> dict[str, float]:
        out = {"train_p1": self._quality(self.sample, 1)[0]}
        if len(self.held_out):
            out["held_out_p1"], out["held_out_r10"] = self._quality(self.held_out, 10)
        return out
