"""How neural models are trained: the loop, batches, layers and optimisers, several processes, learning curves."""

from .batches import Batch, Batches, take
from .curves import from_array, plot, to_array
from .layers import Embedding, Scalars, UnitVectors, bag
from .loop import Curves, Loop, SteadyLoop
from .optim import AdamW, RowAdamW, by_label
from .processes import ProcessGroup, n_processes
from .pytorch import device_of, import_torch, one_thread, run_pieces

__all__ = [
    "AdamW", "Batch", "Batches", "Curves", "Embedding", "Loop", "ProcessGroup", "RowAdamW", "Scalars", "SteadyLoop",
    "UnitVectors", "bag", "by_label", "device_of", "from_array", "import_torch", "n_processes", "one_thread", "plot",
    "run_pieces", "take", "to_array",
]  # fmt: skip
