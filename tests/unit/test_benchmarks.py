"""The arithmetic of benchmarks/quick.py and of benchmarks/growth_report.py, on numbers whose answers are known."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import scipy.sparse as sp

import xtrellis as xt

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark():
    """Imports a module of benchmarks/ by its name."""
    before = set(sys.modules)
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "benchmarks"))
    for name in set(sys.modules) - before:  # "common" and "metrics" are nobody else's names
        if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_quick_compares_the_least_and_tells_the_spread(benchmark):
    before = [{"batch ms": [10.0, 8.0]}, {"batch ms": [12.0, 10.0]}, {"batch ms": [11.0, 9.0]}]
    after = [{"batch ms": [6.0, 4.0]}, {"batch ms": [5.0, 12.0]}, {"batch ms": [9.0, 9.0]}]
    found = benchmark("quick").compare(before, after)["batch ms"]
    assert found["before"] == [10.0, 8.0]
    assert found["after"] == [5.0, 4.0]
    assert (found["clock"], found["processor"]) == (0.5, 0.5)
    assert (found["from"], found["median"], found["to"]) == (0.5, 1.0, 1.2)
    assert (found["faster"], found["turns"]) == (1, 3)


def test_quick_leaves_out_what_one_side_lacks_and_divides_by_no_zero(benchmark):
    turns = [{"import ms": [1.0, 0.0], "new": [1.0, 1.0]}], [{"import ms": [2.0, 0.0]}]
    found = benchmark("quick").compare(*turns)
    assert list(found) == ["import ms"]
    assert (found["import ms"]["clock"], found["import ms"]["processor"]) == (2.0, 1.0)


def test_quick_refuses_what_is_no_commit(benchmark):
    with pytest.raises(SystemExit, match="no commit 'nothing-of-that-name'"):
        benchmark("quick_sites").full_name("nothing-of-that-name")


def test_quick_measures_a_package_where_it_lies(benchmark, tmp_path):
    """One turn, from the copy of the working tree to its answer; never of the package that is installed."""
    site = benchmark("quick_sites").site_of_working_tree(tmp_path / "site")
    data = xt.synthetic(n_rows=120, n_labels=12, n_features=60, features_per_row=6, seed=0)
    texts = [" ".join(f"word{j}" for j in data.X[[row]].indices) for row in range(120)]
    for name in ("X", "Y", "x"):
        sp.save_npz(tmp_path / f"{name}.npz", getattr(data, name.upper() if name == "x" else name))
    labels = [[f"label {j}" for j in data.Y[[row]].indices] for row in range(120)]
    (tmp_path / "texts.json").write_text(json.dumps({"texts": texts, "labels": labels, "unseen": texts[:5]}))

    def turn(place):
        command = [sys.executable, ROOT / "benchmarks" / "quick_worker.py", place, tmp_path, 1]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=tmp_path)

    said = turn(site)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert all(len(pair) == 2 and pair[0] > 0 for pair in found["times"].values())
    assert {"ensemble: batch ms", "parabel: single us", "texts: single us"} <= set(found["times"])
    assert len(found["checks"]) == 3
    assert "holds no package" in turn(tmp_path).stderr


def test_counts_are_those_of_the_dump(benchmark):
    counts = benchmark("counts")
    dump = """version: 1
desc: D1 cache: 32768 B, 64 B, 8-way associative
desc: Trigger: Client Request: batch search
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
fn=(1) something
1 10 1 1 0 0 0 0 0 0 1 0
totals: 4000 900 500 3 60 20 1 8 2 300 30 10 4
"""
    name, found = counts.counts(dump)
    assert name == "batch search"
    assert counts.summary(found, 10) == {
        "instructions": 400, "l1_misses": 8, "last_misses": 1, "branches": 31, "branch_misses": 3.4,
    }  # fmt: skip
    assert (
        counts.summary(counts.counts("events: Ir Dr\ntotals: 20\n")[1], 10)["instructions"] == 2
    )  # zeros are left out


def line(engine, cost, **size):
    at = {"rows": 100, "labels": 20, "features": 50, "nonzeros": 4, "threads": 1} | size
    told = {"labels_with_rows": at["labels"], "nonzeros_a_row": float(at["nonzeros"])}
    fields = dict.fromkeys(("train_cpu_seconds", "batch_cpu_ms", "p50_us", "added_mb"), cost)
    return {"engine": engine, **at, **told, **fields}


def test_exponents_are_those_of_power_laws(benchmark):
    growth = benchmark("growth_report")
    sizes = [3.0, 10.0, 100.0, 1000.0]
    for power in (0.0, 0.5, 1.0, 2.0):
        assert growth.exponent(sizes, [7 * size**power for size in sizes]) == pytest.approx(power)


def test_a_curve_changes_one_number_alone(benchmark):
    growth = benchmark("growth_report")
    lines = [
        *(line("pecos", 0.01 * rows, rows=rows) for rows in (10, 1000, 100)), line("pecos", 3, labels=2),
        line("pecos", 4, labels=200), line("pecos", 9, threads=2), line("omikuji", 5),
        {**line("pecos", 5, rows=300), "failed": "train: exit code 1"},
    ]  # fmt: skip
    assert [found["rows"] for found in growth.curve(lines, "rows", "pecos")] == [10, 100, 1000]
    assert [found["labels"] for found in growth.curve(lines, "labels", "pecos")] == [2, 20, 200]
    assert [found["threads"] for found in growth.curve(lines, "threads", "pecos")] == [1, 2]
    assert growth.slopes(lines, "rows")["pecos"]["p50_us"] == pytest.approx(1)
    assert "omikuji" not in growth.slopes(lines, "rows")


def test_sweeps_span_two_decades(benchmark):
    growth = benchmark("growth")
    for name, values in growth.SWEEPS.items():
        assert max(values) / min(values) >= (2 if name == "threads" else 100)
        assert set(growth.sizes([name])) >= {growth.MIDDLE._replace(**{name: v}) for v in values}
    assert growth.sizes(list(growth.SWEEPS))[0] == growth.MIDDLE
