"""`Elias`: an index of labels that is learned together with the classifiers and the encoder.

Gupta et al., "ELIAS: End-to-End Learning to Index and Search in Large Output Spaces" (NeurIPS 2022).
Training needs torch (extra `deep`); a trained model with a BagEncoder does not.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .. import progress
from ..arrays import as_pairs
from ..checks import flag, integer, n_bytes, number, size, size_text
from ..config import param
from ..errors import StoreError, TrainingError
from ..linear import Explanation
from ..linear.explain import asked_about
from ..model import check_k
from ..store import State
from ..types import Array, Csr, TopK
from .clusters import balanced, n_clusters
from .elias_graph import Graph
from .elias_network import NEVER, EliasNetwork
from .elias_task import EliasTask, Settings
from .encoded import EncodedModel
from .explaining import explain_elias
from .extra import device_of
from .given import as_scores, path_logs, products, sigmoid
from .rows import door, inputs_of, split
from .training import Loop, SteadyLoop

if TYPE_CHECKING:
    from typing_extensions import Self

CURVES = ("epoch", "stage", "loss", "regularizer", "train_p1", "held_out_p1", "held_out_r100")
STATES = 2  # whole states in memory: the one that is trained and the best so far


class Elias(EncodedModel):
    """Encoder → clusters → learned edges → shortlist → label classifiers, trained as one."""

    stages: int = param(
        integer(at_least=1, at_most=2), "1: clusters stay as made; 2: then learn which labels they lead to", default=2
    )
    clusters: int | None = param(
        integer(at_least=1, or_none=True), "clusters, a power of two; None: about one for 80 labels", default=None
    )
    edges: int | None = param(
        integer(at_least=1, or_none=True), "labels that a cluster may lead to; None: ten times its share", default=None
    )
    beam: int = param(integer(at_least=1), "clusters that a row looks at", default=20)
    shortlist: int = param(integer(at_least=1), "labels whose classifiers a row asks", default=2000)
    cluster_scale: float = param(
        number(at_least=1), "about how many clusters a row may give full score (α)", default=10.0
    )
    edge_scale: float | None = param(
        number(at_least=1, or_none=True),
        "about how many labels a cluster may give full score (β); None: twice its share",
        default=None,
    )
    shortlist_weight: float = param(
        number(at_least=0), "weight of the loss that pulls labels into the shortlist (λ)", default=0.3
    )
    epochs: int = param(integer(at_least=1), "passes over the rows at most, both stages together", default=10)
    first_share: float = param(
        number(above=0, at_most=0.9), "share of the epochs that belong to the first of two stages", default=0.4
    )
    learning_rate: float = param(
        number(above=0), "first step of classifiers and edges; falls to 0 over each stage", default=0.02
    )
    accumulate: int = param(integer(at_least=1), "batches between two steps of the label classifiers", default=1)
    averaging: float = param(
        number(at_least=0, at_most=1), "from this share of a stage on, the mean of the weights counts", default=0.7
    )
    second_rate: float = param(
        number(at_least=0, at_most=1), "share of the encoder's rate that it has in the second stage", default=0.3
    )
    relearn: bool = param(flag(), "label classifiers begin anew in the second stage", default=True)
    early_stopping: int | None = param(
        integer(at_least=1, or_none=True), "epochs of the last stage without gain before stopping", default=3
    )
    memory_limit: int | str | None = param(
        size(or_none=True), "bytes that training may take; such as '4GB'", default=None, stored=False
    )

    _network: EliasNetwork | None = None

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._network is not None

    @property
    def network(self) -> EliasNetwork:
        """The trained index and classifiers."""
        self._require_fitted()
        return cast(EliasNetwork, self._network)

    @property
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""
        return self.network.n_labels

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        texts: Sequence[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from n×d features (and n texts, if the encoder reads them) and n×L labels.

        `checkpoint` names a folder that the state after every epoch is written to. If it holds that of a training of
        the same data with the same parameters, this one goes on from there and ends with the same model. It is deleted
        at the end. Should the loss become NaN, a TrainingError says so and the model keeps its best state before that.

        Processes that torchrun has started, after torch.distributed.init_process_group("gloo"), share the work of every
        batch if all call this with the same data; each ends with the same model.
        """
        torch = self._torch(checkpoint)
        device = device_of(torch, self.device)
        X, Y, texts = door(self.encoder, X, Y, texts)
        how = self._settings(X, Y)
        self._announce(self.memory(int(X.shape[1]), int(Y.shape[1])), X, Y)
        train, held_out = split(Y, self.holdout, self.seed)
        graph = self._clusters(X, Y, texts, how.clusters)
        task = EliasTask(inputs_of(self.encoder, X, texts), Y, train, held_out, graph, self.encoder, how, torch, device)
        loop = StagedLoop(
            task, epochs=how.epochs, patience=self.early_stopping, rows=len(train), more=("stage", "held_out_r100")
        )
        loop.first = how.first_epochs if how.first_epochs < how.epochs else 0
        loop.held_out = len(task.held_out)
        self._run(task, loop, X, Y, checkpoint)
        return self

    def _finish(self, task: EliasTask, loop: Loop) -> None:
        network = task.network()
        self._network = network.pruned()  # best edges first, and no empty places at the end
        super()._finish(task, loop)

    def memory(self, n_features: int, n_labels: int) -> int:
        """Bytes that training will take beside the data, about."""
        width = self.encoder.width
        clusters = self._n_clusters(n_labels)
        dense = self.encoder.n_weights(n_features) + clusters * (width + 2 * self._n_edges(n_labels, clusters))
        pieces = 4 * self._batch(10**9) * self.shortlist * (self.accumulate * 3 + 4)
        return 4 * STATES * (3 * dense + 4 * n_labels * width) + pieces

    def _announce(self, wanted: int, X: Csr, Y: Csr) -> None:
        data = sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in (X, Y))
        progress.note(f"training takes about {size_text(wanted)} beside {size_text(data)} of data")
        if self.memory_limit is not None and wanted + data > n_bytes(self.memory_limit):
            raise TrainingError(
                f"training would take about {size_text(wanted + data)}, more than memory_limit={self.memory_limit!r}; "
                "a smaller dim of the encoder, fewer edges or a smaller shortlist take less"
            )

    def _n_clusters(self, n_labels: int) -> int:
        return n_clusters(self.clusters, n_labels)

    def _n_edges(self, n_labels: int, clusters: int) -> int:
        return min(n_labels, self.edges or math.ceil(10 * n_labels / clusters))

    def _settings(self, X: Csr, Y: Csr) -> Settings:
        n, n_labels = (int(size) for size in Y.shape)
        clusters = self._n_clusters(n_labels)
        share = n_labels / clusters
        first = self.epochs if self.stages == 1 or self.epochs == 1 else max(1, round(self.first_share * self.epochs))
        return Settings(
            clusters=clusters, edges=self._n_edges(n_labels, clusters), beam=self.beam, shortlist=self.shortlist,
            cluster_scale=self.cluster_scale, edge_scale=self.edge_scale or max(1.0, 2 * share),
            shortlist_weight=self.shortlist_weight, dropout=self.dropout, batch=self._batch(n), epochs=self.epochs,
            first_epochs=min(first, self.epochs), learning_rate=self.learning_rate,
            encoder_rate=self.encoder_rate or self.encoder.usual_rate, decay=self.decay, accumulate=self.accumulate,
            averaging=self.averaging, relearn=self.relearn, second_rate=self.second_rate, seed=self.seed,
            threads=self.threads,
        )  # fmt: skip

    def partition(self, X: Any, Y: Any, *, texts: Sequence[str] | None = None) -> Graph:
        """The clusters that training on these rows begins with: stage 1's index."""
        X, Y, texts = door(self.encoder, X, Y, texts)
        return self._clusters(X, Y, texts, self._n_clusters(int(Y.shape[1])))

    def _clusters(self, X: Csr, Y: Csr, texts: Sequence[str] | None, clusters: int) -> Graph:
        """Balanced clusters of the labels' centroids (appendix D.1)."""
        return balanced(self.encoder, X, Y, texts, clusters, seed=self.seed, threads=self.threads, device=self.device)

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row; scores are probabilities."""
        network, k = self.network, check_k(k)
        vectors = self.embed(X, texts=texts)
        found = network.predict(vectors, k, beam=self.beam, shortlist=self.shortlist, threads=self.threads)
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
        """Why row `x` gets label number `label`, or why not: its best clusters, feature by feature.

        `texts` is a list of the row's text, for an encoder that reads it. `label_counts` as in LinearTree.
        """
        network = self.network
        label, counts = asked_about(label, label_counts, network.n_labels)
        reading = self.reading(x, texts=texts)
        return explain_elias(network, reading, label, counts, beam=self.beam, shortlist=self.shortlist)

    def prune(self, *, least: float = 0.01, top: int | None = None) -> Self:
        """Drop edges with a lower score than `least`, and all but the `top` best of each cluster; returns the model.

        Most edges end up near 0: the paper drops 84% of them without loss. Fewer edges make predictions faster.
        """
        self._network = self.network.pruned(least=least, top=top)
        return self

    def to_state(self) -> State:
        """For the store."""
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
        return point["held_out_p1"] + point["held_out_r100"]
