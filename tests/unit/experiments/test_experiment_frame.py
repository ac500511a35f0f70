from __future__ import annotations

import json
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis import cli, experiments
from xtrellis.core.errors import DataError, InputError
from xtrellis.experiments.base import Experiment, run_all, write_page
from xtrellis.experiments.data import Bench
from xtrellis.experiments.figures import table
from xtrellis.experiments.measure import latency, quality
from xtrellis.experiments.results import Results

CALLS: list[dict] = []


def measure(run: dict, bench: Bench) -> list[dict]:
    CALLS.append(run)
    return [
        {"what": "rows", "value": bench.data(run["data"]).train.n_rows * run["factor"]},
        {"what": "one", "value": 1},
    ]


TOY = Experiment(
    name="toy",
    title="A toy",
    data=("pydocs",),
    seeds=2,
    plan=lambda data, seed, small: [{"data": data, "seed": seed, "factor": f} for f in ((1,) if small else (1, 2))],
    measure=measure,
    page=lambda rows, figures: table(["what", "value"], [[row["what"], row["value"]] for row in rows]),
)


def test_runs_are_done_once_and_the_page_shows_them_all(tmp_path: Path) -> None:
    CALLS.clear()
    assert run_all(TOY, tmp_path, small=True) == tmp_path / "toy.md"
    assert [run["seed"] for run in CALLS] == [0, 1]
    run_all(TOY, tmp_path)
    assert [(run["seed"], run["factor"]) for run in CALLS] == [(0, 1), (1, 1), (0, 2), (1, 2)]
    rows = [json.loads(line) for line in (tmp_path / "toy.jsonl").read_text().splitlines()]
    assert len(rows) == 8
    assert all({"date", "commit", "machine", "versions", "run", "data", "seed"} <= set(row) for row in rows)
    page = (tmp_path / "toy.md").read_text()
    assert page.count("| rows |") == 4
    assert "# A toy" in page


def test_only_some_runs(tmp_path: Path) -> None:
    CALLS.clear()
    run_all(TOY, tmp_path, only={"factor": ["2"]})
    assert [(run["seed"], run["factor"]) for run in CALLS] == [(0, 2), (1, 2)]
    run_all(TOY, tmp_path, only={"factor": ["1", "2"], "seed": ["0"]})
    assert [(run["seed"], run["factor"]) for run in CALLS[2:]] == [(0, 1)]
    with pytest.raises(InputError, match="no run has factor=3; there are 1, 2"):
        run_all(TOY, tmp_path, only={"factor": ["3"]})
    with pytest.raises(InputError, match="fields are data, seed, factor"):
        run_all(TOY, tmp_path, only={"fctor": ["1"]})


def test_results_that_are_no_json_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "toy.jsonl").write_text('{"run": {}}\nnot json\n')
    with pytest.raises(DataError, match="line 2"):
        Results(tmp_path / "toy.jsonl")


def test_a_page_needs_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results yet"):
        write_page(TOY, tmp_path)


def test_prepared_data_has_features_and_a_held_out_part_of_train() -> None:
    data = Bench().data("pydocs")
    chosen = data.held_out(seed=1)
    assert data.train.X.shape[1] == data.test.X.shape[1] > 1000
    assert chosen.train.n_rows + chosen.test.n_rows == data.train.n_rows
    assert data.weights().shape == (data.train.n_labels,)


def test_the_command_names_what_is_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.run(["experiment"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in experiments.EXPERIMENTS)
    assert cli.run(["experiment", "rank", "--to", str(tmp_path), "--only", "base"]) == 2
    assert "--only takes FIELD=VALUE; got 'base'" in capsys.readouterr().err
    assert cli.run(["experiment", "rank", "--to", str(tmp_path), "--only", "base=oak"]) == 2
    assert "no run has base=oak; there are xr-linear, parabel" in capsys.readouterr().err
    assert cli.run(["experiment", "no-such-thing", "--to", str(tmp_path)]) == 2
    assert "no experiment 'no-such-thing'" in capsys.readouterr().err


def test_quality_and_latency_of_a_model() -> None:
    data = Bench().data("pydocs")
    small = experiments.Prepared("pydocs", data.train.select(slice(0, 2000)), data.test.select(slice(0, 100)))
    model = xt.preset("xr-linear", threads=1).fit(small.train.X, small.train.Y)
    top = model.predict(small.test.X, k=10)
    found = quality(small, top)
    assert found["P@1"] == pytest.approx(xt.evaluate(small.test.Y, top, metrics=["P@1"])["P@1"], abs=1e-3)
    assert 0 < found["PSP@5"] < 100
    times = latency({"a": model}, small.test.X, rows=20, repeat=2)["a"]
    assert 0 < times["p10"] <= times["p50"] <= times["p99"]
