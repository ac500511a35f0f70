"""What is worth trying of a model's parameters, by the name that `set_params` takes; models have those they know."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..core import InputError
from ..model import Model

# (low, high, "log") are numbers, spread by their logarithms; a list holds the values themselves.
RANGES: dict[str, Any] = {
    "cost": (0.1, 10.0, "log"),
    "index__max_leaf": [25, 50, 100, 200, 400],
    "index__arity": [4, 8, 16, 32, 64],
    "prune": (0.02, 0.3, "log"),
    "positive_weight": (0.5, 4.0, "log"),
    "beam": [5, 10, 20],
    "negatives": ["teacher", "both"],
}


def ranges_of(model: Model, fixed: Collection[str] = ()) -> dict[str, Any]:
    """Those that this model has."""
    known = model.get_params(deep=True)
    found = {name: values for name, values in RANGES.items() if name in known and name not in fixed}
    if not found:
        raise InputError(
            f"nothing is known that is worth trying of a {type(model).__name__}; take a preset of linear trees"
        )
    return found


def drawn(trial: Any, ranges: dict[str, Any]) -> dict[str, Any]:
    """Values for an Optuna trial."""
    out = {}
    for name, values in ranges.items():
        if isinstance(values, list):
            out[name] = trial.suggest_categorical(name, values)
        else:
            low, high, how = values
            out[name] = float(f"{trial.suggest_float(name, low, high, log=how == 'log'):.3g}")
    return out
