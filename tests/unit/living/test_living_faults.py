"""A change that is killed, or finds the disk full, leaves the model before or after it, never between."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from living_world import files, rows, tagger

import xtrellis as xt
from xtrellis import store
from xtrellis.store import journal

NEW = rows(range(28, 36), 6, seed=3)
KILLS = 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("living") / "model"
    tagger("xr-linear,neighbors", threads=1).save(path)
    return path


def change(path: Path) -> None:
    live = xt.load(path)
    live.model.set_params(threads=1)
    live.update(*NEW).save(path)


def test_an_update_killed_at_any_moment_leaves_the_model_before_or_after(folder, tmp_path):
    xt.load(folder).save(tmp_path / "m")
    before = files(tmp_path / "m")
    start = time.perf_counter()
    xt.load(folder).save(tmp_path / "after")
    change(tmp_path / "after")
    taken = time.perf_counter() - start
    after = files(tmp_path / "after")
    rng = np.random.default_rng(0)
    seen = {0: 0, 1: 0}
    for _ in range(KILLS):
        child = os.fork()
        if child == 0:
            try:
                change(tmp_path / "m")
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0, 1.2 * taken))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = xt.load(tmp_path / "m", verify=True)
        seen[found.version] += 1
        assert files(tmp_path / "m") == (before, after)[found.version]
        assert [e["version"] for e in found.history()] == list(range(found.version + 1))
        if found.version:
            xt.load(folder).save(tmp_path / "m")
    assert sum(seen.values()) == KILLS
    assert seen[0]
    change(tmp_path / "m")  # and nothing that the dead left is in the way
    assert files(tmp_path / "m") == after
    assert sorted(p.name for p in tmp_path.iterdir()) == ["after", "m"]


def test_a_line_that_was_cut_short_was_never_written(folder, tmp_path):
    live = xt.load(folder)
    live.save(tmp_path / "m")
    live.retire("label 01").write_changes(tmp_path / "m", since=0)
    at = tmp_path / "m" / "journal.jsonl"
    first = at.read_bytes()
    live.rename({"label 02": "second é"}).write_changes(tmp_path / "m", since=1)
    whole = at.read_bytes()
    assert whole.startswith(first)
    for cut in range(len(first), len(whole)):
        at.write_bytes(whole[:cut])
        assert xt.load(tmp_path / "m").version == 1
    at.write_bytes(whole[: len(whole) - 9])
    xt.load(tmp_path / "m").retire("label 03").write_changes(tmp_path / "m", since=1)  # over what was left
    assert xt.load(tmp_path / "m").retired == ["label 01", "label 03"]


def test_a_journal_that_was_changed_by_hand_is_refused(folder, tmp_path):
    live = xt.load(folder)
    live.save(tmp_path / "m")
    live.retire("label 01").retire("label 02").write_changes(tmp_path / "m", since=0)
    at = tmp_path / "m" / "journal.jsonl"
    at.write_bytes(at.read_bytes().replace(b"label 01", b"label 05"))
    with pytest.raises(xt.StoreError, match="line 1 is not what its hash says"):
        xt.load(tmp_path / "m")
    for entry in (
        {"version": 1, "what": "explode"},
        {"version": 7, "what": "retire"},
        {"version": 1, "what": "update"},
    ):
        at.write_text(journal.journal_line(entry, "") + "\n")
        with pytest.raises(xt.StoreError, match=r"journal\.jsonl"):
            xt.load(tmp_path / "m")
    at.unlink()
    live.update(*NEW).save(tmp_path / "n")
    (tmp_path / "n" / "journal.jsonl").unlink()
    with pytest.raises(xt.StoreError, match="journal of this model is missing"):
        xt.load(tmp_path / "n").retire("label 01")


def test_two_programs_cannot_change_one_model_at_once(folder, tmp_path):
    live, other = xt.load(folder), xt.load(folder)
    live.save(tmp_path / "m")
    live.retire("label 01").write_changes(tmp_path / "m", since=0)
    with pytest.raises(xt.StoreError, match="was changed meanwhile by another program"):
        other.retire("label 02").write_changes(tmp_path / "m", since=0)
    with store.journal_lock(tmp_path / "m"), pytest.raises(xt.StoreError, match="is being changed by another program"):
        live.retire("label 03").write_changes(tmp_path / "m", since=1)
    assert xt.load(tmp_path / "m").retired == ["label 01"]
    with pytest.raises(xt.StoreError, match="made other weights: save the tagger"):
        other.update(*NEW).write_changes(tmp_path / "m", since=1)


def test_a_full_disk_changes_nothing(folder, tmp_path, monkeypatch):
    xt.load(folder).save(tmp_path / "m")
    before = files(tmp_path / "m")
    live = xt.load(tmp_path / "m")

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(store.write.tensors, "write", full)
        with pytest.raises(xt.StoreError, match="No space left on device"):
            live.update(*NEW).save(tmp_path / "m")
    assert files(tmp_path / "m") == before
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    live = xt.load(tmp_path / "m")
    with monkeypatch.context() as patch:
        real = os.pwrite
        patch.setattr(os, "pwrite", lambda fd, content, at: real(fd, content[:20], at))
        with pytest.raises(xt.StoreError, match="No space left on device"):
            live.retire("label 01").write_changes(tmp_path / "m", since=0)
    assert xt.load(tmp_path / "m").version == 0
    xt.load(tmp_path / "m").retire("label 02").write_changes(tmp_path / "m", since=0)
    assert xt.load(tmp_path / "m").retired == ["label 02"]


def test_damaged_arrays_of_a_life_are_refused(folder, tmp_path):
    live = xt.load(folder).merge("label 01", into="label 02").retire("label 05")
    live.update(*NEW)
    state = live.to_state()
    for name, value, says in (
        ("living.retired", np.array([99], np.int64), "living.retired must be numbers of labels"),
        ("living.retired", np.array([-1], np.int64), "living.retired must be numbers of labels"),
        ("living.merged", np.array([[1, 2], [2, 3]], np.int64), "others that are themselves"),
        ("living.number", np.zeros(3, np.int64), "one for each key"),
    ):
        broken = type(state)(state.meta, {**state.arrays, name: value}, state.parts)
        with pytest.raises(xt.StoreError, match=says):
            xt.Tagger.from_state({}, broken)
    kept = state.parts["rows"].to_state()
    for name, value in (
        ("labels", np.full(len(kept.arrays["labels"]), 10**6, np.int32)),
        ("offsets", kept.arrays["offsets"][::-1].copy()),
        ("since", kept.arrays["since"][::-1].copy()),
        ("alive", np.ones(3, np.uint8)),
        ("texts.offsets", kept.arrays["texts.offsets"][:-5]),
    ):
        broken = type(kept)(kept.meta, {**kept.arrays, name: value}, {})
        with pytest.raises(xt.StoreError):
            type(state.parts["rows"]).from_state({}, broken)
    trees = live.model.members[0].to_state()
    for value in (np.zeros((2, 3), np.int32), np.zeros((1, 3), np.int64), -np.ones_like(trees.arrays["seen0"])):
        broken = type(trees)(trees.meta, {"seen0": value}, trees.parts)
        with pytest.raises(xt.StoreError, match="seen0 must be int32"):
            xt.LinearTree.from_state({}, broken)
