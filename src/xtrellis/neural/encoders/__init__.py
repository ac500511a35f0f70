"""Encoders: rows in, vectors out; and what models that train one have in common."""

from .attribution import EncodedRow, Parts, folded
from .bag import BagEncoder
from .base import Encoder, Inputs, Trainable
from .clusters import ClusterGraph, balanced_clusters, clusters_of_rows, homes, n_clusters
from .inputs import inputs_of, texts_for, validation_split
from .model import EncodedModel
from .task import EncoderTask
from .transformer import TransformerEncoder

__all__ = [
    "BagEncoder", "ClusterGraph", "EncodedModel", "EncodedRow", "Encoder", "EncoderTask", "Inputs", "Parts",
    "Trainable", "TransformerEncoder", "balanced_clusters", "clusters_of_rows", "folded", "homes", "inputs_of",
    "n_clusters", "texts_for", "validation_split",
]  # fmt: skip
