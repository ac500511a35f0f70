"""An update that was stopped goes on from where it was, and ends with the same bytes."""

from __future__ import annotations

import errno
import os
import resource
import signal

import pytest
from living_world import files, rows, tagger

import xtrellis as xt
from xtrellis.linear.living import relearn

NEW = rows(range(28, 36), 6, seed=3)
OTHER = rows(range(28, 37), 6, seed=4)


def world(name: str) -> xt.Tagger:
    """Of several clusters."""
    model = xt.preset(name, threads=1)
    tree = model.models[0] if name == "best" else model
    tree.set_params(index__max_leaf=8, index__arity=4)
    return xt.Tagger(xt.Vectorizer(), model, keep_rows=True).fit(*rows(range(30), 12))


class StoppedError(Exception):
    """In the middle."""


@pytest.mark.parametrize("name", ["xr-linear", "overlap", "best"])
def test_it_goes_on_and_ends_with_the_same_bytes(tmp_path, monkeypatch, name):
    world(name).save(tmp_path / "before")
    xt.load(tmp_path / "before").update(*NEW).save(tmp_path / "whole")
    learn, done = relearn.Relearner._train, []

    def counted(self, task, before):
        done.append(task.block)
        return learn(self, task, before)

    monkeypatch.setattr(relearn.Relearner, "_train", counted)
    xt.load(tmp_path / "before").update(*NEW)
    every = len(done)

    def stops(self, task, before):
        if len(done) >= 2 * every // 3:
            raise StoppedError
        return counted(self, task, before)

    monkeypatch.setattr(relearn.Relearner, "_train", stops)
    done.clear()
    live = xt.load(tmp_path / "before")
    live.model.set_params(threads=1)
    with pytest.raises(StoppedError):
        live.update(*NEW, checkpoint=tmp_path / "c")
    assert live.version == 0
    monkeypatch.setattr(relearn.Relearner, "_train", counted)
    done.clear()
    with pytest.raises(xt.StoreError, match="belongs to another training"):
        xt.load(tmp_path / "before").update(*OTHER, checkpoint=tmp_path / "c")
    done.clear()
    live = xt.load(tmp_path / "before").update(*NEW, checkpoint=tmp_path / "c")
    assert 0 < len(done) < every  # not all of it again
    assert (tmp_path / "c").exists()
    live.save(tmp_path / "after")
    assert not (tmp_path / "c").exists()
    assert files(tmp_path / "after") == files(tmp_path / "whole")


def test_a_damaged_piece_is_learned_again(tmp_path):
    live = tagger("xr-linear").update(*NEW, checkpoint=tmp_path / "c")
    pieces = sorted((tmp_path / "c").glob("tree0.nodes*.safetensors"))
    assert len(pieces) > 1
    pieces[0].write_bytes(pieces[0].read_bytes()[:-1] + b"x")
    pieces[1].unlink()
    again = tagger("xr-linear").update(*NEW, checkpoint=tmp_path / "c")
    live.save(tmp_path / "a")
    again.save(tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_what_learns_at_once_needs_none(tmp_path):
    tagger("neighbors").update(*NEW, checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_disk_that_is_full_leaves_the_model_before(tmp_path):
    tagger("xr-linear", threads=1).save(tmp_path / "m")
    before = files(tmp_path / "m")
    size = max(len(content) for content in before.values())
    for limit in (100, size // 2, size - 1):
        child = os.fork()
        if child == 0:  # no file may become larger than this: the kernel refuses to write, as on a full disk
            code = 3
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                live = xt.load(tmp_path / "m")
                live.model.set_params(threads=1)
                try:
                    live.update(*NEW, checkpoint=tmp_path / f"c{limit}").save(tmp_path / "m")
                except xt.StoreError as error:
                    code = 0 if os.strerror(errno.EFBIG) in str(error) else 4
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, limit
        assert files(tmp_path / "m") == before
        assert xt.load(tmp_path / "m", verify=True).version == 0
    xt.load(tmp_path / "m").update(*NEW, checkpoint=tmp_path / f"c{size - 1}").save(tmp_path / "m")
    assert xt.load(tmp_path / "m").version == 1
