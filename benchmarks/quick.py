"""The working tree against any commit, in one run of about five minutes: ratios with their spread.

    make bench-quick BEFORE=HEAD~1                        any name of a commit; it is built once, into build/quick
    python benchmarks/quick.py --before HEAD~1 [--data debian-depends yso-100k] [--turns 3] [--threads 2]

Measured on each data set: import; vectorising; training, batches and single queries of xr-linear, of parabel and of an
ensemble of three trees; loading; a whole Tagger from texts to names. Sides take turns, each in a process of its own on
the same matrices, and every other turn begins with the other side. Of all turns the least counts, since other programs
only ever add time. Ratios are after : before, so 1.03 is three percent slower: by the clock, and in time of the
processor, which other programs disturb less; beside them the least and the largest ratio (of the processor) of turns
that belong together, and in how many of them the working tree was faster. Without the larger data sets (XTRELLIS_DATA)
it runs on the one that every installation has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from quick_sites import describe_working_tree, full_name, site_of_commit, site_of_working_tree

HERE = Path(__file__).parent
DATA = ["debian-depends", "yso-100k"]
MAX_TEXTS, MAX_UNSEEN = 20_000, 2_000
Turn = dict[str, list[float]]  # what was timed -> [clock, processor]


def prepare(name: str, folder: Path) -> None:
    """Matrices and texts, made once by the working tree: both sides get the same."""
    import scipy.sparse as sp

    import xtrellis as xt
    from xtrellis.data import datasets, shared

    train, test = datasets.load(name) if name in datasets.names() else (shared(name), shared(name, "test"))
    vectorizer = xt.Vectorizer(ngrams=1)
    sp.save_npz(folder / "X.npz", vectorizer.fit_transform(train.texts))
    sp.save_npz(folder / "Y.npz", train.Y)
    sp.save_npz(folder / "x.npz", vectorizer.transform(test.texts))
    names = train.label_names
    few = train.Y[:MAX_TEXTS]
    labels = [[names[j] for j in few.indices[a:z]] for a, z in zip(few.indptr[:-1], few.indptr[1:], strict=True)]
    told = {"texts": train.texts[:MAX_TEXTS], "labels": labels, "unseen": test.texts[:MAX_UNSEEN]}
    (folder / "texts.json").write_text(json.dumps(told))


def compare(before: list[Turn], after: list[Turn]) -> dict[str, dict[str, Any]]:
    """Of turns that belong together: the least of both sides, their ratios, and how far the turns' ratios are apart."""
    out = {}
    for name in before[0]:
        if not all(name in turn for turn in (*before, *after)):
            continue
        least = [[min(turn[name][unit] for turn in side) for unit in (0, 1)] for side in (before, after)]
        pairs = [_ratio(a[name][1], b[name][1]) for b, a in zip(before, after, strict=True)]
        out[name] = {
            "before": least[0], "after": least[1],
            "clock": _ratio(least[1][0], least[0][0]), "processor": _ratio(least[1][1], least[0][1]),
            "median": statistics.median(pairs), "from": min(pairs), "to": max(pairs),
            "faster": sum(ratio < 1 for ratio in pairs), "turns": len(pairs),
        }  # fmt: skip
    return out


def _ratio(after: float, before: float) -> float:
    """Times too short for the processor's clock are equal."""
    return after / before if before > 0 else 1.0


def show(name: str, found: dict[str, dict[str, Any]]) -> None:
    head = ("before", "after", "clock", "processor", "from", "to", "faster")
    print(f"\n{name:24}" + "".join(f"{title:>11}" for title in head))
    for what, line in found.items():
        cells = [line["before"][0], line["after"][0], *(line[key] for key in ("clock", "processor", "from", "to"))]
        faster = f"{line['faster']}/{line['turns']}"
        print(f"{what:24}" + "".join(f"{cell:11.3f}" for cell in cells) + f"{faster:>11}", flush=True)


def rounded(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {key: rounded(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [rounded(value) for value in thing]
    return round(thing, 4) if isinstance(thing, float) else thing


def run(name: str, sites: dict[str, Path], args: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """All turns on one data set; whether both sides answered the same in every one of them."""
    turns: dict[str, list[Turn]] = {side: [] for side in sites}
    answers: set[str] = set()
    with tempfile.TemporaryDirectory() as work:
        prepare(name, Path(work))
        for turn in range(args.turns):
            for side in sorted(sites, reverse=turn % 2 == 0):  # before, after; then after, before
                command = [sys.executable, HERE / "quick_worker.py", sites[side], work, args.threads]
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=work)
                if done.returncode:
                    raise SystemExit(f"{side}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
                found = json.loads(done.stdout.splitlines()[-1])
                turns[side].append(found["times"])
                answers.add(json.dumps(found["checks"]))
    return compare(turns["before"], turns["after"]), len(answers) == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default="HEAD", help="a commit: hash, branch, tag or HEAD~1; HEAD without")
    parser.add_argument("--data", nargs="*", default=DATA if os.environ.get("XTRELLIS_DATA") else ["pydocs"])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    from common import record

    with tempfile.TemporaryDirectory() as work:
        sites = {"before": site_of_commit(args.before), "after": site_of_working_tree(Path(work))}
        named = {"before_commit": full_name(args.before), "after_commit": describe_working_tree()}
        for name in args.data:
            busy = os.getloadavg()[0]
            found, same = run(name, sites, args)
            show(name, found)
            if not same:
                print("The two do not give the same answers.")
            record(
                "quick", data=name, turns=args.turns, threads=args.threads, busy=round(busy, 1), **named,
                same_answers=same, found=rounded(found),
            )  # fmt: skip


if __name__ == "__main__":
    main()
