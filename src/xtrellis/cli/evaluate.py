"""`xtrellis evaluate MODEL DATA`: how good a model is on data with known labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from . import show
from .options import Beam, DataPath, Debug, Format, Json, ModelPath, Quiet, Read, Threads

if TYPE_CHECKING:
    from ..data import Dataset
    from ..metrics import Report
    from ..tagger import Tagger

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "PSP@1", "PSP@3", "PSP@5")


def evaluate(
    model: ModelPath,
    data: DataPath,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", help="What to measure: `P@1,R@10,PSP@5`; repeatable.")
    ] = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    beam: Beam = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure MODEL on DATA, whose labels are known."""
    from .files import Source, load_tagger
    from .train import summary

    source = Source(format, read, threads)
    tagger = load_tagger(model, threads, beam)
    wanted = [name for given in metrics for name in re.split(r"[\s,]+", given) if name] if metrics else None
    with show.listening(quiet) as say:
        dataset = source.read(data, "test")
        say(summary(source.name(data, "test"), dataset))
        report = measure(tagger, dataset, wanted, say=say)
    if json:
        show.as_json({"model": str(model), "data": str(data), "rows": dataset.n_rows, "metrics": dict(report)})
    else:
        show.result(report)


def measure(
    tagger: Tagger, dataset: Dataset, metrics: list[str] | None = None, *, say: show.Say | None = None
) -> Report:
    """Predict and compare, with as many predictions a row as the metrics look at."""
    import numpy as np

    from .. import metrics as room
    from ..types import TopK
    from .files import align

    asked = [room.Metric.parse(name) for name in metrics or METRICS]
    Y, excluded, unknown = align(dataset, tagger.label_names)
    if unknown and say is not None:
        say(f"{unknown:,} labels of the data are unknown to the model; they count as missed")
    weights = tagger.inverse_propensity(extra=unknown) if any(metric.weighted for metric in asked) else None
    if weights is None and metrics is None:
        asked = [metric for metric in asked if not metric.weighted]
    k = max(metric.k for metric in asked)
    if excluded is not None and excluded.nnz:  # these are taken out of the predictions, so ask for more
        k += int(np.diff(excluded.indptr).max())
    top = tagger.predict_dataset(dataset, k)
    top = TopK(top.labels, top.scores, Y.shape[1])
    depth = _label_depths(tagger, Y.shape[1]) if any(metric.kind == "depth" for metric in asked) else None
    return room.evaluate(Y, top, [str(metric) for metric in asked], weights=weights, drop=excluded, depth=depth)


def _label_depths(tagger: Tagger, n_labels: int) -> Any:
    """How deep each label lies in the model's tree; labels that it does not know are never predicted."""
    import numpy as np

    tree = getattr(tagger.model, "tree", None)
    if tree is None:
        raise InputError(f"depth@k needs a model with a label tree; this is a {type(tagger.model).__name__}")
    return np.pad(tree.label_depths, (0, n_labels - tree.n_labels))
