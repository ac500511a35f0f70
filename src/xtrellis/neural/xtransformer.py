"""`XTransformer`: an encoder that has learned to tell label clusters apart, and linear classifiers on what it says.

Chang et al., "Taming Pretrained Transformers for Extreme Multi-label Text Classification" (KDD 2020). The encoder is
fine-tuned to match rows with balanced clusters of labels; then a `LinearTree` is trained on [x/‖x‖, w φ(x)/‖φ(x)‖].
With `tree=LinearTree(overlap=Overlap())` this is the "+ Ours" of Liu et al. 2021 on X-Transformer.
Training needs torch (extra `deep`); a trained model with a BagEncoder does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse as sp

from ..arrays import (
    Array,
    Csr,
    Float32,
    Int32,
    TopK,
    as_features,
    as_pairs,
    as_row,
    as_rows,
    concatenate_features,
    for_scipy,
)
from ..core import StoreError, choice, integer, number, param, part, progress, size, size_text
from ..data import TrainingData
from ..explain import Explanation
from ..linear import LinearTree
from ..model import Estimate, Model, check_k
from ..store import Stages, State
from .encoders import (
    EncodedModel,
    balanced_clusters,
    clusters_of_rows,
    folded,
    inputs_of,
    n_clusters,
    texts_for,
    validation_split,
)
from .ova import LOSSES, OvATask, ova_settings
from .training import Loop, device_of, from_array, to_array

if TYPE_CHECKING:
    from typing_extensions import Self

CURVES = ("epoch", "loss", "train_p1", "validation_p1", "validation_r10")
STATES = 2  # whole states in memory: the one that is trained and the best so far


class XTransformer(EncodedModel):
    """Encoder → its vectors beside the features → a tree of linear classifiers, which gets the seed too.

    Several processes as in Elias: they share the work on the encoder; the tree is trained by each.
    """

    _learned = "_tree"
    uses_label_features = True
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
    n_clusters: int | None = param(
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
    memory_limit: int | str | None = param(
        size(or_none=True),
        "bytes that training may take, the data included; such as '4GB'",
        default=None,
        role="machine",
    )

    _tree: LinearTree | None = None

    @property
    def fitted_tree(self) -> LinearTree:
        """The trained tree (`tree` is only its description)."""
        self._require_fitted()
        return self._tree  # type: ignore[return-value]  # _require_fitted has looked

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.fitted_tree.n_labels

    def inner_models(self) -> Sequence[Model]:
        """The tree."""
        return (self.fitted_tree,)

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        torch = self._torch(checkpoint)
        expected = self._encoder_estimate(data)
        beside = size_text(expected.matrices_bytes)
        progress.note(f"the encoder takes about {size_text(expected.training_bytes)} beside {beside} of data")
        expected.require(self.memory_limit, "use a smaller dim of the encoder or fewer features")
        made_from = self.made_from(data) if checkpoint else {}
        with Stages(checkpoint, made_from) as stages:
            found = dict(stages.arrays("encoder", lambda at: self._tune(torch, data, at, made_from)))
            curves = from_array(found.pop("curves"), CURVES)
            inputs = inputs_of(self.encoder, data)
            vectors = self.encoder.encode(found, inputs, threads=self.threads, device=self.device)
            joined = replace(data, X=as_features(self._beside(data.X, vectors)), texts=None)
            del vectors
            tree = stages.made("tree", LinearTree, lambda at: self._new_tree().fit(joined, checkpoint=at))
        weights = {name: np.array(value) for name, value in found.items()}
        vars(self).update(_weights=weights, _tree=tree, _curves=curves)  # at once: Ctrl-C must not leave a mixture

    def _tune(
        self, torch: Any, data: TrainingData, checkpoint: Path | None, made_from: Mapping[str, Any]
    ) -> dict[str, Array]:
        """The encoder's weights after learning which clusters rows belong to, and how it went."""
        count = n_clusters(self.n_clusters, data.n_labels)
        graph = balanced_clusters(self.encoder, data, count, seed=self.seed, threads=self.threads, device=self.device)
        targets = clusters_of_rows(data.Y, graph)
        progress.note(f"fine-tuning the encoder for {targets.shape[1]:,} clusters of labels")
        train, validation = validation_split(data.Y, self.holdout, self.seed)
        how = ova_settings(self, len(train), loss=self.loss)
        inputs, device = inputs_of(self.encoder, data), device_of(torch, self.device)
        task = MatcherTask(inputs, targets, train, validation, self.encoder, how, torch, device)
        loop = Loop(task, epochs=self.epochs, patience=self.patience, rows=len(train), more=("validation_r10",))
        loop.run(checkpoint=checkpoint, made_from=made_from)
        weights = {name: value.copy() for name, value in task.encoder_weights().items()}
        return {"curves": to_array(loop.curves, CURVES), **weights, **self.encoder.files()}

    def validation_rows(self, Y: Csr) -> Int32:
        """None: rows that choose the encoder's epoch are rows of the tree as well."""
        return np.zeros(0, np.int32)

    def _new_tree(self) -> LinearTree:
        """Features and vectors are of the lengths that they are meant to have: those rows are not scaled again."""
        own = {"seed": self.seed, "threads": self.threads, "memory_limit": self.memory_limit}
        return self.tree.clone().set_params(**own, normalize_rows=False)

    def _estimate(self, data: TrainingData) -> Estimate:
        """The larger of the encoder's training and the tree's, whose rows are features and vectors."""
        n, dim = data.n_rows, self.encoder.width - 1
        dense = sp.csr_array(
            (np.ones(n * dim, np.float32), np.tile(np.arange(dim, dtype=np.int32), n), np.arange(n + 1) * dim),
            shape=(n, dim),
        )
        rows = as_features(concatenate_features(data.X, dense))
        tree = self._new_tree().estimate(replace(data, X=rows, texts=None))
        encoder = self._encoder_estimate(data)
        more = max(0, encoder.peak_bytes - tree.peak_bytes)
        return replace(
            tree,
            training_bytes=tree.training_bytes + more,
            model_bytes=tree.model_bytes + encoder.model_bytes,
            seconds=0,  # nobody knows the encoder's
        )

    def _encoder_estimate(self, data: TrainingData) -> Estimate:
        encoder = self.encoder.n_weights(data.n_features)
        clusters = n_clusters(self.n_clusters, data.n_labels) * self.encoder.width
        return Estimate.of(
            data,
            training_bytes=4 * STATES * (3 * encoder + 4 * clusters),
            model_bytes=4 * encoder,
        )

    @property
    def n_features(self) -> int:
        """Columns of X; those of the tree's rows that are no vectors."""
        return self.fitted_tree.trees[0].n_features - self.encoder.width + 1

    def features(self, X: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """What the tree reads: the rows' features at length 1, their vectors at length `vector_weight`."""
        rows = as_rows(X, n_features=self.n_features)
        texts_for(self.encoder, texts, rows.shape[0])
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
        """Why row `x` gets the label with this id, or why not: the tree's explanation, in features alone.

        What entries of the vector added counts for the features that they come from, or as a whole if it cannot be
        told. Arguments as in Elias.
        """
        tree, n_features = self.fitted_tree, self.n_features
        row = as_row(x, n_features=n_features)
        encoded = self.encoded_row(row, texts=texts)
        why = tree.explain(self._beside(row, encoded.vector[None]), label, label_counts=label_counts)
        return folded(why, encoded, first=n_features)

    def _asked(self) -> LinearTree:
        tree = self.fitted_tree
        if tree.threads != self.threads:
            tree.threads = self.threads
        return tree

    def _to_state(self) -> State:
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
        if len(self.validation):
            out["validation_p1"], out["validation_r10"] = self._quality(self.validation, 10)
        return out
