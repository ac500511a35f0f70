"""One turn of quick.py, in a process of its own: python quick_worker.py SITE DATA THREADS. Prints one JSON object.

Uses only what both commits have. SITE is a folder that holds the package; an editable installation, which would come
first, is passed over. Every time is told by the clock and in time of the processor over all threads.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCHES, SINGLES, ROUNDS = 5, 200, 5


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


class Times:
    """name -> [clock, processor], the least where something was done more than once."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def once(self, name: str, work: Callable[[], Any], unit: float = 1) -> Any:
        kept: list[Any] = []
        self.found[name] = [unit * spent for spent in seconds(lambda: kept.append(work()))]
        return kept[0]

    def repeated(self, name: str, work: Callable[[], Any], times: int, unit: float = 1) -> None:
        all_of_them = [seconds(work) for _ in range(times)]
        self.found[name] = [unit * min(spent[side] for spent in all_of_them) for side in (0, 1)]

    def each(self, name: str, work: Callable[[Any], Any], given: list[Any]) -> None:
        """Microseconds: the median over what is given of the least of all rounds."""
        least = [[float("inf")] * len(given), [float("inf")] * len(given)]
        for _ in range(ROUNDS):
            for i, thing in enumerate(given):
                for side, spent in enumerate(seconds(lambda thing=thing: work(thing))):  # type: ignore[misc]
                    least[side][i] = min(least[side][i], spent)
        self.found[name] = [1e6 * sorted(side)[len(side) // 2] for side in least]


def measure(site: Path, folder: Path, threads: int) -> dict[str, Any]:
    times = Times()

    def load_package() -> Any:
        import xtrellis as xt

        return xt, xt.LinearTree, xt.Tagger  # what is public loads on first use

    xt, *_ = times.once("import ms", load_package, unit=1e3)
    if Path(xt.__file__ or "").resolve().parents[1] != site.resolve():
        raise SystemExit(f"xtrellis was imported from {xt.__file__}, not from {site}")
    import scipy.sparse as sp

    X, Y, x = (sp.load_npz(folder / f"{name}.npz") for name in ("X", "Y", "x"))
    told = json.loads((folder / "texts.json").read_text())
    texts, labels, unseen = told["texts"], told["labels"], told["unseen"]
    how = {"seed": 0, "threads": threads}

    times.once("vectorise s", lambda: xt.Vectorizer(ngrams=2, threads=threads).fit_transform(texts))
    rows = [x[[i]] for i in range(0, x.shape[0], max(1, x.shape[0] // SINGLES))]
    checks = []
    for short in ("xr-linear", "parabel", "ensemble"):
        model = xt.preset(short, **how) if short != "ensemble" else _ensemble(xt, how)
        times.once(f"{short}: train s", lambda model=model: model.fit(X, Y))
        checks.append(int(model.predict(x, k=5).labels.astype("int64").sum()))
        times.repeated(f"{short}: batch ms", lambda model=model: model.predict(x, k=10), BATCHES, unit=1e3)
        times.each(f"{short}: single us", lambda row, model=model: model.predict(row, k=10), rows)
        if short == "xr-linear":
            model.save(folder / "model")
            times.repeated("xr-linear: load ms", lambda: xt.load(folder / "model"), 20, unit=1e3)
    tagger = xt.Tagger(xt.Vectorizer(ngrams=2, threads=threads), xt.preset("xr-linear", **how))
    times.once("texts: train s", lambda: tagger.fit(texts, labels))
    times.repeated("texts: batch ms", lambda: tagger.tag_many(unseen, k=10), 2, unit=1e3)
    times.each("texts: single us", lambda text: tagger.tag(text, k=10), unseen[:SINGLES])
    return {"times": times.found, "checks": checks}


def _ensemble(xt: Any, how: dict[str, int]) -> Any:
    return xt.Ensemble(models=[xt.preset("xr-linear", **{**how, "seed": seed}) for seed in range(3)])


def main() -> None:
    site, folder, threads = sys.argv[1:]
    if not (Path(site) / "xtrellis" / "__init__.py").is_file():
        raise SystemExit(f"{site} holds no package xtrellis")
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
    sys.path.insert(0, site)
    print(json.dumps(measure(Path(site), Path(folder), int(threads))))


if __name__ == "__main__":
    main()
