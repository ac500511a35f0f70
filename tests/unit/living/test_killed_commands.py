"""The commands that change a model, killed at any moment: the model is as before or as after, and both happen."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from living_world import files, rows

import xtrellis as xt
from xtrellis import cli

NAMES = {f"v:{i}": f"label {i:02}" for i in range(30)}


def written(path: Path, texts: list[str], labels: list[list[str]]) -> Path:
    path.write_text(
        "".join(json.dumps({"text": t, "labels": own}) + "\n" for t, own in zip(texts, labels, strict=True))
    )
    return path


def words(path: Path, retired: tuple[str, ...] = ()) -> Path:
    lines = (
        {"id": id, "names": {"en": name}} | ({"state": "retired"} if id in retired else {})
        for id, name in NAMES.items()
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    train = written(folder / "train.jsonl", *rows(range(30), 12))
    written(folder / "new.jsonl", *rows(range(25, 30), 6, seed=3))
    words(folder / "words.jsonl")
    words(folder / "newer.jsonl", retired=("v:3", "v:7"))
    for name, more in (("model", []), ("known", ["--vocabulary", str(folder / "words.jsonl")])):
        args = ["train", str(train), "--to", str(folder / name), "--keep-rows", "--holdout", "0", "--threads", "1"]
        assert cli.run([*args, *more, "-q"]) == 0
    return folder


def in_a_child(args: list[str], wait: float | None) -> None:
    """The command in another process, which is killed after so many seconds, if any are given."""
    child = os.fork()
    if child == 0:
        try:
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            os._exit(cli.run(args))
        finally:
            os._exit(9)
    if wait is not None:
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if wait is None:
        assert os.waitstatus_to_exitcode(status) == 0


def killed(tmp_path: Path, source: Path, args: Callable[[Path], list[str]], kills: int, *, whole: bool) -> None:
    """Begin again and again, until it was killed so often; what is found is the model before or after."""
    model = tmp_path / "m"
    xt.load(source).save(tmp_path / "after")
    before = xt.load(tmp_path / "after").version, files(tmp_path / "after")
    start = time.perf_counter()
    in_a_child(args(tmp_path / "after"), None)
    taken = time.perf_counter() - start
    after = before[0] + 1, files(tmp_path / "after")
    if whole:
        assert before[1] != after[1]
    xt.load(source).save(model)
    rng = np.random.default_rng(0)
    seen = {before[0]: 0, after[0]: 0}
    least, most = 0.0, 1.1 * taken
    for i in range(kills):
        # The moments before the end are those that count; how long it takes is another thing from one time to the next.
        wait = rng.uniform(least, most) if i % 2 else rng.uniform(0.5 * (least + most), most)
        in_a_child(args(model), wait)
        found = xt.load(model, verify=True)
        seen[found.version] += 1
        assert files(model) == (before if found.version == before[0] else after)[1]
        assert len(found.history()) == found.version + 1
        if found.version == after[0]:
            most = max(wait, 0.5 * taken)
            xt.load(source).save(model)
        elif i % 2 == 0:
            most = max(most, 1.25 * wait)
    assert sum(seen.values()) == kills
    assert all(seen.values()), seen
    in_a_child(args(model), None)  # and nothing that the dead left is in the way
    assert (xt.load(model, verify=True).version, files(model)) == after
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["after", "m"]


def test_an_update_in_place_that_is_resumed(world, tmp_path):
    new = str(world / "new.jsonl")
    killed(
        tmp_path, world / "model",
        lambda m: ["update", str(m), new, "--to", str(m), "--resume", "--threads", "1", "-q"], 50, whole=True,
    )  # fmt: skip


def test_labels_that_are_retired(world, tmp_path):
    killed(tmp_path, world / "model", lambda m: ["labels", str(m), "retire", "label 03", "-q"], 20, whole=False)


def test_a_vocabulary_that_is_replaced(world, tmp_path):
    newer = str(world / "newer.jsonl")
    killed(
        tmp_path, world / "known",
        lambda m: ["update", str(m), "--vocabulary", newer, "--to", str(m), "-q"], 20, whole=True,
    )  # fmt: skip
