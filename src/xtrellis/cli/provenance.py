"""What `train` notes of a model: when and from what it was made, how good it was, and the user's own words.

The same command on the same data gives the same bytes but for the date. SOURCE_DATE_EPOCH (seconds since 1970, as
https://reproducible-builds.org has it) sets that too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..core import ParameterError

if TYPE_CHECKING:
    from ..metrics import Report


class Data(Protocol):
    """What is noted of training data."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def fingerprint(self) -> dict[str, str | None]: ...


EPOCH = "SOURCE_DATE_EPOCH"


def today() -> str:
    """The time in UTC, as ISO 8601 has it."""
    given = os.environ.get(EPOCH)
    if given is None:
        when = datetime.now(timezone.utc)
    else:
        try:
            when = datetime.fromtimestamp(int(given), timezone.utc)
        except (ValueError, OverflowError, OSError):
            raise ParameterError(f"{EPOCH} must be seconds since 1970; got {given!r:.80}") from None
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def fingerprint(data: Data) -> str:
    """One hash of all that a model learns from: the same for the same rows, texts and labels."""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in data.fingerprint.items():
        digest.update(f"{name} {value}\n".encode())
    return digest.hexdigest()


def about(
    sources: Sequence[Path],
    data: Data,
    notes: dict[str, str],
    *,
    preset: str,
    measured: tuple[int, Report] | None,
    before_refit: bool,
) -> dict[str, Any]:
    """All of it, as JSON."""
    out: dict[str, Any] = {
        "date": today(),
        "preset": preset,
        "data": {
            "files": [path.name for path in sources],
            "rows": data.n_rows,
            "features": data.n_features,
            "labels": data.n_labels,
            "fingerprint": fingerprint(data),
        },
    }
    if measured is not None:
        rows, report = measured
        out["held_out"] = {"rows": rows, "metrics": dict(report)}
        if before_refit:
            out["held_out"]["of"] = "the model before it was trained again on all rows"
    if notes:
        out["notes"] = notes
    return out
