"""Saving is all or nothing: a crash, an error or a kill at any step leaves a whole model, old or new."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from store_toys import Bag, Toy

from xtrellis import store
from xtrellis.core.errors import StoreError
from xtrellis.store import swap

SYSTEM_CALLS = ("mkdir", "open", "close", "fsync", "listdir", "rename", "unlink", "rmdir")


def old():
    return Toy(beam=1).fit(4, seed=1)


def new():
    return Toy(beam=2).fit(9, seed=2)


@pytest.fixture(params=["exchange", "two renames"])
def way(request, monkeypatch):
    """Both ways to swap: atomically, and as where the file system cannot."""
    if request.param == "two renames":
        monkeypatch.setattr(swap, "_exchange", lambda one, other: False)
    return request.param


def at_each_call(patch, fail):
    """Wrap the system calls so that the k-th of them calls `fail` instead; returns the counter."""
    count = [0]

    def wrap(real):
        def wrapped(*args, **kwargs):
            count[0] += 1
            fail(count[0])
            return real(*args, **kwargs)

        return wrapped

    for name in SYSTEM_CALLS:
        patch.setattr(os, name, wrap(getattr(os, name)))
    real = swap._exchange
    patch.setattr(swap, "_exchange", wrap(real))
    return count


def calls_of_a_save(path):
    with pytest.MonkeyPatch.context() as patch:
        count = at_each_call(patch, lambda k: None)
        store.save(new(), path)
    return count[0]


def die_at(path, step):
    """Save in a child that ends, without any clean-up, before its step-th system call; True if it came to the end."""
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                at_each_call(patch, lambda k: k == step and os._exit(9))
                store.save(new(), path)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def what_is_at(path):
    """`old`, `new`, or the error."""
    try:
        found = store.load(path, verify=True)
    except StoreError as error:
        return str(error).replace(str(path), "PATH")
    assert found.same(new() if found.beam == 2 else old())
    return "new" if found.beam == 2 else "old"


@pytest.mark.parametrize("replacing", [True, False], ids=["over a model", "fresh"])
def test_death_at_any_step_leaves_the_old_or_the_new_model(tmp_path, way, replacing):
    path = tmp_path / "m"
    store.save(old(), path)
    steps = calls_of_a_save(path)
    assert steps > 15
    outcomes = []
    for step in range(1, steps + 1):
        folder = tmp_path / f"try {step}"
        folder.mkdir()
        path = folder / "m"
        if replacing:
            store.save(old(), path)
        die_at(path, step)
        outcomes.append(what_is_at(path))
        store.save(new(), path)  # the next save works, and sweeps up
        assert store.load(path).same(new())
        assert [p.name for p in folder.iterdir()] == ["m"]
    first_new = outcomes.index("new")
    assert set(outcomes[:first_new]) == {"old" if replacing else "there is no model at PATH"}
    assert set(outcomes[first_new:]) == {"new"}


@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_error_at_any_step_leaves_the_old_or_the_new_model(tmp_path, way, problem):
    path = tmp_path / "m"
    store.save(old(), path)
    for step in range(1, calls_of_a_save(path) + 1):
        swap._delete(path)
        store.save(old(), path)

        def fail(k, step=step):
            if k == step:
                raise problem

        raised = None
        with pytest.MonkeyPatch.context() as patch:
            at_each_call(patch, fail)
            try:
                store.save(new(), path)
            except (StoreError, KeyboardInterrupt) as error:
                raised = error
        expected = StoreError if isinstance(problem, OSError) else KeyboardInterrupt
        assert raised is None or isinstance(raised, expected)
        assert what_is_at(path) == "new" if raised is None else what_is_at(path) in ("old", "new")


def test_everything_is_on_disk_before_the_swap_and_the_swap_before_the_end(tmp_path, way):
    path = tmp_path / "m"
    two = Bag({"a": np.ones(2)}, parts={"p": Bag({"b": np.ones(3)})})
    store.save(two, path)
    log = []
    real = {"rename": os.rename, "exchange": swap._exchange}

    def fsync(fd):
        log.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    def exchange(one, other):
        log.append("SWAP")
        return real["exchange"](one, other)

    def rename(one, other):
        log.append("SWAP")
        return real["rename"](one, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        patch.setattr(os, "rename", rename)
        patch.setattr(swap, "_exchange", exchange)
        store.save(two, path)
    swaps = 1 if way == "exchange" else 3  # the attempt, and two renames
    assert log[:3] == ["model.safetensors", "model.p.safetensors", "model.json"]
    assert log[3].startswith(".m.tmp-")
    assert log[4:] == ["SWAP"] * swaps + [tmp_path.name]


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path, monkeypatch):
    store.save(old(), tmp_path / "m")

    def full(file, arrays, advance):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.write.tensors, "write", full)
    with pytest.raises(StoreError, match=r"cannot save to .*m: No space left on device"):
        store.save(new(), tmp_path / "m")
    assert store.load(tmp_path / "m").same(old())
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


SAVER = """
import sys
sys.path.insert(0, sys.argv[1])
import store_toys
from xtrellis import store
from xtrellis.store import registry
registry.CLASSES["Toy"] = "store_toys:Toy"
models = [store_toys.Toy(beam=1).fit(4, seed=1), store_toys.Toy(beam=2).fit(9, seed=2)]
i = 0
while True:
    store.save(models[i % 2], sys.argv[2])
    if i == 3:
        print("saving", flush=True)
    i += 1
"""


def test_reading_while_another_process_saves_and_is_killed(tmp_path):
    path = tmp_path / "m"
    saver = subprocess.Popen(
        [sys.executable, "-c", SAVER, str(Path(__file__).parent), str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert saver.stdout.readline() == "saving\n"
        seen = set()
        until = time.monotonic() + 1
        while time.monotonic() < until:
            found = store.load(path, verify=True)
            assert found.same(new() if found.beam == 2 else old())
            seen.add(found.beam)
        assert seen == {1, 2}
    finally:
        saver.send_signal(signal.SIGKILL)
        saver.wait()
        saver.stdout.close()
    found = store.load(path, verify=True)
    assert found.same(new() if found.beam == 2 else old())
    store.save(new(), path)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_threads_saving_to_one_path(tmp_path, way):
    errors = []

    def work(beam):
        try:
            for _ in range(10):
                store.save(Toy(beam=beam).fit(), tmp_path / "m")
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(beam,)) for beam in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert store.load(tmp_path / "m", verify=True).same(Toy(beam=store.load(tmp_path / "m").beam).fit())
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_saving_over_the_model_that_is_mapped(tmp_path, way):
    path = tmp_path / "m"
    store.save(old(), path)
    loaded = store.load(path)
    store.save(new(), path)
    assert loaded.same(old())
    assert store.load(path).same(new())
    store.save(loaded, path)  # back again, from pages of files that have no name any more
    assert loaded.same(old())
    assert store.load(path, verify=True).same(old())


def test_leftovers_of_the_dead_are_swept_but_not_those_of_the_living(tmp_path):
    import fcntl

    dead, living, foreign = (tmp_path / f".m.tmp-{name}" for name in ("dead", "living", "foreign"))
    for folder in (dead, living, foreign):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
    (foreign / "thesis.txt").write_text("mine")
    elsewhere = tmp_path / ".other.tmp-dead"
    elsewhere.mkdir()
    lock = os.open(living, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        store.save(old(), tmp_path / "m")
    finally:
        os.close(lock)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".m.tmp-foreign",
        ".m.tmp-living",
        ".other.tmp-dead",
        "m",
    ]
    assert (foreign / "thesis.txt").read_text() == "mine"
    assert store.load(tmp_path / "m").same(old())


def test_a_folder_that_is_not_a_model_is_never_replaced(tmp_path):
    path = tmp_path / "m"
    path.mkdir()
    (path / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not an xtrellis model; it will not be replaced: choose another path"):
        store.save(old(), path)
    (path / "model.json").write_text('{"format": "something else"}')
    with pytest.raises(StoreError, match="is not an xtrellis model"):
        store.save(old(), path)
    (path / "model.json").write_text("{")
    with pytest.raises(StoreError, match="is not an xtrellis model"):
        store.save(old(), path)
    (path / "model.json").unlink()
    (path / "model.json").mkdir()
    with pytest.raises(StoreError, match="is not an xtrellis model"):
        store.save(old(), path)
    assert (path / "thesis.txt").read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_model_with_a_users_file_beside_it_is_not_replaced(tmp_path):
    store.save(old(), tmp_path / "m")
    (tmp_path / "m/thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"holds more than a model \(thesis.txt\)"):
        store.save(new(), tmp_path / "m")
    assert store.load(tmp_path / "m").same(old())  # and it still loads
    (tmp_path / "m/thesis.txt").unlink()
    (tmp_path / "m/model.link.safetensors").symlink_to(tmp_path)
    with pytest.raises(StoreError, match="holds more than a model"):
        store.save(new(), tmp_path / "m")


def test_files_are_not_replaced_and_empty_folders_are(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="file is a file, not a folder"):
        store.save(old(), tmp_path / "file")
    with pytest.raises(StoreError, match="file is a file, not a folder"):
        store.save(old(), tmp_path / "file" / "m")
    (tmp_path / "empty").mkdir()
    store.save(old(), tmp_path / "empty")
    assert store.load(tmp_path / "empty").same(old())
    store.save(old(), tmp_path / "new/parents/m")
    assert store.load(tmp_path / "new/parents/m").same(old())


def test_a_damaged_or_newer_model_may_be_replaced(tmp_path):
    store.save(old(), tmp_path / "m")
    (tmp_path / "m/model.safetensors").write_bytes(b"")
    store.save(new(), tmp_path / "m")
    manifest = tmp_path / "m/model.json"
    manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 99'))
    store.save(old(), tmp_path / "m")
    assert store.load(tmp_path / "m").same(old())


def test_a_link_to_a_model_is_followed_and_kept(tmp_path):
    store.save(old(), tmp_path / "v1")
    (tmp_path / "current").symlink_to("v1")
    assert store.load(tmp_path / "current").same(old())
    store.save(new(), tmp_path / "current")
    assert (tmp_path / "current").is_symlink()
    assert store.load(tmp_path / "v1").same(new())


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.save(old(), "m")
    store.save(new(), "./x/../m/")
    assert store.load("m").same(new())


@pytest.mark.parametrize("path", ["/", None, 3.5, "a\0b"])
def test_what_is_no_path(path):
    with pytest.raises(StoreError):
        store.save(old(), path)
    with pytest.raises(StoreError):
        store.load(path)


def test_objects_without_arrays(tmp_path, way):
    for i in range(2):
        store.save(Bag(meta={"i": i}), tmp_path / "m")
    assert store.load(tmp_path / "m", verify=True).state.meta == {"i": 1}
    store.save(Bag({"a": np.ones(2)}), tmp_path / "m")  # fewer or more files than before
    store.save(Bag(), tmp_path / "m")
    assert [p.name for p in (tmp_path / "m").iterdir()] == ["model.json"]
