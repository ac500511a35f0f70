"""The result of an evaluation: a dictionary that prints as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core import clear_calls, integer, require
from .names import Metric

if TYPE_CHECKING:
    from rich.table import Table


@clear_calls
class Report(dict[str, float]):
    """Metric name -> percentage (depth: a plain number), in the order asked for, with what it was computed on."""

    answered: float | None = None
    """With a threshold: the percentage of rows that keep an answer."""
    answers_per_row: float | None = None
    """With a threshold: how many answers a row keeps, of as many as the metrics look at, on average."""

    def __init__(
        self,
        values: dict[str, float],
        *,
        n_rows: int,
        n_labels: int,
        n_empty: int = 0,
        skip_empty: bool = False,
        propensity: tuple[float, float] | None = None,
        most_predictions: int | None = None,
        too_far: tuple[str, ...] = (),
    ) -> None:
        require(values, Mapping, "values", "a mapping of metrics' names to numbers")
        super().__init__(values)
        self.n_rows, self.n_labels, self.n_empty = n_rows, n_labels, n_empty
        self.skip_empty, self.propensity = skip_empty, propensity
        self.most_predictions, self.too_far = most_predictions, too_far
        """No row has more predictions than this, and these metrics look further: they count the missing as wrong."""

    @property
    def facts(self) -> dict[str, Any]:
        """What the numbers stand on: rows evaluated, labels, rows without labels, constants of the propensities."""
        return {
            "n_rows": self.n_rows,
            "n_labels": self.n_labels,
            "n_empty": self.n_empty,
            "skip_empty": self.skip_empty,
            "propensity": None if self.propensity is None else [float(constant) for constant in self.propensity],
        }

    def grid(self) -> tuple[list[int], dict[str, list[str]]]:
        """Cut-offs across, metrics down, numbers with two decimals; an empty cell where one was not asked for."""
        asked = [Metric.parse(name) for name in self]
        ks = sorted({metric.k for metric in asked})
        rows = {metric.kind: [""] * len(ks) for metric in asked}
        for metric in asked:
            rows[metric.kind][ks.index(metric.k)] = f"{self[str(metric)]:.2f}"
        return ks, rows

    def render(self) -> Table:
        """A table for a rich console."""
        from rich.table import Table

        ks, rows = self.grid()
        table = Table(title=None, caption=self._caption(), caption_justify="left")
        table.add_column("metric")
        for k in ks:
            table.add_column(f"@{k}", justify="right")
        for kind, cells in rows.items():
            table.add_row(kind, *cells)
        return table

    __rich__ = render

    def to_dict(self) -> dict[str, Any]:
        """`{"metrics": {…}, "n_rows": …}`: numbers and what they stand on, of Python's own types, as JSON has them."""
        return {"metrics": {name: float(value) for name, value in self.items()}, **self.facts}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as one line, or indented."""
        integer(at_least=0, or_none=True)("indent", indent)
        return json.dumps(self.to_dict(), indent=indent)

    def _caption(self) -> str:
        empty = (
            f", {self.n_empty:,} without labels {'left out' if self.skip_empty else 'count 0'}" if self.n_empty else ""
        )
        too_far = ", ".join(self.too_far)
        few = (
            f"; at most {self.most_predictions} predictions a row: {too_far} count the missing as wrong"
            if too_far
            else ""
        )
        return f"{self.n_rows:,} rows, {self.n_labels:,} labels{empty}{few}"

    def __str__(self) -> str:
        ks, rows = self.grid()
        lines = [["metric", *(f"@{k}" for k in ks)], *([kind, *cells] for kind, cells in rows.items())]
        widths = [max(len(line[i]) for line in lines) for i in range(len(ks) + 1)]
        aligned = [
            "  ".join(
                [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in lines
        ]
        return "\n".join([*(line.rstrip() for line in aligned), f"({self._caption()})"])
