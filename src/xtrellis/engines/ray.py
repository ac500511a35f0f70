"""`Ray`: tasks on a Ray cluster. Ray places them, stores and spills what is shared, and runs again what was lost."""

from __future__ import annotations

import logging
import math
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from .. import __version__
from ..core import Engine, InputError, MissingExtraError, XtrellisError, clear_calls, integer, progress, text

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
RETRIES = 5  # of a task whose worker died
OOM_RETRIES = "RAY_task_oom_retries"  # Ray's own name; by itself it tries a task that lacks memory again without end
PATIENCE = 5  # seconds until a cluster answers
AHEAD = 2  # tasks a worker that are under way or wait for it


def load_ray() -> Any:
    """The library."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("Ray", "ray", "engine ray") from None
    return ray


@clear_calls
class Ray(Engine):
    """A Ray cluster: the one at `address` ("auto" finds the one of this machine), or one that is started here with
    `workers` processes and ends with the training.

    A data folder must be where every node can read it; everything else is taken to the nodes by Ray.
    """

    far = True

    def __init__(self, address: str | None = None, *, workers: int | None = None) -> None:
        text(or_none=True)("address", address)
        integer(at_least=1, or_none=True)("workers", workers)
        self.address, self._wanted = address, workers
        self._depth, self._started, self._own = 0, False, False
        self._ray: Any = None
        self._remote: Any = None  # one for all tasks: workers load it once

    def __enter__(self) -> Self:
        if self._depth == 0:
            self._connect()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.kept = None
            if self._started:
                self._started, self._own, self._remote = False, False, None
                self._ray.shutdown()

    def _connect(self) -> None:
        ray = self._ray = load_ray()
        if ray.is_initialized():  # a program that uses Ray itself
            self._check_joined(ray)
            return
        os.environ.setdefault(OOM_RETRIES, "1")  # read when Ray begins: after that, `split` has its turn
        if self.address is not None and not _answers(self.address):  # Ray itself would ask for minutes
            raise InputError(
                f"no Ray cluster at {self.address!r}: nobody answers there; start one with `ray start --head`, or "
                "leave the address out"
            )
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
        if self.address is None:
            options["num_cpus"] = self._wanted
        try:
            if self.address is not None:
                del options["include_dashboard"]
            ray.init(address=self.address if self.address is not None else "local", **options)
        except Exception as error:  # it raises whatever comes, also Exception itself
            with suppress(Exception):
                ray.shutdown()
            where = f"at {self.address!r}" if self.address is not None else "on this machine"
            what = " ".join(str(error).split())[:300]
            if "ersion" in what:
                raise InputError(f"the Ray cluster {where} has other versions than this program: {what}") from None
            raise InputError(
                f"no Ray cluster {where} ({what}); start one with `ray start --head`, or leave the address out"
            ) from None
        self._started, self._own = True, self.address is None

    def _check_joined(self, ray: Any) -> None:
        """The program is connected already: to the cluster that is asked for?"""
        there = str(ray.get_runtime_context().gcs_address)
        if self.address not in (None, "auto", "local") and not _same(
            str(self.address), there, ray.util.get_node_ip_address()
        ):
            raise InputError(
                f"this program is connected to the Ray cluster at {there!r}, not to {self.address!r}; call "
                "ray.shutdown() first, or leave the address out"
            )
        if os.environ.get(OOM_RETRIES, "-1") == "-1":
            progress.note(
                f"Ray was started without {OOM_RETRIES}=1: a task that takes more memory than there is will be tried "
                "again without end, and never cut"
            )

    @property
    def workers(self) -> int:
        if self._wanted is not None:
            return self._wanted
        if self._ray is None or not self._ray.is_initialized():
            return 1
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def room(self) -> float:
        """Of the memory that each node gives to tasks, the share of one of its processors; the least of all nodes."""
        nodes = self._ray.nodes() if self._ray is not None and self._ray.is_initialized() else []
        given = [node["Resources"] for node in nodes if node["Alive"]]
        return min(
            (some["memory"] / some["CPU"] for some in given if some.get("memory") and some.get("CPU")), default=math.inf
        )

    def share(self, value: Any) -> Any:
        return self._ray.put(value)

    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[tuple[T, tuple[Any, ...]]],
        done: Callable[[T, Any], None],
        *,
        split: Callable[[T], list[tuple[T, tuple[Any, ...]]]] | None = None,
    ) -> None:
        with self:
            self._run(function, iter(tasks), done, split)

    def _run(self, function: Any, queue: Any, done: Any, split: Any) -> None:
        ray = self._ray
        if self._remote is None:
            self._remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_task)
        running: dict[Any, Any] = {}  # what was handed over -> its name
        again: list[Any] = []
        try:
            while True:
                # Asked once a task: nodes come and go. Of a cluster that is there, no more than `workers` are used.
                most = self.workers if self._wanted is not None and not self._own else AHEAD * self.workers
                while len(running) < most:
                    task = again.pop() if again else next(queue, None)
                    if task is None:
                        break
                    name, arguments = task
                    running[self._remote.remote(__version__, function, *arguments)] = name
                if not running:
                    return
                (ready,), _ = ray.wait(list(running), num_returns=1)
                name = running.pop(ready)
                try:
                    error, result = ray.get(ready)
                except (ray.exceptions.OutOfMemoryError, MemoryError) as problem:
                    pieces = split(name) if split is not None else []
                    if not pieces:
                        raise InputError(f"a task takes more memory than a node has: {str(problem)[:300]}") from None
                    again += pieces
                    continue
                except ray.exceptions.RayError as problem:
                    told = " ".join(str(problem).split())[-400:]
                    raise InputError(f"a task on the Ray cluster failed: {told}") from problem
                del ready
                if error is not None:
                    raise error
                done(name, result)
        finally:
            for left in running:
                with suppress(Exception):
                    ray.cancel(left, force=True)

    def predict(self, model: Any, dataset: Any, k: int = 10, *, batch: int | None = None) -> Any:
        """The k best labels of every row of a `Dataset`, as a `TopK`: as `model.predict`, on all workers.

        `model` is a model or a tagger, or the folder of one that every node can read. Tasks are of `batch` rows; if
        nothing is said, of up to 16,384, since large batches are searched more quickly, and as many for each worker.
        """
        from .predicting import predict_all

        with self:
            return predict_all(self, model, dataset, k, batch)

    def __repr__(self) -> str:
        return f"Ray(address={self.address!r}, workers={self._wanted})"


def _answers(address: str) -> bool:
    """False if nobody listens at HOST:PORT; other addresses are Ray's business."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


def _same(asked: str, there: str, own: str) -> bool:
    """True if two addresses are of one cluster (of a Ray client's, whose port is another: of one machine); `own` is
    what Ray calls this machine."""
    host, _, port = asked.removeprefix("ray://").rpartition(":")
    its_host, _, its_port = there.rpartition(":")
    places = _places(host)
    if any(place == "::1" or place.startswith("127.") for place in places):
        places |= _places(own)
    return bool(places & _places(its_host)) and (port == its_port or asked.startswith("ray://"))


def _places(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host.strip("[]"), None)}
    except OSError:
        return {host}


def _task(version: str, function: Any, *arguments: Any) -> tuple[Any, Any]:
    """What a worker does; errors that a user can cause come back as they are, without Ray's traceback."""
    if version != __version__:
        message = f"xtrellis is {__version__} on {socket.gethostname()} and {version} here; install the same everywhere"
        return InputError(message), None
    try:
        return None, function(*arguments)
    except XtrellisError as error:
        return error, None
