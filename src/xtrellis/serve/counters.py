"""What `/metrics` tells: counters that all workers share, as Prometheus reads them.

Each worker counts in a row of its own of one mapped file, held by a lock on the row's bytes; the lock ends
with the process, and whoever comes next goes on counting in the same row. So sums never fall when a worker dies.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress

ROWS = 256  # workers at most
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CLASSES = ("2xx", "3xx", "4xx", "5xx")
PLAIN = {  # name -> what it counts
    "cancelled": "requests that were not looked at because their client had left",
    "batches": "calls of models; each answers what had arrived together",
    "reloads": "models that were replaced while serving",
    "reload_failures": "replaced models that could not be loaded",
    "decisions": "decisions of people that were kept",
    "learned": "decisions that changed a model",
    "faults": "requests that failed by a fault of the server",
}


class Counters:
    """All counters of this worker, and the sums over all workers."""

    def __init__(self, routes: Sequence[str], models: Sequence[str], path: str | None = None) -> None:
        self._routes, self._models = list(routes), list(models)
        names = [*PLAIN, "in_flight"]
        names += [f"texts/{model}" for model in models]
        names += [f"requests/{route}/{status}" for route in routes for status in CLASSES]
        names += [f"seconds/{route}/{what}" for route in routes for what in (*BUCKETS, "sum", "count")]
        self._place = {name: i for i, name in enumerate(names)}
        self._width = len(names)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) if path else _nameless()
        if os.fstat(self._file).st_size < 8 * self._width * ROWS:
            os.ftruncate(self._file, 8 * self._width * ROWS)
        self._all = memoryview(mmap.mmap(self._file, 8 * self._width * ROWS)).cast("d")
        self._of_route = {
            (route, status): (
                self._place[f"requests/{route}/{kind}"],
                self._place[f"seconds/{route}/sum"],
                self._place[f"seconds/{route}/count"],
                self._place[f"seconds/{route}/{BUCKETS[0]}"],
            )
            for route in routes
            for status, kind in enumerate(CLASSES, 2)
        }
        row = self._take()
        self._mine = self._all[row * self._width : (row + 1) * self._width]
        self._mine[self._place["in_flight"]] = 0.0

    def _take(self) -> int:
        for row in range(ROWS):
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 8, 8 * self._width * row)
                return row
        return ROWS - 1  # shared with another worker: sums may miss a few

    def add(self, name: str, amount: float = 1.0, *, key: str | None = None) -> None:
        """Count."""
        self._mine[self._place[name if key is None else f"{name}/{key}"]] += amount

    def request(self, route: str, status: int, seconds: float) -> None:
        """A request that was answered."""
        mine = self._mine
        requests, total, count, first = self._of_route[route, status // 100]
        mine[requests] += 1
        mine[total] += seconds
        mine[count] += 1
        bucket = bisect_left(BUCKETS, seconds)
        if bucket < len(BUCKETS):
            mine[first + bucket] += 1

    def total(self, name: str) -> float:
        """Over all workers."""
        return sum(self._all[self._place[name] :: self._width].tolist())

    def text(self) -> str:
        """The exposition format of Prometheus."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for name, meaning in PLAIN.items():
            yield f"# HELP xtrellis_{name}_total {meaning}"
            yield f"# TYPE xtrellis_{name}_total counter"
            yield f"xtrellis_{name}_total {self.total(name):.0f}"
        yield "# HELP xtrellis_in_flight requests that are being answered"
        yield "# TYPE xtrellis_in_flight gauge"
        yield f"xtrellis_in_flight {self.total('in_flight'):.0f}"
        yield "# HELP xtrellis_texts_total texts that were tagged"
        yield "# TYPE xtrellis_texts_total counter"
        for model in self._models:
            yield f'xtrellis_texts_total{{model="{model}"}} {self.total(f"texts/{model}"):.0f}'
        yield "# HELP xtrellis_requests_total requests, by what was asked for and how it ended"
        yield "# TYPE xtrellis_requests_total counter"
        for route in self._routes:
            for status in CLASSES:
                if count := self.total(f"requests/{route}/{status}"):
                    yield f'xtrellis_requests_total{{route="{route}",status="{status}"}} {count:.0f}'
        yield "# HELP xtrellis_request_seconds time from a request's first line to its answer's last byte"
        yield "# TYPE xtrellis_request_seconds histogram"
        for route in self._routes:
            count = self.total(f"seconds/{route}/count")
            if not count:
                continue
            below = 0.0
            for bucket in BUCKETS:
                below += self.total(f"seconds/{route}/{bucket}")
                yield f'xtrellis_request_seconds_bucket{{route="{route}",le="{bucket}"}} {below:.0f}'
            yield f'xtrellis_request_seconds_bucket{{route="{route}",le="+Inf"}} {count:.0f}'
            yield f'xtrellis_request_seconds_sum{{route="{route}"}} {self.total(f"seconds/{route}/sum"):.6f}'
            yield f'xtrellis_request_seconds_count{{route="{route}"}} {count:.0f}'


def _nameless() -> int:
    with tempfile.TemporaryFile(prefix="xtrellis-") as file:
        return os.dup(file.fileno())
