"""How good a tagger is, alone or beside another one: labels of model and data are matched by their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Csr, StringTable, TopK, assemble, is_list
from ..core import InputError, ParameterError, integer, require, shown
from ..data import Dataset, align
from ..metrics import Comparison, Metric, Reliability, Report, compare, evaluate, reliability
from ..model import Model
from .likely import Threshold, asked_for, check_threshold, cut

if TYPE_CHECKING:
    from .tagger import Tagger

COMPARED = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "F1@5")
EXAMPLES = 3  # names that are shown
METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "PSP@1", "PSP@3", "PSP@5")
AT_THRESHOLD = ("F1@10", "microF1@10", "macroF1@10")  # what a threshold is for


def evaluate_tagger(
    tagger: Tagger,
    dataset: Dataset,
    metrics: Iterable[str] | str | None = None,
    *,
    threshold: Threshold = None,
    predictions: TopK | None = None,
) -> Report:
    """See `Tagger.evaluate`."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    check_threshold(threshold)
    if predictions is not None:
        require(predictions, TopK, "predictions", "an xt.TopK")
    names = tagger.label_ids
    usual = METRICS if threshold is None else METRICS + AT_THRESHOLD
    asked = [Metric.parse(name) for name in (usual if metrics is None else metric_names(metrics))]
    if not asked:
        raise ParameterError("metrics must name at least one metric, such as 'P@1'")
    aligned = align(tagger.by_ids(dataset), names, unknown="keep")
    width = max(aligned.n_labels, 0 if predictions is None else predictions.n_labels)
    weights = None
    if any(metric.weighted for metric in asked):
        weights = tagger.inverse_propensity(extra=width - len(names))
        if weights is None and metrics is not None:
            raise InputError("PSP and PSnDCG need the frequencies of labels in training, which this model lacks")
    if weights is None:
        asked = [metric for metric in asked if not metric.weighted]
    top = predictions
    if top is None:
        k = max(metric.k for metric in asked)
        if aligned.excluded is not None and aligned.excluded.nnz:  # taken out of the predictions: ask for more
            k += int(np.diff(aligned.excluded.indptr).max())
        top = cut(tagger, tagger.predict(dataset, asked_for(k, threshold)), threshold)
    elif isinstance(threshold, str):
        raise InputError(f"threshold={threshold!r} is for a model's own answers; give predictions of others a number")
    else:
        top = above(top, threshold)
    report = evaluate(
        widened(aligned.Y, width),
        TopK(top.labels, top.scores, width),
        [str(metric) for metric in asked],
        weights=weights,
        drop=None if aligned.excluded is None else widened(aligned.excluded, width),
        depth=_label_depths(tagger.model, width) if any(metric.kind == "depth" for metric in asked) else None,
    )
    if threshold is not None and len(top):
        kept = (top.labels >= 0).sum(axis=1).clip(max=max(metric.k for metric in asked))
        report.answered, report.answers_per_row = 100 * float((kept > 0).mean()), float(kept.mean())
    return report


def reliability_of(tagger: Tagger, dataset: Dataset, *, k: int = 10) -> Reliability | None:
    """See `Tagger.reliability`."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    integer(at_least=1)("k", k)
    if tagger.probability_curves is None and not tagger.model.answers_probabilities:
        return None
    found = tagger.probabilities(tagger.predict(dataset, k))
    return None if found is None else reliability(align(tagger.by_ids(dataset), tagger.label_ids).Y, found, k=k)


def compare_taggers(
    tagger: Tagger,
    other: Tagger,
    dataset: Dataset,
    metrics: Iterable[str] | str | None = None,
    *,
    k: int = 5,
    seed: int = 0,
) -> Comparison:
    """See `Tagger.compare`."""
    require(other, type(tagger), "other", "an xt.Tagger")
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    asked = [Metric.parse(name) for name in (COMPARED if metrics is None else metric_names(metrics))]
    integer(at_least=1)("k", k)
    aligned = align(tagger.by_ids(dataset), tagger.label_ids, unknown="keep")
    known = aligned.label_names or tagger.label_ids
    own = np.array([-1 if (i := known.find(name)) is None else i for name in other.label_ids], np.int64)
    new = own < 0
    own[new] = len(known) + np.arange(int(new.sum()))
    width = max(aligned.n_labels, len(known)) + int(new.sum())
    most = max([k, *(metric.k for metric in asked)])
    if aligned.excluded is not None and aligned.excluded.nnz:
        most += int(np.diff(aligned.excluded.indptr).max())
    a, b = tagger.predict(dataset, most), other.predict(dataset, most)
    renumbered = np.where(b.labels >= 0, own[b.labels], -1).astype(np.int32)
    counts = tagger.label_counts if tagger.n_rows else None
    return compare(
        widened(aligned.Y, width),
        TopK(a.labels, a.scores, width),
        TopK(renumbered, b.scores, width),
        [str(metric) for metric in asked],
        label_counts=None if counts is None else np.pad(counts, (0, width - len(counts))),
        k=k,
        weights=tagger.inverse_propensity(extra=width - tagger.n_labels),
        drop=None if aligned.excluded is None else widened(aligned.excluded, width),
        seed=seed,
    )


class Unknown(NamedTuple):
    """Labels of some data that a tagger does not know, most frequent first, and how often they occur there."""

    names: list[str]
    entries: int

    def __str__(self) -> str:
        shown_names = ", ".join(repr(name) for name in self.names[:EXAMPLES]) + (
            " …" if len(self.names) > EXAMPLES else ""
        )
        labels = "1 label" if len(self.names) == 1 else f"{len(self.names):,} labels"
        return f"{labels} of the data ({shown_names}), {self.entries:,} times"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a few of the names."""
        return {"labels": len(self.names), "entries": self.entries, "examples": self.names[:EXAMPLES]}


def unknown_labels(tagger: Tagger, dataset: Dataset) -> Unknown:
    """What a tagger can never get right there. Data without names is in the numbering of the tagger's labels."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    dataset = tagger.by_ids(dataset)
    counts = np.bincount(dataset.Y.indices, minlength=dataset.n_labels)
    met = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
    if dataset.label_names is None:
        missing = [i for i in met if i >= tagger.n_labels]
    else:
        names = dataset.label_names
        missing = [i for i in met if tagger.label_ids.find(names[i]) is None]
    found = [str(i) if dataset.label_names is None else dataset.label_names[i] for i in missing]
    return Unknown(found, int(counts[missing].sum()))


def _label_depths(model: Model, n_labels: int) -> Any:
    """How deep each label lies in the model's tree; labels that it does not know are never predicted."""
    # (A parameter may be called `tree` too: XTransformer's is a model.)
    depths = getattr(getattr(model, "tree", None), "label_depths", None)
    if depths is None:
        raise InputError(f"depth@k needs a model with a label tree; this is a {type(model).__name__}")
    return np.pad(depths, (0, n_labels - len(depths)))


def evaluate_predictions(
    dataset: Dataset, predictions: TopK, names: StringTable | None, metrics: Iterable[str] | str | None = None
) -> Report:
    """How good predictions are whose labels have `names` (without: the numbers of the data set's own)."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    require(predictions, TopK, "predictions", "an xt.TopK")
    asked = [Metric.parse(name) for name in (METRICS if metrics is None else metric_names(metrics))]
    if metrics is None:
        asked = [metric for metric in asked if not metric.weighted]
    if any(metric.weighted for metric in asked):
        raise InputError("PSP and PSnDCG need the frequencies of labels in training: give the model as well")
    aligned = dataset if names is None else align(dataset, names, unknown="keep")
    width = max(aligned.n_labels, predictions.n_labels)
    return evaluate(
        widened(aligned.Y, width),
        TopK(predictions.labels, predictions.scores, width),
        [str(metric) for metric in asked],
        drop=None if aligned.excluded is None else widened(aligned.excluded, width),
    )


def widened(Y: Csr, n_labels: int) -> Csr:
    """The same entries with more label columns."""
    return Y if Y.shape[1] == n_labels else assemble(Y.data, Y.indices, Y.indptr, (Y.shape[0], n_labels))


def above(top: TopK, threshold: float | None) -> TopK:
    """Only predictions with at least this score; None leaves all."""
    if threshold is None:
        return top
    return TopK(np.where(top.scores >= threshold, top.labels, np.int32(-1)), top.scores, top.n_labels)


def metric_names(metrics: Iterable[str] | str | None) -> list[str]:
    """Names from a list, or from one string with commas or spaces."""
    if isinstance(metrics, str):
        given: list[Any] = [metrics]
    elif metrics is None or is_list(metrics):
        given = list(() if metrics is None else metrics)
    else:
        raise ParameterError(f"metrics must be a list of names such as 'P@5'; got {shown(metrics)}")
    return [name for some in given for name in (some.replace(",", " ").split() if isinstance(some, str) else [some])]
