from __future__ import annotations

from pathlib import Path

import xtrellis as xt
from xtrellis import cli


def test_every_step_is_measured_and_shown(tmp_path: Path) -> None:
    for part, first in (("train", 0), ("test", 400)):
        data = xt.synthetic(n_rows=400, n_labels=60, n_features=300, seed=1, first_row=first)
        (tmp_path / "data").mkdir(exist_ok=True)
        xt.write(data, tmp_path / "data" / f"{part}.txt")
    args = ["experiment", "rank", "--data", str(tmp_path / "data"), "--seeds", "1", "--small", "--to", str(tmp_path)]
    assert cli.run([*args, "--quiet"]) == 0
    page = (tmp_path / "rank.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0].strip("| ") for row in rows if "---" not in row] == [
        "base", "+ ranker", "+ calibration", "+ calibration, sum", "3 × base, mean",
        "3 × base, reciprocal-rank", "3 × calibrated",
    ]  # fmt: skip
