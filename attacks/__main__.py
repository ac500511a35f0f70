"""`python -m attacks [NAME …]`: runs attacks, prints a table, adds to results/ and writes docs/reliability.md anew."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from . import common, connections, guided, page, sanitizers
from .common import NAMES, OTHERS, Outcome, Tally, campaign, record


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m attacks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join((*NAMES, *OTHERS))}; all by default")
    parser.add_argument("--seconds", type=float, default=120, help="for each attack (default 120)")
    parser.add_argument("--cases", type=int, help="so many of each instead, however long they take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, help="processes at once")
    parser.add_argument("--case", type=int, help="do this one case again and show everything")
    parser.add_argument("--dry", action="store_true", help="only print: no results, no page")
    args = parser.parse_args()
    if args.case is not None:
        return again(args.names[0], args.seed, args.case)
    unknown = set(args.names) - {*NAMES, *OTHERS}
    if unknown:
        parser.error(f"there is no attack {sorted(unknown)[0]!r}")
    faults = 0
    print(f"{'attack':<22}{'cases':>8}{'seconds':>9}   outcomes")
    for name in args.names or (*NAMES, *OTHERS):
        for told, tally in runs(name, args):
            show(told, tally)
            faults += tally.n_faults
            if not args.dry:
                record(told, tally, seed=args.seed)
    if not args.dry:
        page.write()
        print(f"{page.PAGE.relative_to(common.ROOT)} is written anew")
    return 1 if faults else 0


def runs(name: str, args: argparse.Namespace) -> Iterable[tuple[str, Tally]]:
    """The attack of that name; sanitizers are several."""
    how: dict[str, Any] = {"seed": args.seed, "cases": args.cases, "workers": args.workers}
    how["seconds"] = None if args.cases else args.seconds
    if name == "sanitizers":
        yield from sanitizers.runs(**how)
    elif name == "connections":
        yield name, connections.run(args.seed)
    elif name == "guided":
        found = guided.run(args.seed, args.seconds)
        if found is None:
            print(f"{name:<22}    left out: atheris cannot be installed here")
        else:
            yield name, found
    else:
        yield name, campaign(name, **how)


def show(name: str, tally: Tally) -> None:
    print(f"{name:<22}{tally.cases:>8}{tally.seconds:>9.0f}   {dict(tally.outcomes.most_common())}", flush=True)
    if tally.slowest:
        slowest = sorted(tally.slowest.items(), key=lambda item: -item[1])[:5]
        print(f"    slowest: {', '.join(f'{group} {seconds:.2f} s' for group, seconds in slowest)}")
    for fault in sorted(tally.faults.values(), key=lambda f: -f["times"]):
        print(f"    {fault['kind']} ×{fault['times']}, case {fault['case']}: {fault['why']}\n        {fault['what']}")


def again(name: str, seed: int, case: int) -> int:
    """Repeat one case and show what it was and what came out."""

    def tell(number: int, group: str, what: str, outcome: Outcome) -> None:
        print(f"{group}: {what}\n{outcome.kind}: {outcome.why}\n{outcome.trace}")

    environment = {}
    if name.startswith("sanitizers-"):
        sanitizers.build()
        name, environment = name.partition("-")[2], sanitizers.environment()
    return int(campaign(name, seed=seed, first=case, cases=1, environment=environment, show=tell).n_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
