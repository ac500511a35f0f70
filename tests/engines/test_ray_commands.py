"""`train`, `predict` and `tune` with `--engine ray`: what threads give; what is left of a driver that was killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis import cli

warnings.filterwarnings("ignore", category=FutureWarning, module="ray")
pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]
HOW = ["--holdout", "0", "--set", "index.max_leaf=5", "--seed", "3"]


@pytest.fixture(autouse=True)
def same_date(monkeypatch):
    """Models carry the date of their training; tests compare all of their bytes."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts in a data folder, made by two commands: the second adds to what the first has written."""
    place = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name, n in (("first", 500), ("second", 100)):
        rows = [{"text": " ".join(f"w{word}" for word in rng.zipf(1.3, 9) % 90)} for _ in range(n)]
        for row in rows:
            row["labels"] = sorted({f"l{word[1:]}" for word in row["text"].split()[:3]})
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done("convert", place / "first.jsonl", "--to", place / "data.xt")
    done("convert", place / "second.jsonl", "--to", place / "data.xt", "--append")
    assert xt.open(place / "data.xt", verify=True).n_rows == 600
    return place / "data.xt"


def done(*args):
    assert cli.run([str(arg) for arg in args]) == 0


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_commands_give_what_threads_give(cluster, folder, tmp_path, capsys):
    done("train", folder, "--to", tmp_path / "near", *HOW)
    done("train", folder, "--to", tmp_path / "far", *HOW, "--engine", "ray", "--address", cluster.address)
    assert content(tmp_path / "far") == content(tmp_path / "near")
    capsys.readouterr()
    done("predict", tmp_path / "near", folder, "-k", 4)
    expected = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    to = ["--engine", "ray", "--to", tmp_path / "answers"]
    done("predict", tmp_path / "near", folder, "-k", 4, *to)
    assert sorted(content(tmp_path / "answers")) == ["part-00000-of-00001.jsonl", "predictions.json"]
    lines = (tmp_path / "answers" / "part-00000-of-00001.jsonl").read_text().splitlines()
    assert [json.loads(line)["labels"] for line in lines] == [row["labels"] for row in expected]
    for wrong, told in ((["--engine", "ray"], "--to FOLDER"), (to, "already"), ([*to, "--json"], "leave the other")):
        assert cli.run([str(arg) for arg in ["predict", tmp_path / "near", folder, *wrong]]) != 0
        assert told in capsys.readouterr().err


def test_tune_gives_a_table_a_picture_and_the_best_model(cluster, folder, tmp_path, capsys):
    pytest.importorskip("optuna")
    for name, engine in (("near", []), ("far", ["--engine", "ray"])):
        made = ["--plot", tmp_path / f"{name}.svg", "--to", tmp_path / name]
        done("tune", folder, "--trials", 10, "--seed", 2, "--json", *made, *engine)
    near, far = (json.loads(line) for line in _objects(capsys.readouterr().out))
    assert near == far
    assert len(far["trials"]) == 10
    assert len({trial["rows"] for trial in far["trials"]}) == 3  # a ninth, a third, all
    assert content(tmp_path / "far") == content(tmp_path / "near")
    params = xt.load(tmp_path / "far").model.get_params()
    assert {name: params[name] for name in far["trials"][0]["params"]} == far["trials"][0]["params"]
    assert "<svg" in (tmp_path / "far.svg").read_text()
    done("tune", folder, "--trials", 1, "--engine", "ray")
    shown = capsys.readouterr().out
    assert "nDCG@5" in shown
    assert "The best: xtrellis train DATA --to MODEL --preset xr-linear --set " in shown


def _objects(out):
    """JSON values that stand one after another."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while (rest := out[at:].lstrip()) != "":
        value, length = decoder.raw_decode(rest)
        at = len(out) - len(rest) + length
        found.append(json.dumps(value))
    return found


DRIVER = """
import sys
from xtrellis import cli
from xtrellis.linear import train
kept = train.Trainer._keep
def slowly(self, task, block):
    kept(self, task, block)
    if task.work.missing == 0:
        print("kept", flush=True)
        sys.stdin.readline()  # somebody kills us here
train.Trainer._keep = slowly
cli.run(sys.argv[1:])
"""


def below(pid):
    """Processes below this one, and when each began: numbers are used again."""
    parents, begun = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if told[0] != "Z":
            parents[int(place.parent.name)], begun[int(place.parent.name)] = int(told[1]), told[19]
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {(one, begun[one]) for one in found if one in begun}


def test_nothing_is_left_of_a_driver_that_was_killed(cluster, folder, tmp_path, tmp_path_factory):
    done("train", folder, "--to", tmp_path / "whole", *HOW)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    rays = Path(f"/tmp/xt-{os.getpid()}")  # sockets lie in it, whose names must be short
    given = ["train", str(folder), "--to", str(tmp_path / "model"), *HOW]
    call = [sys.executable, "-c", DRIVER, *given, "--engine", "ray", "--threads", "1"]
    where = os.environ | {"TMPDIR": str(scratch), "RAY_TMPDIR": str(rays)}
    driver = subprocess.Popen(
        call,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=where,
        start_new_session=True,
    )
    try:
        assert driver.stdout.readline() == b"kept\n"
        processes = below(driver.pid)
        assert len(processes) > 3  # its own cluster
        driver.kill()
        driver.communicate()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and (left := processes & everyone()):
            time.sleep(0.2)
        assert not left
        assert not list(scratch.iterdir())
        done(*given, "--engine", "ray", "--resume")
        assert content(tmp_path / "model") == content(tmp_path / "whole")
        assert sorted(file.name for file in tmp_path.iterdir()) == ["model", "scratch", "whole"]
    finally:
        driver.kill()
        driver.communicate()
        shutil.rmtree(rays, ignore_errors=True)


def everyone():
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if told[0] != "Z":
            found.add((int(place.parent.name), told[19]))
    return found
