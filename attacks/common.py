"""What all attacks share: cases, what may come out of one, the process it runs in, and the line of JSON it ends as."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"

# What may come out of a case. The first two are as promised; each of the others is a fault.
GOOD = ("answered", "refused")
FAULTS = ("raw error", "crash", "hang", "memory", "wrong")
MEANING = {
    "answered": "a valid answer",
    "refused": "one error of the library's own",
    "raw error": "any other exception",
    "crash": "the process died",
    "hang": "no answer within the time limit",
    "memory": "more memory than the limit",
    "wrong": "a wrong answer, or something changed that must not",
}
MEMORY = 2 << 30  # bytes that a case may take beyond what the process has when it begins
LONGEST_MESSAGE = 3000  # of an error that users shall read
KEPT = 40  # faults of different kinds that one result lists


class Case(NamedTuple):
    """`run` does it and raises what comes (a float that it returns is kept); its outcome counts under `group`."""

    group: str
    what: str
    run: Callable[[], object]


class Outcome(NamedTuple):
    """`why` tells faults apart, or names the class of a refusal; `trace` is for whoever repeats the case.

    `seconds` is what a case has measured, if it measures something: the slowest of a group is kept.
    """

    kind: str
    why: str = ""
    trace: str = ""
    seconds: float = 0.0


class Wrong(Exception):  # noqa: N818 - a finding, not an error
    """Raised by a case that got an answer which cannot be right."""


class Fault(Exception):  # noqa: N818
    """Raised by a case that found another kind of fault itself, such as a crash of its child."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class Attack(ABC):
    """Cases by number; an object of it lives in the worker."""

    name: ClassVar[str]
    limit: ClassVar[float] = 20.0  # seconds that one case may take
    workers: ClassVar[int] = 2  # more than the machine has cores would make cases look slow

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed

    @abstractmethod
    def prepare(self) -> None:
        """What all cases need: done once in each worker."""

    @abstractmethod
    def case(self, rng: random.Random, number: int) -> Case:
        """The case of that number; draws from `rng` alone."""

    def make(self, number: int) -> Case:
        return self.case(random.Random(f"{self.name} {self.seed} {number}"), number)


def attack(name: str) -> type[Attack]:
    """By name; imports wait, since each needs other parts of the library."""
    from importlib import import_module

    return getattr(import_module(f"attacks.{name}"), name.capitalize())  # type: ignore[no-any-return]


NAMES = ("readers", "store", "door", "concurrency", "interrupts", "kills")
OTHERS = ("guided", "connections", "sanitizers")  # made of them, or by other means


# ── judging, in the worker ──────────────────────────────────────────────────────────────────────────────────────────


def judge(run: Callable[[], object]) -> Outcome:
    """What comes out of a case. Errors of the library's own are refusals; whatever else is raised is a fault."""
    from xtrellis import XtrellisError

    try:
        measured = run()
    except Wrong as error:
        return Outcome("wrong", str(error), traceback.format_exc())
    except Fault as error:
        return Outcome(error.kind, str(error), traceback.format_exc())
    except XtrellisError as error:
        message = str(error)
        if not message.strip() or len(message) > LONGEST_MESSAGE:
            said = f"{type(error).__name__} with a message of {len(message)} characters {place_of(error)}"
            return Outcome("wrong", said, traceback.format_exc())
        return Outcome("refused", type(error).__name__)
    except MemoryError as error:
        return Outcome("memory", f"MemoryError {place_of(error)}", traceback.format_exc())
    except BaseException as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
        return Outcome("raw error", f"{said} {place_of(error)}", traceback.format_exc())
    return Outcome("answered", seconds=measured if isinstance(measured, float) else 0.0)


@contextmanager
def only(*allowed: type[Exception]) -> Iterator[None]:
    """Of the library's errors only these are right here."""
    from xtrellis import XtrellisError

    try:
        yield
    except allowed:
        raise
    except XtrellisError as error:
        names = " or ".join(kind.__name__ for kind in allowed)
        raise Wrong(f"{type(error).__name__} instead of {names} {place_of(error)}: {str(error)[:160]}") from error


def place_of(error: BaseException) -> str:
    """`(linear/search.py:31 predict)`: the innermost line of the library that the error passed, if there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/xtrellis/" in frame.filename]
    if not ours:
        return "(before the library)"
    return f"({ours[-1].filename.rpartition('/xtrellis/')[2]}:{ours[-1].lineno} {ours[-1].name})"


# ── workers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Worker:
    """A process that does cases of one attack, one at a time; a new one begins when it dies."""

    def __init__(self, name: str, seed: int, folder: Path, environment: dict[str, str]) -> None:
        self.command = [sys.executable, "-m", "attacks.worker", name, str(seed), str(folder)]
        # `xtrellis train` writes the date into a model: without that, bytes can be compared.
        self.environment = {**os.environ, "SOURCE_DATE_EPOCH": "0", **environment}
        self.said_path = folder / "stderr.txt"
        self.process: subprocess.Popen[bytes] | None = None
        self._left = b""

    def do(self, number: int, limit: float) -> tuple[str, str, Outcome]:
        """Group, description and outcome of a case."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(b"%d\n" % number)
        process.stdin.flush()
        try:
            group, what = self._line(60)
        except (EOFError, TimeoutError):  # the attack itself is at fault
            self.stop()
            raise RuntimeError(f"case {number} cannot be made:\n{self._said()}") from None
        try:
            return group, what, Outcome(*self._answer(limit))
        except TimeoutError:
            process.send_signal(signal.SIGABRT)  # faulthandler then writes where it was
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            self.stop()
            return group, what, Outcome("hang", f"no answer within {limit:.0f} s{self._stack()}", self._said())
        except EOFError:
            code = process.wait()
            self.stop()
            why = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return group, what, Outcome("crash", f"{why}{self._stack()}", self._said())

    def stop(self) -> None:
        """End the process and whatever it has started."""
        if self.process is not None:
            for stream in (self.process.stdin, self.process.stdout):
                with suppress(BrokenPipeError):
                    stream.close()  # type: ignore[union-attr]  # they are pipes
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # a session of its own: see _running
            self.process.wait()
        self.process, self._left = None, b""

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            with self.said_path.open("wb") as said:
                self.process = subprocess.Popen(
                    self.command,
                    cwd=ROOT,
                    env=self.environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    start_new_session=True,
                )
            try:
                self._line(300)  # it says when it has prepared everything
            except (EOFError, TimeoutError):
                self.stop()
                raise RuntimeError(f"the worker does not begin:\n{self._said()}") from None
        return self.process

    def _answer(self, limit: float) -> Any:
        """The next line. Others may use the machine: time in which the process could not work does not count fully."""
        before = self._worked()
        for _ in range(3):
            try:
                return self._line(limit)
            except TimeoutError:
                if self._worked() - before > limit / 2:
                    raise
        raise TimeoutError

    def _worked(self) -> float:
        """Seconds that the process has had a core."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own and those of children it waited for

    def _line(self, limit: float) -> Any:
        assert self.process is not None
        assert self.process.stdout is not None
        pipe, end = self.process.stdout.fileno(), time.monotonic() + limit
        while b"\n" not in self._left:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            read = os.read(pipe, 1 << 16)
            if not read:
                raise EOFError
            self._left += read
        line, _, self._left = self._left.partition(b"\n")
        return json.loads(line)

    def _said(self) -> str:
        return self.said_path.read_bytes()[-8000:].decode("utf-8", "replace")

    def _stack(self) -> str:
        """From what faulthandler or a sanitizer wrote: where it was."""
        said = self._said()
        report = [line for line in said.splitlines() if "ERROR: AddressSanitizer" in line or "runtime error:" in line]
        ours = [line for line in said.splitlines() if "/xtrellis/" in line and line.lstrip().startswith("File")]
        place = ours[0].strip().rpartition("/xtrellis/")[2].replace('"', "") if ours else ""
        return "".join(f"; {part[:200]}" for part in (*report[:1], place) if part)


# ── a run ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Tally:
    """Counts of a run."""

    cases: int = 0
    seconds: float = 0.0
    groups: dict[str, Counter[str]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)

    def add(self, number: int, group: str, what: str, outcome: Outcome) -> None:
        self.cases += 1
        self.groups.setdefault(group, Counter())[outcome.kind] += 1
        if outcome.seconds:
            self.slowest[group] = max(self.slowest.get(group, 0.0), round(outcome.seconds, 3))
        if outcome.kind == "refused":
            self.errors[outcome.why] += 1
        elif outcome.kind != "answered":
            first = {"kind": outcome.kind, "why": outcome.why, "case": number, "what": what[:300], "times": 0}
            found = self.faults.setdefault(f"{outcome.kind} {_signature(outcome.why)}", first)
            if len(what) < len(found["what"]):  # the shortest is the easiest to understand
                found.update(why=outcome.why, case=number, what=what[:300])
            found["times"] += 1

    @property
    def outcomes(self) -> Counter[str]:
        return sum(self.groups.values(), Counter())

    @property
    def n_faults(self) -> int:
        return sum(self.outcomes[kind] for kind in FAULTS)

    def to_json(self) -> dict[str, Any]:
        return {
            "cases": self.cases,
            "seconds": round(self.seconds, 1),
            "outcomes": dict(self.outcomes.most_common()),
            "errors": dict(self.errors.most_common()),
            "groups": {group: dict(counts.most_common()) for group, counts in sorted(self.groups.items())},
            "slowest": self.slowest,
            "faults": sorted(self.faults.values(), key=lambda fault: -fault["times"])[:KEPT],
        }

    def told(self) -> str:
        """For a test that fails."""
        return "\n".join(
            f"{f['kind']} ×{f['times']}: {f['why']}\n  case {f['case']}: {f['what']}" for f in self.faults.values()
        )


def _signature(why: str) -> str:
    """One fault, many messages: the kind of error and the place count, without the values that a message shows."""
    error, _, rest = why.partition(":")
    return re.sub(r"0x[0-9a-f]+|\d+", "#", f"{error[:60]} {rest[rest.rfind('(') :] if '(' in rest else ''}")


def campaign(
    name: str,
    *,
    seed: int = 0,
    seconds: float | None = None,
    cases: int | None = None,
    workers: int | None = None,
    first: int = 0,
    environment: dict[str, str] | None = None,
    show: Callable[[int, str, str, Outcome], object] | None = None,
) -> Tally:
    """Do cases of an attack until the time is over, or so many of them; threads watch one worker each."""
    kind, tally, lock = attack(name), Tally(), threading.Lock()
    numbers = itertools.count(first) if cases is None else iter(range(first, first + cases))
    began = time.monotonic()
    failed: list[BaseException] = []

    def watch(folder: Path) -> None:
        worker = Worker(name, seed, folder, environment or {})
        try:
            while not failed and (seconds is None or time.monotonic() - began < seconds):
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                group, what, outcome = worker.do(number, kind.limit)
                if outcome.kind == "crash":
                    _, _, again = worker.do(number, kind.limit)
                    if again.kind != "crash":  # damage to memory may show later than it is done
                        outcome = outcome._replace(why=f"{outcome.why}; not when repeated alone")
                with lock:
                    tally.add(number, group, what, outcome)
                if show is not None:
                    show(number, group, what, outcome)
        except BaseException as error:
            failed.append(error)
        finally:
            worker.stop()

    with tempfile.TemporaryDirectory(prefix="attack-") as made:
        folders = [Path(made) / str(i) for i in range(min(workers or kind.workers, kind.workers))]
        for folder in folders:
            folder.mkdir()
        threads = [threading.Thread(target=watch, args=(folder,)) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]
    tally.seconds = time.monotonic() - began
    return tally


def record(name: str, tally: Tally, **more: Any) -> dict[str, Any]:
    """Append a run to results/NAME.jsonl."""
    from xtrellis.experiments import stamp

    # No optional locks: somebody else may be using git right now.
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", "src", "native"],
        cwd=ROOT,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        check=False,
    )
    line = {**stamp(), "uncommitted": changed.returncode != 0, "attack": name, **more, **tally.to_json()}
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return line
