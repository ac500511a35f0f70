"""Models with dense embeddings. Importing this loads no torch; training needs it (extra `deep`)."""

from .elias import NEVER, Elias, EliasNetwork, clusters_a_label
from .encoders import (
    BagEncoder,
    ClusterGraph,
    EncodedModel,
    EncodedRow,
    Encoder,
    Inputs,
    Trainable,
    TransformerEncoder,
    n_clusters,
)
from .glas import Glas, LabelIndex
from .ova import EncoderOvA
from .training import Curves
from .training import plot as plot_curves
from .xtransformer import XTransformer

__all__ = [
    "NEVER", "BagEncoder", "ClusterGraph", "Curves", "Elias", "EliasNetwork", "EncodedModel", "EncodedRow", "Encoder",
    "EncoderOvA", "Glas", "Inputs", "LabelIndex", "Trainable", "TransformerEncoder", "XTransformer", "clusters_a_label",
    "n_clusters", "plot_curves",
]  # fmt: skip
