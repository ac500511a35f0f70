"""xtrellis: extreme multi-label classification — the few right labels among thousands to millions.

Public names load on first use, so that `import xtrellis` costs next to nothing and never loads torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> the module that holds it. The one list of what users may rely on.
_PUBLIC = {
    "BagEncoder": "neural",
    "BalancedTree": "index",
    "DataError": "errors",
    "Dataset": "data",
    "Elias": "neural",
    "EncoderOvA": "neural",
    "Ensemble": "rank",
    "ExplainedTag": "explained",
    "Explanation": "linear",
    "InputError": "errors",
    "FlatTree": "index",
    "GivenTree": "index",
    "Glas": "neural",
    "HuffmanTree": "index",
    "InterpolatedTree": "index",
    "KMeansTree": "index",
    "LabelTree": "index",
    "LinearTree": "linear",
    "Overlap": "index",
    "MissingExtraError": "errors",
    "NotFittedError": "errors",
    "ParameterError": "errors",
    "Ranker": "rank",
    "Report": "metrics",
    "Reranked": "rank",
    "SoftmaxTree": "softmax",
    "StoreError": "errors",
    "Tag": "tagger",
    "Tagger": "tagger",
    "TopK": "types",
    "TransformerEncoder": "neural",
    "TrainingError": "errors",
    "Vectorizer": "text",
    "XTransformer": "neural",
    "XtrellisError": "errors",
    "choose_tradeoff": "tuning",
    "concatenate_features": "features",
    "entangle": "labels",
    "evaluate": "metrics",
    "fuse": "labels",
    "import_pecos": "linear",
    "load": "store",
    "preset": "catalog",
    "presets": "catalog",
    "read": "data",
    "synthetic": "data",
    "write": "data",
}
_MODULES = {"data": "data", "datasets": "data.datasets", "metrics": "metrics", "store": "store"}

__all__ = ["__version__", *sorted(_PUBLIC), *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name in _PUBLIC:
        value = getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'xtrellis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
