"""What the user sees: results on stdout, progress and notes on stderr, and plain text wherever it is not a terminal."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TextIO

from ..core import progress, size_text
from .typed import as_typed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..data import Dataset

Say = Callable[[Any], None]
LOGS = ("plain", "json")
log: str | None = None  # how progress and notes are written; None: bars in a terminal, plain lines elsewhere
size = size_text
PIPE_WIDTH = 120  # columns of a table that does not go to a terminal


def console(stream: TextIO | None = None) -> Console:
    """A console on stdout (or `stream`); made when needed, since redirected streams change."""
    from rich.console import Console

    stream = stream or sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else PIPE_WIDTH)


def result(thing: Any) -> None:
    """Print a result: text as it is, anything that rich knows or that has `render()` as rich shows it."""
    if isinstance(thing, str):
        sys.stdout.write(thing + "\n")
        return
    _show(console(), thing)


def as_json(value: Any) -> None:
    """Print a result as one JSON document."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=not utf8, indent=2, default=plain) + "\n")


def plain(value: Any) -> Any:
    """NumPy numbers and arrays, and our own things, for JSON."""
    for method in ("to_dict", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    return str(value)


def short(score: float) -> float:
    """As many digits as a float32 has."""
    return float(f"{score:.9g}")


def write(lines: Iterable[str]) -> None:
    """Results that are text already; whoever reads them has them at once."""
    sys.stdout.writelines(lines)
    sys.stdout.flush()


def noting(quiet: bool) -> Say:
    """A function that shows a line on stderr."""
    if quiet:
        return lambda thing: None
    if log == "json":
        return lambda thing: JsonLines(sys.stderr).note(as_text(thing))
    return lambda thing: _show(console(sys.stderr), thing)


def error(message: str, **more: str) -> None:
    """The one line of a mistake; programs that read logs get what `more` is known of it."""
    if log == "json":
        JsonLines(sys.stderr).write("error", message=message, **more)
    else:
        sys.stderr.write(f"error: {message}\n")


def warning(message: str) -> None:
    """A line that must be seen, however quiet it is to be."""
    if log == "json":
        JsonLines(sys.stderr).write("warning", message=message)
    else:
        sys.stderr.write(f"{message}\n")


@contextmanager
def warnings_as_json() -> Iterator[None]:
    """What libraries warn of would be plain lines between the others."""
    import warnings

    before = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if log == "json":
            JsonLines(sys.stderr).write("warning", message=str(message), category=category.__name__)
        else:
            before(message, category, *rest, **named)

    warnings.showwarning = tell
    try:
        yield
    finally:
        warnings.showwarning = before


def stopped(message: str, **more: str) -> bytes:
    """What is said of a program that was stopped, to be written as it is."""
    if log == "json":
        return (JsonLines.line("stopped", message=message, **more) + "\n").encode()
    return "\n".join(["", message, *more.values(), ""]).encode("utf-8", "surrogateescape")


def as_text(thing: Any) -> str:
    """What would be shown, without colours."""
    if isinstance(thing, str):
        return thing
    plain_console = console()
    with plain_console.capture() as captured:
        _show(plain_console, thing)
    return captured.get().rstrip("\n")


@contextmanager
def listening(quiet: bool = False) -> Iterator[Say]:
    """Show the progress of the block on stderr: bars in a terminal, plain lines elsewhere, nothing if quiet.

    Yields a function that shows one thing more there (text, or anything rich can print).
    """
    if quiet:
        yield lambda thing: None
    elif log == "json":
        with progress.listen(JsonLines(sys.stderr)):
            yield noting(quiet)
    elif log == "plain" or not sys.stderr.isatty():
        with progress.listen(Lines(sys.stderr)):
            yield lambda thing: _show(console(sys.stderr), thing)
    else:
        with _bars() as bars, progress.listen(Bars(bars)):
            yield lambda thing: _show(bars.console, thing)


def _show(where: Console, thing: Any) -> None:
    if isinstance(thing, str):
        where.print(thing, markup=False, soft_wrap=True)
    else:
        from rich.text import Text

        shown = thing.render() if hasattr(thing, "render") else thing
        where.print(shown, soft_wrap=isinstance(shown, Text))  # a sentence is one line of a log


def _now() -> float:
    return time.monotonic()


@dataclass
class _Step:
    title: str
    total: float | None
    unit: str
    begun: float = field(default_factory=lambda: _now())
    done: float = 0.0
    told: float = field(default_factory=lambda: _now())

    def amount(self, n: float) -> str:
        """`12,345 rows`; bytes as people say them."""
        return size(n) if self.unit == "B" else f"{n:,.{0 if n >= 10 or n == int(n) else 1}f} {self.unit or 'steps'}"

    def summary(self) -> str:
        """`reading: 12,345 rows in 1.2 s (10,000 rows/s)`."""
        spent = _now() - self.begun
        amount = f"{self.amount(self.done)} in " if self.done else ""
        rate = f" ({self.amount(self.done / spent)}/s)" if self.done and spent > 0.05 else ""
        return f"{self.title}: {amount}{seconds(spent)}{rate}"

    def status(self) -> str:
        """`reading: 40 %, 12,345 rows, 10,000 rows/s, 3 s left`."""
        spent = max(_now() - self.begun, 1e-9)
        words = [self.amount(self.done), f"{self.amount(self.done / spent)}/s"]
        if self.total:
            words.insert(0, f"{100 * self.done / self.total:.0f} %")
            if self.done:
                words.append(f"{seconds(spent * max(self.total - self.done, 0) / self.done)} left")
        return f"{self.title}: {', '.join(words)}"


class Lines:
    """Progress as plain lines, for logs: one when a step begins, one when it ends, few between."""

    def __init__(self, stream: TextIO, every: float = 2.0) -> None:
        self._stream, self._every = stream, every
        self._steps: dict[int, _Step] = {}
        self._count = 0
        self._lock = threading.Lock()

    def begin(self, title: str, total: float | None, unit: str) -> int:
        """A step begins."""
        with self._lock:
            self._count += 1
            self._steps[self._count] = _Step(title, total, unit)
            self._write(f"{title} …")
            return self._count

    def advance(self, step: int, amount: float) -> None:
        """Some of it is done; told only now and then."""
        with self._lock:
            entry = self._steps[step]
            entry.done += amount
            now = _now()
            if now - entry.told >= self._every:
                entry.told = now
                self._write(entry.status())

    def end(self, step: int) -> None:
        """It is over."""
        with self._lock:
            self._write(self._steps.pop(step).summary())

    def note(self, message: str) -> None:
        """A line worth reading."""
        with self._lock:
            self._write(as_typed(message))

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class JsonLines(Lines):
    """Progress as JSON objects, one a line, for programs that read logs."""

    def begin(self, title: str, total: float | None, unit: str) -> int:
        """A step begins."""
        with self._lock:
            self._count += 1
            self._steps[self._count] = _Step(title, total, unit)
            self.write("begin", title=title, total=total, unit=unit)
            return self._count

    def advance(self, step: int, amount: float) -> None:
        """Some of it is done; told only now and then."""
        with self._lock:
            entry = self._steps[step]
            entry.done += amount
            if _now() - entry.told >= self._every:
                entry.told = _now()
                self._tell("progress", entry)

    def end(self, step: int) -> None:
        """It is over."""
        with self._lock:
            self._tell("end", self._steps.pop(step))

    def note(self, message: str) -> None:
        """A line worth reading."""
        self.write("note", message=as_typed(message))

    def _tell(self, event: str, entry: _Step) -> None:
        spent = round(_now() - entry.begun, 3)
        self.write(event, title=entry.title, done=entry.done, total=entry.total, unit=entry.unit, seconds=spent)

    def write(self, event: str, **values: Any) -> None:
        """One object."""
        self._write(self.line(event, **values))

    @staticmethod
    def line(event: str, **values: Any) -> str:
        """It as text."""
        when = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return json.dumps({"time": when, "event": event, **values})


class Bars:
    """Progress as bars with rate and time left; a finished step leaves one line."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._steps: dict[int, _Step] = {}

    def begin(self, title: str, total: float | None, unit: str) -> int:
        """A bar appears."""
        step = self._bars.add_task(title, total=total, unit=unit, rate="")
        self._steps[step] = _Step(title, total, unit)
        return int(step)

    def advance(self, step: int, amount: float) -> None:
        """The bar grows."""
        from rich.progress import TaskID

        entry = self._steps[step]
        entry.done += amount
        spent = _now() - entry.begun
        rate = f"{entry.amount(entry.done / spent)}/s" if spent > 0.2 else ""
        self._bars.update(TaskID(step), advance=amount, rate=rate)

    def end(self, step: int) -> None:
        """The bar gives way to a line."""
        from rich.progress import TaskID

        self._bars.remove_task(TaskID(step))
        self._bars.refresh()  # else the line below would be followed by a bar that is gone
        self.note(self._steps.pop(step).summary())

    def note(self, message: str) -> None:
        """A line above the bars."""
        from rich.text import Text

        self._bars.console.print(Text(as_typed(message), style="dim"))


def _bars() -> Progress:
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", style="cyan"),
        TimeElapsedColumn(),
        TextColumn("left:", style="dim"),
        TimeRemainingColumn(),
        console=console(sys.stderr),
        transient=True,
    )


def dataset(name: str, data: Dataset) -> str:
    """`train.txt: 12,000 rows, 5,000 labels (4.1 per row), 30,000 features`."""
    n = max(data.n_rows, 1)
    what = "texts" if data.X is None else f"{data.n_features:,} features ({data.X.nnz / n:.1f} per row)"
    return f"{name}: {data.n_rows:,} rows, {data.n_labels:,} labels ({data.Y.nnz / n:.1f} per row), {what}"


def seconds(spent: float) -> str:
    """A time as people say it: `30 ms`, `1.2 s`, `48 s`, `3 min 20 s`, `2 h 5 min`."""
    if spent < 0.995:
        return f"{1000 * spent:.0f} ms"
    if spent < 9.95:
        return f"{spent:.1f} s"
    whole = round(spent)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
