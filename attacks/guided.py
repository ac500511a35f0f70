"""Data files again, but guided by coverage: libFuzzer, by way of atheris, keeps those inputs that reach new lines.

`python -m attacks.guided SEED SECONDS` runs in a process of its own (libFuzzer ends it itself) and writes its counts to
the file that ATTACK_COUNTS names. atheris lies in build/attack, not in the environment of the library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from .common import ROOT, Outcome, Tally, judge

LIBRARY = ROOT / "build" / "attack" / "atheris"
FORMATS = ("xmc", "svmlight", "jsonl", "csv", "tsv", "parquet")
EACH = 1 << 12  # bytes of an input


def run(seed: int, seconds: float) -> Tally | None:
    """The counts of a run; None where atheris cannot be had."""
    if not LIBRARY.exists():
        command = [
            sys.executable,
            "-m",
            "pip",
            "-q",
            "--disable-pip-version-check",
            "install",
            "--no-deps",
            "--target",
            str(LIBRARY),
            "atheris",
        ]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return None
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="attack-") as made:
        counts, said = Path(made) / "counts.json", Path(made) / "said.txt"
        with said.open("wb") as out:
            code = subprocess.run(
                [sys.executable, "-m", "attacks.guided", str(seed), str(int(seconds))],
                cwd=ROOT,
                env={**os.environ, "ATTACK_COUNTS": str(counts)},
                stdout=out,
                stderr=out,
                check=False,
            ).returncode
        if not counts.exists():
            raise RuntimeError(f"the guided attack does not begin:\n{said.read_text(errors='replace')[-3000:]}")
        found = json.loads(counts.read_text())
        tally.cases, tally.seconds = found["cases"], seconds
        tally.groups = {group: Counter(kinds) for group, kinds in found["groups"].items()}
        tally.errors, tally.faults = Counter(found["errors"]), found["faults"]
        if code:
            why = said.read_text(errors="replace")[-600:]
            tally.add(found["cases"], "?", f"libFuzzer ended with code {code}", Outcome("crash", why))
    return tally


class Fuzz:
    """Reads one input after another and counts."""

    def __init__(self, place: Path) -> None:
        import xtrellis as xt

        self.xt, self.place, self.tally = xt, place, Tally()

    def __call__(self, raw: bytes) -> None:
        if not raw:
            return
        from .readers import check

        format = FORMATS[raw[0] % len(FORMATS)]
        path = self.place / "data"
        path.write_bytes(raw[1:])
        how: dict[str, Any] = {"index_base": raw[0] >> 7} if format == "svmlight" else {}
        outcome = judge(lambda: check(self.xt.read(path, format=format, threads=1, **how)))
        self.tally.add(self.tally.cases, format, f"{format}: {raw[1:200]!r}", outcome)
        if self.tally.cases % 500 == 0:
            self.save()

    def save(self) -> None:
        found = self.tally
        Path(os.environ["ATTACK_COUNTS"]).write_text(
            json.dumps({"cases": found.cases, "groups": found.groups, "errors": found.errors, "faults": found.faults})
        )


def main() -> None:
    seed, seconds = int(sys.argv[1]), int(sys.argv[2])
    sys.path.append(str(LIBRARY))
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

    with atheris.instrument_imports(include=["xtrellis.data", "xtrellis.arrays"]):
        import xtrellis.data.formats.io  # noqa: F401
    from .readers import make_bases

    place = Path(os.environ["ATTACK_COUNTS"]).parent
    corpus = place / "corpus"
    corpus.mkdir()
    for i, base in enumerate(make_bases(place / "bases")):
        if base.format in FORMATS:
            (corpus / str(i)).write_bytes(bytes([FORMATS.index(base.format)]) + base.files[base.target])
    fuzz = Fuzz(place)
    atheris.Setup(
        [
            sys.argv[0],
            str(corpus),
            f"-seed={seed + 1}",
            f"-max_total_time={seconds}",
            f"-max_len={EACH}",
            "-rss_limit_mb=4096",
            "-timeout=20",
            "-verbosity=0",
        ],
        fuzz,
    )
    fuzz.save()
    atheris.Fuzz()


if __name__ == "__main__":
    main()
