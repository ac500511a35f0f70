"""`Elias`: an index of labels that is learned together with the classifiers and the encoder.

Gupta et al., "ELIAS: End-to-End Learning to Index and Search in Large Output Spaces" (NeurIPS 2022).
Training needs torch (extra `deep`); a trained model with a BagEncoder does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...arrays import Array, Csr, TopK, as_pairs
from ...core import InputError, StoreError, choice, flag, generator, integer, number, param, progress, size
from ...data import TrainingData
from ...explain import Explanation
from ...model import Estimate, check_k, check_label
from ...store import State
from ..encoders import (
    ClusterGraph,
    EncodedModel,
    Inputs,
    balanced_clusters,
    inputs_of,
    n_clusters,
    texts_for,
    validation_split,
)
from ..scoring import as_scores, products, sigmoid
from ..training import Loop, SteadyLoop, device_of
from .explain import explain_elias
from .network import NEVER, EliasNetwork, path_logs
from .task import EliasSettings, EliasTask
from .unseen import ROWS, answer_unseen

if TYPE_CHECKING:
    from typing_extensions import Self

CURVES = ("epoch", "stage", "loss", "regularizer", "train_p1", "validation_p1", "validation_r100")
STATES = 2  # whole states in memory: the one that is trained and the best so far


class Elias(EncodedModel):
    """Encoder → clusters → learned edges → shortlist → label classifiers, trained as one.

    Processes that torchrun has started, after torch.distributed.init_process_group("gloo"), share the work of every
    batch if all call `fit` with the same data; each ends with the same model. Should the loss become NaN, a
    TrainingError says so and the model keeps its best state before that. Labels of equal scores are ordered by id.
    """

    stages: int = param(
        integer(at_least=1, at_most=2), "1: clusters stay as made; 2: then learn which labels they lead to", default=2
    )
    n_clusters: int | None = param(
        integer(at_least=1, or_none=True), "clusters, a power of two; None: about one for 80 labels", default=None
    )
    edges_per_cluster: int | None = param(
        integer(at_least=1, or_none=True),
        "labels that a cluster may lead to (κ); None: ten times its share",
        default=None,
    )
    beam: int = param(integer(at_least=1), "clusters that a row looks at", default=20, role="fit+search")
    shortlist_size: int = param(
        integer(at_least=1), "labels whose classifiers a row asks (K)", default=2000, role="fit+search"
    )
    shortlist_by: str = param(
        choice("sum", "best"),
        "which labels an answer's shortlist holds: by all paths to them together, or by the best (the paper)",
        default="sum",
        role="search",
        before="best",
    )
    cluster_scale: float = param(
        number(at_least=1), "about how many clusters a row may give full score (α)", default=10.0
    )
    edge_scale: float | None = param(
        number(at_least=1, or_none=True),
        "about how many labels a cluster may give full score (β); None: its share of them",
        default=None,
    )
    shortlist_weight: float = param(
        number(at_least=0), "weight of the loss that pulls labels into the shortlist (λ)", default=0.3
    )
    epochs: int = param(integer(at_least=1), "passes over the rows at most, both stages together", default=10)
    stage1_share: float = param(
        number(above=0, at_most=0.9), "share of the epochs that belong to the first of two stages", default=0.4
    )
    learning_rate: float = param(
        number(above=0), "first step of classifiers and edges; falls to 0 over each stage", default=0.02
    )
    edge_learning_rate: float | None = param(
        number(above=0, or_none=True), "the same for edges; None: as learning_rate", default=None
    )
    edge_start: str = param(
        choice("counts", "random"),
        "values that edges begin with: by how many of the label's rows come to the cluster, or random (the paper)",
        default="counts",
    )
    first_cluster_rows: float = param(
        number(at_least=0),
        "how many rows a label's cluster of the first stage counts as when edges are placed; 0: as in the paper",
        default=2.0,
    )
    folds: int = param(
        integer(at_least=1, at_most=5),
        "2 or more: edges are placed by clusters that rows come to in first stages trained without them",
        default=1,
    )
    accumulate_steps: int = param(integer(at_least=1), "batches between two steps of the label classifiers", default=1)
    stage2_encoder_factor: float = param(
        number(at_least=0, at_most=1), "share of the encoder's rate that it has in the second stage", default=0.3
    )
    reset_classifiers: bool = param(flag(), "label classifiers begin anew in the second stage", default=True)
    unseen_labels: bool = param(
        flag(),
        "labels without rows are answered by their label_features (columns as X) or, by an encoder of texts, names",
        default=False,
    )
    memory_limit: int | str | None = param(
        size(or_none=True),
        "bytes that training may take, the data included; such as '4GB'",
        default=None,
        role="machine",
    )

    _network: EliasNetwork | None = None

    @property
    def network(self) -> EliasNetwork:
        """The trained index and classifiers."""
        self._require_fitted()
        return cast(EliasNetwork, self._network)

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.network.n_labels

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        torch = self._torch(checkpoint)
        device = device_of(torch, self.device)
        if self.unseen_labels:
            self._label_inputs(data)  # may be refused, and should be before hours of training
        expected = self._estimate(data)
        progress.note(str(expected))
        expected.require(
            self.memory_limit, "use a smaller dim of the encoder, fewer edges_per_cluster or a smaller shortlist_size"
        )
        how = self._settings(data)
        train, validation = validation_split(data.Y, self.holdout, self.seed)
        graph, inputs = self._clusters(data), inputs_of(self.encoder, data)
        task = EliasTask(inputs, data.Y, train, validation, graph, self.encoder, how, torch, device)
        loop = StagedLoop(
            task, epochs=how.epochs, patience=self.patience, rows=len(train), more=("stage", "validation_r100")
        )
        loop.first = how.stage1_epochs if how.stage1_epochs < how.epochs else 0
        loop.n_validation = len(task.validation)
        self._run(task, loop, data, checkpoint)
        if self.unseen_labels:
            self._answer_unseen(data)

    @property
    def uses_label_features(self) -> bool:
        """True with `unseen_labels` and an encoder that reads features."""
        return self.unseen_labels and not self.reads_texts

    def _label_inputs(self, data: TrainingData) -> Inputs:
        """What the encoder can read of labels."""
        if self.reads_texts:
            if data.label_names is None:
                raise InputError("unseen_labels with an encoder of texts needs label_names, one per label")
            return Inputs(texts=[str(name) for name in data.label_names])
        features = data.label_features
        if features is None or features.shape[1] != data.n_features:
            got = "none" if features is None else f"{features.shape[1]} columns"
            raise InputError(
                f"unseen_labels needs label_features with the {data.n_features} columns of X, since one encoder reads "
                f"both; got {got}. Make them by the vectorizer of the rows, or set unseen_labels=False"
            )
        return Inputs(X=features)

    def _answer_unseen(self, data: TrainingData) -> None:
        inputs, network = self._label_inputs(data), self.network
        told = np.ones(data.n_labels, bool) if inputs.X is None else np.diff(inputs.X.indptr) > 0
        names = self.encoder.encode(self._weights, inputs, threads=self.threads, device=self.device)
        counts = np.bincount(data.Y.indices, minlength=data.n_labels)
        rows = validation_split(data.Y, self.holdout, self.seed)[0]
        rows = np.sort(generator(self.seed, "worth").permutation(rows)[:ROWS])
        of = data.select(rows)
        vectors = self.encoder.encode(
            self._weights, inputs_of(self.encoder, of), threads=self.threads, device=self.device
        )
        self._network = answer_unseen(
            network, names, np.flatnonzero(told & (counts == 0)).astype(np.int32),
            np.flatnonzero(told & (counts > 0)).astype(np.int32), vectors, of.Y, beam=self.beam,
            shortlist_size=self.shortlist_size, by=self.shortlist_by,
        ).pruned()  # fmt: skip

    def _finish(self, task: EliasTask, loop: Loop, **learned: Any) -> None:
        network = task.network().pruned()  # best edges first, and no empty places at the end
        super()._finish(task, loop, _network=network, **learned)

    def _estimate(self, data: TrainingData) -> Estimate:
        width = self.encoder.width
        clusters = n_clusters(self.n_clusters, data.n_labels)
        edges = clusters * self._n_edges(data.n_labels, clusters)
        encoder = self.encoder.n_weights(data.n_features)
        dense = encoder + clusters * width + 2 * edges
        batch = min(int(self._batch_size(10**9)), max(1, data.n_rows))  # NumPy integers overflow
        steps = min(int(self.accumulate_steps), -(-data.n_rows // batch))  # an epoch's last batch waits for no others
        pieces = 4 * batch * min(int(self.shortlist_size), data.n_labels) * (steps * 3 + 4)
        states = STATES + (self.folds > 1 and self.stages > 1)  # and the one that is trained without a fold
        return Estimate.of(
            data,
            training_bytes=4 * states * (3 * dense + 4 * data.n_labels * width) + pieces,
            model_bytes=4 * (encoder + (clusters + data.n_labels) * width) + 8 * edges,
        )

    def _n_edges(self, n_labels: int, clusters: int) -> int:
        return min(n_labels, self.edges_per_cluster or math.ceil(10 * n_labels / clusters))

    def _settings(self, data: TrainingData) -> EliasSettings:
        n_labels = data.n_labels
        clusters = n_clusters(self.n_clusters, n_labels)
        share = n_labels / clusters
        first = self.epochs if self.stages == 1 or self.epochs == 1 else max(1, round(self.stage1_share * self.epochs))
        return EliasSettings(
            edges_per_cluster=self._n_edges(n_labels, clusters), beam=self.beam, shortlist_size=self.shortlist_size,
            cluster_scale=self.cluster_scale, edge_scale=self.edge_scale or max(1.0, share),
            shortlist_weight=self.shortlist_weight, dropout=self.dropout, batch_size=self._batch_size(data.n_rows),
            epochs=self.epochs, stage1_epochs=min(first, self.epochs), learning_rate=self.learning_rate,
            edge_learning_rate=self.edge_learning_rate or self.learning_rate, edge_start=self.edge_start,
            first_cluster_rows=self.first_cluster_rows, folds=self.folds,
            encoder_learning_rate=self.encoder_learning_rate or self.encoder.usual_rate,
            weight_decay=self.weight_decay, accumulate_steps=self.accumulate_steps, swa_start=self.swa_start,
            reset_classifiers=self.reset_classifiers, stage2_encoder_factor=self.stage2_encoder_factor,
            seed=self.seed, threads=self.threads,
        )  # fmt: skip

    def partition(self, X: Any, Y: Any = None, *, texts: Sequence[str] | None = None) -> ClusterGraph:
        """The clusters that training on these rows begins with: stage 1's index."""
        data = TrainingData.of(X, Y, texts=texts)
        texts_for(self.encoder, data.texts, data.n_rows)
        return self._clusters(data)

    def _clusters(self, data: TrainingData) -> ClusterGraph:
        """Balanced clusters of the labels' centroids (appendix D.1)."""
        count = n_clusters(self.n_clusters, data.n_labels)
        return balanced_clusters(self.encoder, data, count, seed=self.seed, threads=self.threads, device=self.device)

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row; scores are probabilities."""
        network, k = self.network, check_k(k)
        vectors = self.embed(X, texts=texts)
        found = network.predict(
            vectors, k, beam=self.beam, shortlist_size=self.shortlist_size, by=self.shortlist_by, threads=self.threads
        )
        return TopK(*found, network.n_labels)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score.

        A label's best path counts, whichever cluster it leads through: like a prediction with a beam of all clusters.
        """
        network, vectors = self.network, self.embed(X, texts=texts)
        wanted = as_pairs(labels, n_rows=len(vectors), n_labels=network.n_labels)
        logits = products(vectors, network.labels, wanted, threads=self.threads)
        return as_scores(sigmoid(logits) * np.exp(path_logs(network, vectors, wanted)), wanted)

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` gets the label with this id, or why not: its best clusters, feature by feature.

        `texts` is a list of the row's text, for an encoder that reads it. `label_counts` as in LinearTree.
        """
        network = self.network
        label, counts = check_label(label, label_counts, network.n_labels)
        row = self.encoded_row(x, texts=texts)
        return explain_elias(
            network, row, label, counts, beam=self.beam, shortlist_size=self.shortlist_size, by=self.shortlist_by
        )

    def prune(self, *, least: float = 0.01, top: int | None = None) -> Self:
        """Drop edges with a lower score than `least`, and all but the `top` best of each cluster; returns the model.

        Most edges end up near 0: the paper drops 84% of them without loss. Fewer edges make predictions faster.
        """
        self._network = self.network.pruned(least=least, top=top)
        return self

    def _to_state(self) -> State:
        network = self.network
        arrays: dict[str, Array] = {
            "clusters": network.clusters, "edge_ids": network.edge_ids, "edge_logs": network.edge_logs,
            "labels": network.labels, **self._encoder_arrays(CURVES),
        }  # fmt: skip
        return State(arrays=arrays)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store; what kernels trust is looked at."""
        model = cls(**params)
        model._take_encoder(state, CURVES)
        try:
            clusters, ids, logs, labels = (state.arrays[n] for n in ("clusters", "edge_ids", "edge_logs", "labels"))
        except KeyError as error:
            raise StoreError(f"an Elias needs the array {error.args[0]}") from None
        width = model.encoder.width
        shapes = {
            "clusters": (clusters, np.float32, (len(clusters), width)),
            "edge_ids": (ids, np.int32, (len(clusters), *ids.shape[1:2])),
            "edge_logs": (logs, np.float32, ids.shape),
            "labels": (labels, np.float32, (len(labels), width)),
        }
        for name, (array, dtype, shape) in shapes.items():
            if array.dtype != dtype or array.shape != shape or array.ndim != 2 or not array.size:
                raise StoreError(f"{name} must be {np.dtype(dtype)} of shape {shape}; got {array.dtype} {array.shape}")
        if ids.min() < -1 or ids.max() >= len(labels):
            raise StoreError(f"edge_ids must be labels below {len(labels)}, or -1")
        if not (logs <= 0).all() or not (logs >= NEVER).all():
            raise StoreError("edge_logs must be logarithms of scores up to 1")
        model._network = EliasNetwork(clusters, ids, logs, labels, model.cluster_scale)
        return model


class StagedLoop(SteadyLoop):
    """Only epochs of the last stage can be the best: the first one is a means.

    P@1 alone is all but settled while the index still learns to reach more labels, so R@100 counts as well.
    """

    def score(self, point: Mapping[str, float]) -> float:
        """The sum of both."""
        return point["validation_p1"] + point["validation_r100"]
