"""Ray beside threads: the same bytes for any number of workers, whatever dies on the way. A real, small cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import xtrellis as xt
from xtrellis.engines import predict_to
from xtrellis.engines.predicting import predict_all
from xtrellis.linear.blocks import EVERYTHING, GROUP, Outside
from xtrellis.linear.memory import Plan

warnings.filterwarnings("ignore", category=FutureWarning, module="ray")
ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch):
    """Many of them, of little data."""
    monkeypatch.setattr("xtrellis.linear.remote.LEAST", 1 << 12)
    monkeypatch.setattr("xtrellis.linear.remote.TASKS", 6)
    monkeypatch.setattr("xtrellis.labels.space.FAR_WORK", 1)
    monkeypatch.setattr("xtrellis.index.halves.WORTH", 1)


def model(**given):
    return xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=20), seed=5, **given)


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(scope="module")
def data():
    return xt.synthetic(n_rows=1500, n_labels=400, n_features=800, seed=2)


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("local") / "model"
    model().fit(data).save(folder)
    return content(folder)


def at_work(place, wanted):
    """A task that waits until so many are at work, and says how many it has seen at once. It is made here, so that Ray
    takes it along: workers cannot import this file."""

    def task(number):
        import time
        from pathlib import Path

        mark = Path(place) / str(number)
        mark.touch()
        most, end = 0, time.monotonic() + 60
        while most < wanted and time.monotonic() < end:
            most = max(most, len(list(Path(place).iterdir())))
            time.sleep(0.01)
        time.sleep(0.2)  # somebody who should not may begin meanwhile
        most = max(most, len(list(Path(place).iterdir())))
        mark.unlink()
        return most

    return task


CLUSTERS = """
import os, sys, warnings
warnings.filterwarnings("ignore")
import numpy as np
import xtrellis as xt
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_ray import at_work
import ray.cloudpickle, test_ray
ray.cloudpickle.register_pickle_by_value(test_ray)
folder, place = Path(sys.argv[1]), Path(sys.argv[2])
stored = xt.open(folder)
data = xt.Dataset(stored.X.copy(), stored.Y.copy())
for workers in (1, 2, 4):
    (place / "marks").mkdir()
    with xt.engines.Ray(workers=workers) as engine:
        found = []
        tasks = [(i, (i,)) for i in range(3 * workers)]
        engine.run(at_work(str(place / "marks"), workers), tasks, lambda _, most: found.append(most))
        assert max(found) == workers, (workers, found)
        for name, rows in (("memory", data), ("folder", stored)):
            made = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=20), seed=5).fit(rows, engine=engine)
            made.save(place / f"{name}-{workers}")
        top, again = made.predict(data.X, k=5), engine.predict(made, data, k=5, batch=200)
        assert np.array_equal(top.labels, again.labels) and np.array_equal(top.scores, again.scores)
    (place / "marks").rmdir()
"""


def test_the_same_bytes_for_any_number_of_workers(data, expected, tmp_path):
    """A cluster of its own each time, on which so many tasks run at once."""
    xt.write(data, tmp_path / "data.xt")
    call = [sys.executable, "-c", CLUSTERS, str(tmp_path / "data.xt"), str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    for workers in (1, 2, 4):
        for name in ("memory", "folder"):
            assert content(tmp_path / f"{name}-{workers}") == expected


def test_a_cluster_that_is_there(cluster, data, expected, tmp_path):
    """As many of its processors as are asked for; another cluster is refused."""
    (tmp_path / "marks").mkdir()
    for workers in (1, 2):
        found = {}
        with xt.engines.Ray(workers=workers) as engine:
            tasks = [(i, (i,)) for i in range(4)]
            engine.run(at_work(str(tmp_path / "marks"), workers), tasks, found.__setitem__)
            model().fit(data, engine=engine).save(tmp_path / str(workers))
        assert max(found.values()) == workers
        assert content(tmp_path / str(workers)) == expected
    port = cluster.address.rpartition(":")[2]
    for address in ("auto", cluster.address, f"localhost:{port}", f"127.0.0.1:{port}"):
        with xt.engines.Ray(address):
            pass
    for address in (f"localhost:{int(port) + 1}", "192.0.2.77:1", "nowhere.invalid:6379"):
        with pytest.raises(xt.InputError, match=rf"connected to the Ray cluster at .*, not to '{address}'"):
            model().fit(data, engine=xt.engines.Ray(address))


def test_negatives_of_search_overlap_several_trees_and_ensembles(cluster, data, tmp_path):
    kinds = {
        "negatives": lambda: model(negatives="both"),
        "overlap": lambda: model(overlap=xt.Overlap(copies=2)),
        "trees": lambda: model(n_trees=2),
        "kmeans": lambda: xt.LinearTree(index=xt.KMeansTree(), seed=5),  # its index is built by the driver
        "ensemble": lambda: xt.Ensemble(models=[model(), xt.LinearTree(seed=6)]),
    }
    for name, make in kinds.items():
        with xt.engines.Ray(workers=2) as engine:
            make().fit(data, engine=engine).save(tmp_path / f"far-{name}")
        make().fit(data).save(tmp_path / f"near-{name}")
        assert content(tmp_path / f"far-{name}") == content(tmp_path / f"near-{name}"), name


def test_tasks_that_end_in_another_order_give_the_same(data, expected, tmp_path, monkeypatch):
    functions = set()

    class Backwards(xt.engines.Local):
        far = True

        def run(self, function, tasks, done, *, split=None):
            functions.add(function.__name__)
            waiting = list(tasks)
            for name, arguments in reversed(waiting):
                done(name, function(*arguments))

    model().fit(data, engine=Backwards(threads=1)).save(tmp_path / "model")
    assert content(tmp_path / "model") == expected
    assert functions == {"far_pifa", "split_subtree", "solve_all"}
    how = Plan(room=1e9, spill=True, weights=0, outside=Outside(1 << 12))  # what comes goes to files
    monkeypatch.setattr("xtrellis.linear.fit.plan", lambda *_, **__: how)
    model(memory_limit="1GB").fit(data, engine=Backwards(threads=1)).save(tmp_path / "again")
    assert content(tmp_path / "again") == expected


def test_a_worker_that_is_killed(cluster, data, expected, tmp_path):
    with xt.engines.Ray(workers=2) as engine:
        stop = threading.Event()
        killed = []

        def kill():
            while not stop.wait(0.05) and len(killed) < 2:
                for pid in workers_of():
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    break

        engine.run(os.getpid, [(0, ())], lambda *_: None)  # a worker is there
        thread = threading.Thread(target=kill)
        thread.start()
        for _ in range(20):  # until one was met at work
            trained = model().fit(data, engine=engine)
            if killed:
                break
        stop.set()
        thread.join()
        assert killed
        trained.save(tmp_path / "model")
    assert content(tmp_path / "model") == expected


def workers_of():
    """Processes of Ray's workers that run a task of ours: named by it, below this process."""
    driver = os.getpid()
    found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def below(pid):
        while pid in parents:
            pid = parents[pid]
            if pid == driver:
                return True
        return False

    return [int(pid) for pid, _, args in rows if args.startswith("ray::") and "_task" in args and below(int(pid))]


DRIVER = """
import sys, xtrellis as xt
from xtrellis.linear import train
kept = train.Trainer._keep
def slowly(self, task, block):
    kept(self, task, block)
    print("kept", flush=True)
    if sys.argv[3] == "stop" and task.work.missing == 0:
        sys.stdin.readline()  # somebody kills us here
train.Trainer._keep = slowly
data = xt.open(sys.argv[1])
made = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=20), seed=5)
with xt.engines.Ray(sys.argv[4]) as engine:
    made.fit(data, engine=engine, checkpoint=sys.argv[2] + ".checkpoint")
made.save(sys.argv[2])
"""


def test_a_driver_that_is_killed_goes_on(cluster, data, expected, tmp_path):
    xt.write(data, tmp_path / "data.xt")
    call = [sys.executable, "-c", DRIVER, str(tmp_path / "data.xt"), str(tmp_path / "model")]
    stopped = subprocess.Popen([*call, "stop", cluster.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert stopped.stdout.readline() == b"kept\n"
    deadline = time.monotonic() + 60
    checkpoint = tmp_path / "model.checkpoint" / "checkpoint.json"
    while time.monotonic() < deadline and not (checkpoint.exists() and ".nodes" in checkpoint.read_text()):
        time.sleep(0.05)
    stopped.kill()
    stopped.communicate()
    assert ".nodes" in checkpoint.read_text()
    subprocess.run([*call, "on", cluster.address], check=True, stdout=subprocess.DEVNULL)
    assert content(tmp_path / "model") == expected
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.xt", "model"]


def test_predictions_in_parts_go_on_where_they_stopped(cluster, data, tmp_path):
    trained = model().fit(data)
    trained.save(tmp_path / "model")
    with xt.engines.Ray(workers=2) as engine:
        assert predict_to(engine, tmp_path / "model", data, tmp_path / "whole", k=3, batch=400) == 1500
        whole = content(tmp_path / "whole")
        assert sorted(whole) == [f"part-0000{i}-of-00004.jsonl" for i in range(4)] + ["predictions.json"]
        half = tmp_path / "half"
        half.mkdir()
        (half / "plan.json").write_bytes(whole["predictions.json"])
        first = "part-00000-of-00004.jsonl"
        (half / first).write_bytes(whole[first])
        before = (half / first).stat().st_mtime_ns
        predict_to(engine, tmp_path / "model", data, half, k=3, batch=400)
        assert content(half) == whole
        assert (half / first).stat().st_mtime_ns == before
        with pytest.raises(xt.InputError, match="already"):
            predict_to(engine, tmp_path / "model", data, half, k=3, batch=400)
        (half / "predictions.json").rename(half / "plan.json")  # as if it had been stopped
        (half / first).unlink()
        model(cost=2.0).fit(data).save(tmp_path / "other")
        for what, rows in (("other", data), ("model", xt.Dataset(data.X * 2, data.Y))):
            with pytest.raises(xt.InputError, match="other model or other rows"):
                predict_to(engine, tmp_path / what, rows, half, k=3, batch=400)
        predict_to(engine, tmp_path / "model", data, half, k=3, batch=400)
        assert content(half) == whole
    top = trained.predict(data.X, k=3)
    lines = [json.loads(line) for name in sorted(whole)[:4] for line in whole[name].decode().splitlines()]
    assert [line["labels"] for line in lines] == [[str(label) for label in row if label >= 0] for row in top.labels]


def test_no_cluster_is_there(data):
    call = "import xtrellis as xt; xt.engines.Ray('127.0.0.1:9').__enter__()"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert "InputError: no Ray cluster at '127.0.0.1:9'" in done.stderr


def test_what_cannot_be_is_said_in_a_line(cluster, data, tmp_path):
    with pytest.raises(xt.InputError, match="one machine only"):
        xt.SoftmaxTree().fit(data, engine=xt.engines.Ray())
    with pytest.raises(xt.InputError, match="engine must be"):
        model().fit(data, engine="ray")
    xt.write(data, tmp_path / "data.xt")
    stored = xt.open(tmp_path / "data.xt")
    (tmp_path / "data.xt").rename(tmp_path / "elsewhere.xt")
    with pytest.raises(xt.DataError, match="every node can read it"):
        model().fit(stored, engine=xt.engines.Ray(workers=1))
    trained = model().fit(data)
    with pytest.raises(xt.DataError, match="every node can read it"):
        xt.engines.Ray(workers=1).predict(trained, stored, k=3)
    xt.write(data, tmp_path / "cut.xt")
    stored = xt.open(tmp_path / "cut.xt")
    os.truncate(tmp_path / "cut.xt" / "x.values", (tmp_path / "cut.xt" / "x.values").stat().st_size - 4)
    with pytest.raises(xt.DataError, match="cut off"):
        model().fit(stored, engine=xt.engines.Ray(workers=1))
    with pytest.raises(xt.DataError, match="cut off"):
        predict_to(xt.engines.Ray(workers=1), trained, stored, tmp_path / "answers", k=3)
    assert [file.name for file in (tmp_path / "answers").iterdir()] == ["plan.json"]


class Small(xt.engines.Local):
    """Cuts every task as often as it can be."""

    far = True

    def __init__(self):
        super().__init__(threads=1)
        self.cut, self.outside, self.widest = Counter(), set(), 0

    def run(self, function, tasks, done, *, split=None):
        waiting = list(tasks)
        while waiting:
            name, arguments = waiting.pop()
            pieces = split(name) if split is not None else []
            if pieces:
                waiting += pieces
                self.cut[function.__name__] += 1
                continue
            if function.__name__ == "solve_all":
                self.outside |= {order.outside for order in arguments[2]}
                self.widest = max(self.widest, *(order.count for order in arguments[2]))
            done(name, function(*arguments))


def test_a_task_without_memory_is_cut(data, expected, tmp_path):
    engine = Small()
    trained = model().fit(data, engine=engine)
    trained.save(tmp_path / "model")
    assert set(engine.cut) == {"far_pifa", "split_subtree", "solve_all"}
    assert engine.outside == {EVERYTHING}
    assert content(tmp_path / "model") == expected
    wide = xt.LinearTree(index=xt.FlatTree()).fit(data)
    wide.save(tmp_path / "near")
    xt.LinearTree(index=xt.FlatTree()).fit(data, engine=engine).save(tmp_path / "far")  # blocks of many groups
    assert content(tmp_path / "far") == content(tmp_path / "near")
    assert engine.widest == GROUP
    top, again = trained.predict(data.X, k=5), predict_all(engine, trained, data, 5, 100)
    assert np.array_equal(top.labels, again.labels)
    assert np.array_equal(top.scores, again.scores)
    for name, way in (("whole", xt.engines.Local(1)), ("cut", engine)):
        predict_to(way, trained, data.select(slice(0, 90)), tmp_path / name, k=3, batch=40)
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
    assert set(engine.cut) == {"far_pifa", "split_subtree", "solve_all", "answer", "answer_to"}


def test_nodes_that_are_too_large_for_a_worker_have_their_rows_in_files(data, expected, tmp_path, monkeypatch):
    class Narrow(Small):
        room = 100_000

        def run(self, function, tasks, done, *, split=None):
            super().run(function, tasks, done)

    monkeypatch.setattr("xtrellis.data.folder.far.HELD", 10)  # values at unit length lie in a file too
    monkeypatch.setattr("xtrellis.linear.blocks.SPILLED", 1 << 12)
    xt.write(data, tmp_path / "data.xt")
    engine = Narrow()
    model().fit(xt.open(tmp_path / "data.xt"), engine=engine).save(tmp_path / "model")
    assert {bool(how.rows) for how in engine.outside} == {False, True}
    assert content(tmp_path / "model") == expected


def test_a_task_that_meets_a_lack_of_memory_on_a_worker_is_cut(cluster):
    def total(first, last):  # made here, so that Ray takes it along: workers cannot import this file
        if last - first > 6:
            raise ray.exceptions.OutOfMemoryError("as Ray says of a worker that it had to end")
        if last - first > 3:
            np.empty(1 << 60, np.uint8)  # more than any machine has
        return sum(range(first, last))

    def halves(name):
        first, last = name
        middle = (first + last) // 2
        return [(part, part) for part in ((first, middle), (middle, last))] if last - first > 1 else []

    found = {}
    with xt.engines.Ray(workers=2) as engine:
        engine.run(total, [((0, 10), (0, 10))], found.__setitem__, split=halves)
        assert sum(found.values()) == sum(range(10))
        assert sorted(found) == [(0, 2), (2, 5), (5, 7), (7, 10)]
        with pytest.raises(xt.InputError, match="more memory than a node has"):
            engine.run(total, [((0, 10), (0, 10))], found.__setitem__, split=lambda _: [])


LACK = """
import os, sys, warnings
warnings.filterwarnings("ignore")
from ray._common.utils import get_system_memory
from ray._private.utils import get_used_memory
import xtrellis as xt
room = 2 << 30  # beside what is in use
os.environ["RAY_memory_usage_threshold"] = str((get_used_memory() + room) / get_system_memory())
os.environ["RAY_memory_monitor_refresh_ms"] = "100"
def total(first, last):
    import time
    held = []
    while last - first > 2 and len(held) < 30:  # 6 GB, bit by bit
        held.append(b"x" * (200 << 20))
        time.sleep(0.1)
    return sum(range(first, last))
def halves(name):
    first, last = name
    middle = (first + last) // 2
    print("cut", first, last, flush=True)
    return [(part, part) for part in ((first, middle), (middle, last))] if last - first > 1 else []
found = {}
with xt.engines.Ray(workers=1) as engine:
    engine.run(total, [((0, 4), (0, 4))], found.__setitem__, split=halves)
    assert sum(found.values()) == 6, found
"""


def test_a_task_that_ray_ends_for_want_of_memory_is_cut():
    """By Ray's own watch over memory, on a cluster that has two gigabytes left."""
    done = subprocess.run([sys.executable, "-c", LACK], capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr
    assert "cut 0 4\n" in done.stdout  # beside what Ray says there


def test_other_versions_are_told(cluster, data, monkeypatch):
    monkeypatch.setattr("xtrellis.engines.ray.__version__", "0.0.1")
    with pytest.raises(xt.InputError, match=r"xtrellis is .* and 0\.0\.1 here; install the same everywhere"):
        model().fit(data, engine=xt.engines.Ray(workers=1))


def test_another_ray_is_told(cluster):
    call = f"import ray, xtrellis as xt; ray.__version__ = '0.0.1'; xt.engines.Ray({cluster.address!r}).__enter__()"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert f"InputError: the Ray cluster at {cluster.address!r} has other versions than this program" in done.stderr
    assert "0.0.1" in done.stderr


def test_ray_data_takes_the_class(cluster, tmp_path):
    texts = [f"word{i % 7} common word{i % 5}" for i in range(60)]
    tagger = xt.Tagger(xt.Vectorizer(), xt.LinearTree()).fit(texts, [[f"l{i % 7}"] for i in range(60)])
    tagger.save(tmp_path / "model")
    batches = xt.engines.PredictBatches(str(tmp_path / "model"), k=2)
    out = batches({"text": np.array(texts, object), "n": np.arange(60)})
    expected = [[tag.label for tag in tagger.tag(text, k=2)] for text in texts]
    assert [list(labels) for labels in out["labels"]] == expected
    with pytest.raises(xt.InputError, match="no column"):
        batches({"words": np.array(texts, object)})
    with xt.engines.Ray(workers=1):
        rows = ray.data.from_items([{"text": text, "n": i} for i, text in enumerate(texts)])
        made = rows.map_batches(
            xt.engines.PredictBatches, fn_constructor_args=(str(tmp_path / "model"), 2), concurrency=1, batch_size=16
        )
        found = sorted(made.take_all(), key=lambda row: row["n"])
        rows.write_parquet(str(tmp_path / "rows"))
        ray.data.read_parquet(str(tmp_path / "rows")).map_batches(
            xt.engines.PredictBatches, fn_constructor_args=(str(tmp_path / "model"), 2), concurrency=1
        ).write_parquet(str(tmp_path / "answers"))
    assert [list(row["labels"]) for row in found] == expected
    table = pyarrow.parquet.read_table(tmp_path / "answers").sort_by("n")
    assert table["labels"].to_pylist() == expected
    assert table["text"].to_pylist() == texts


def test_an_answer_that_is_lost_before_it_was_fetched(cluster):
    """It lies on the node that made it; the node goes, and Ray makes it again elsewhere."""

    def large(name):
        return np.full(1_000_000, name)  # too large to travel with the news that it is there

    class Late(xt.engines.Ray):
        """Loses the node between the news and the fetching."""

        def _run(self, function, queue, done, split):
            wait = self._ray.wait

            def lose(waiting, **given):
                ready, rest = wait(waiting, **given, fetch_local=False)
                if self.node is not None:
                    wait(waiting, num_returns=len(waiting), fetch_local=False, timeout=30)
                    cluster.remove_node(self.node, allow_graceful=False)
                    self.node = None
                return ready, rest

            self._ray.wait = lose
            try:
                super()._run(function, queue, done, split)
            finally:
                self._ray.wait = wait

    found = {}
    with Late(cluster.address) as engine:
        engine.node = cluster.add_node(num_cpus=4)
        cluster.wait_for_nodes()
        engine.run(large, [(i, (i,)) for i in range(12)], lambda name, array: found.__setitem__(name, int(array[-1])))
    assert found == {i: i for i in range(12)}


PREDICTING = """
import sys, warnings
warnings.filterwarnings("ignore")
import xtrellis as xt
from xtrellis.engines import predict_to
model, data, to, address = sys.argv[1:]
predict_to(xt.engines.Ray(address), model, xt.open(data), to, k=3, batch=100)
"""


def test_a_driver_that_is_killed_while_it_predicts(cluster, data, tmp_path):
    trained = model().fit(data)
    trained.save(tmp_path / "model")
    xt.write(data, tmp_path / "data.xt")
    stored = xt.open(tmp_path / "data.xt")
    predict_to(xt.engines.Local(1), tmp_path / "model", stored, tmp_path / "whole", k=3, batch=100)
    given = [str(tmp_path / name) for name in ("model", "data.xt", "answers")]
    call = [sys.executable, "-c", PREDICTING, *given, cluster.address]
    driver = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    parts = tmp_path / "answers"
    wait_until(lambda: any(parts.glob("part-*.jsonl")))
    driver.kill()
    driver.wait()
    there = {file.name: file.stat().st_mtime_ns for file in parts.glob("part-*.jsonl")}
    assert 0 < len(there) < 15
    assert not (parts / "predictions.json").exists()
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
    assert content(parts) == content(tmp_path / "whole")
    assert {name: (parts / name).stat().st_mtime_ns for name in there} == there


def wait_until(true):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


FULL = """
import resource, sys, warnings
warnings.filterwarnings("ignore")
import xtrellis as xt
from xtrellis.engines import predict_to
model, data, to = sys.argv[1:]
stored = xt.open(data)
def small():
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
def large():
    import resource
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
with xt.engines.Ray(workers=1) as engine:
    engine.run(small, [(0, ())], lambda *_: None)  # as on a full disk; Ray's logs are smaller than that
    try:
        predict_to(engine, model, stored, to, k=400, batch=100)
    except xt.StoreError as error:
        print(error)
    engine.run(large, [(0, ())], lambda *_: None)
    print(predict_to(engine, model, stored, to, k=400, batch=100))
"""


def test_a_full_disk_where_a_worker_writes(data, tmp_path):
    model().fit(data).save(tmp_path / "model")
    xt.write(data.select(slice(0, 150)), tmp_path / "data.xt")
    call = [sys.executable, "-c", FULL, *(str(tmp_path / name) for name in ("model", "data.xt", "answers"))]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert "File too large; parts that are there stay, and the same call goes on with the others" in done.stdout
    assert done.stdout.splitlines()[-1] == "150"
    left = sorted(file.name for file in (tmp_path / "answers").iterdir())
    assert left == ["part-00000-of-00002.jsonl", "part-00001-of-00002.jsonl", "predictions.json"]


class Watched(xt.engines.Ray):
    """Its tasks of one kind say where they are at work, and wait there."""

    def _run(self, function, queue, done, split):
        watched = waiting(function, str(self.place)) if function.__name__ == self.hit else function
        super()._run(watched, queue, done, split)


def waiting(function, place):
    """The same function; its first tasks leave a mark with their node and process, and wait until somebody has looked.
    Made here, so that Ray takes it along."""

    def task(*arguments):
        import os
        import time
        from pathlib import Path

        import ray

        mark = Path(place) / f"{ray.get_runtime_context().get_node_id()}-{os.getpid()}-{time.monotonic_ns()}"
        if len(list(Path(place).glob("*-*-*"))) < 8 and not (Path(place) / "seen").exists():
            mark.touch()
            end = time.monotonic() + 60
            while not (Path(place) / "seen").exists() and time.monotonic() < end:
                time.sleep(0.01)
        return function(*arguments)

    return task


@pytest.mark.parametrize("hit", ["solve_all", "answer"])
def test_work_that_is_under_way_on_a_node_or_a_worker_is_done_again(cluster, data, expected, tmp_path, hit):
    """In training and in prediction: a task waits on the node until this has gone, or in the worker until that has."""
    for what in ("worker", "node"):
        place = tmp_path / what
        place.mkdir()
        node = cluster.add_node(num_cpus=2)
        cluster.wait_for_nodes()
        lost = []

        def strike(place=place, node=node, what=what, lost=lost):
            wait_until(lambda: list(place.glob(f"{node.node_id}-*")))
            pid = int(next(place.glob(f"{node.node_id}-*")).name.split("-")[1])
            if what == "worker":
                os.kill(pid, signal.SIGKILL)
            else:
                cluster.remove_node(node, allow_graceful=False)
            wait_until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in stat_of(pid))
            lost.append(pid)
            (place / "seen").touch()

        thread = threading.Thread(target=strike)
        thread.start()
        with Watched(cluster.address) as engine:
            engine.place, engine.hit = place, hit
            if hit == "solve_all":
                model().fit(data, engine=engine).save(tmp_path / f"model-{what}")
                assert content(tmp_path / f"model-{what}") == expected
            else:
                trained = model().fit(data)
                found, again = engine.predict(trained, data, k=5, batch=100), trained.predict(data.X, k=5)
                assert np.array_equal(found.labels, again.labels)
                assert np.array_equal(found.scores, again.scores)
        thread.join()
        assert lost, "a task was at work there"
        if what == "worker":
            cluster.remove_node(node, allow_graceful=False)


def stat_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
