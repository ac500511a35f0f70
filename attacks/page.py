"""docs/reliability.md, made from results/*.jsonl: nothing on that page is written by hand.

    python -m attacks.page

Of each attack the newest run counts.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from .common import FAULTS, GOOD, MEANING, NAMES, OTHERS, RESULTS, ROOT

PAGE = ROOT / "docs" / "reliability.md"
Line = dict[str, Any]

TITLES = {
    "readers": "Damaged data files",
    "guided": "Data files, guided by coverage",
    "store": "Damaged models",
    "door": "Odd calls",
    "concurrency": "Threads",
    "interrupts": "Ctrl-C",
    "kills": "Kills",
    "serve": "Requests",
    "connections": "Connections",
    "sanitizers": "Under sanitizers",
}
ABOUT = {
    "readers": """Small files that `xt.write` makes in every format and compression are damaged (bits, bytes, lines
and pieces changed, doubled, moved or cut off; numbers such as 2⁶³, 1e400 and `nan`; NULs, broken UTF-8, odd Unicode;
pieces of another file; other JSON values, NumPy arrays and Parquet columns) and read with options that may or may not
fit. A file is read, or refused with an error that names it; what was read must keep within its shape, be finite, and
go through a `Vectorizer` or `xt.write`.""",
    "guided": """The same readers, but [atheris](https://pypi.org/project/atheris/) (libFuzzer) chooses the files: it
keeps those that reach lines of code which none before has reached.""",
    "store": """The models that the tests keep of every kind, and a small transformer, are damaged: bytes and values of
`model.json`; bytes of tensor files; arrays with other values, shapes or dtypes under headers, sizes and hashes that
agree; parts of one model in another; files swapped, missing, added, or links, pipes, sockets and folders in their
place. Loading may refuse with `StoreError` only. What loads is asked to predict, score, explain and embed, and some
are saved and loaded again. With `verify`, bytes that differ must be noticed.""",
    "door": """Every argument of every public function, constructor and method gets values that nobody should pass:
`None`, NaN, ±10³⁰, 2⁶³, text where numbers belong, empty and ragged lists, object and structured arrays, `np.matrix`,
masked and big-endian arrays, and SciPy's sparse matrices of every kind with offsets and indices that point elsewhere;
later two and three arguments at once. What is accepted is used (a model is trained), and a model that refused
something must answer as before.""",
    "concurrency": """Up to seven threads predict, score, explain, embed, load, save and train at once, with the
interpreter changing its turn every 10 µs. Everybody must get what one thread gets alone, and whoever loads from a
path at which two models are saved in turn gets one of them, whole.""",
    "interrupts": """SIGINT at a random moment of a call. It must end in `KeyboardInterrupt` (within 10 s, or it
counts as a hang), leave models and files as they were or whole, and the next call must work. The table shows the
longest time from the signal to the end of the call, on a machine that does other things too.""",
    "kills": """SIGKILL at random moments, up to three times in a row. Afterwards the model folder is the old one or
the new one, to the byte; and a training that goes on from its checkpoint ends with the same bytes as one that was not
killed.""",
    "connections": """Ten thousand connections that say nothing, others that send half a request or a byte at a time,
announce 50 MB, send 5 MB in chunks, leave at once, talk nonsense, send damaged PDF files, read nothing of what they
asked for; and workers that are killed. Each must end in an answer, a 4xx, or being closed, and *others* who ask
meanwhile must get the right answer; the table shows how long they waited at most, on a machine that does other things
too. The server has two workers and gives its clients 2 s.""",
    "serve": """[schemathesis](https://pypi.org/project/schemathesis/) asks a server by the description that it gives of
itself, with requests that fit and with requests that do not: other types, missing and odd values, limits and what lies
beyond them. Statuses, types and bodies of answers must be as described; a 5xx is a fault. `tests/serve` repeats it with
fewer requests, and adds malformed JSON and HTTP, huge bodies, slow and silent clients, killed workers, and models that
are replaced while requests go on.""",
    "sanitizers": """Readers, store and door once more, with the C++ kernels built by GCC with AddressSanitizer and
UndefinedBehaviorSanitizer and libasan loaded before Python. Any access outside of an array, use after free, overflow
of a signed integer or misaligned access ends the process and counts as a crash. Faults of Python code are those of
the attacks above. The native tests run under the same sanitizers (`make asan`).""",
}


def newest() -> dict[str, Line]:
    """The last line of each attack's file."""
    found = {}
    for path in sorted(RESULTS.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines:
            found[path.stem] = json.loads(lines[-1])
    order = [
        *NAMES[:1],
        "guided",
        *NAMES[1:],
        "serve",
        "connections",
        *(name for name in found if name.startswith("sanitizers-")),
    ]
    return {name: found[name] for name in order if name in found}


def text() -> str:
    runs = newest()
    all_runs = [
        json.loads(line)
        for path in sorted(RESULTS.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    parts = [_head(runs, all_runs), _overview(runs), _open(runs)]
    for name in dict.fromkeys(name.partition("-")[0] for name in runs):
        parts.append(f"## {TITLES[name]}\n\n{ABOUT[name]}\n")
        parts += [_groups(line, other) for other, line in runs.items() if other.partition("-")[0] == name]
    parts.append(_repeat())
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _head(runs: dict[str, Line], all_runs: list[Line]) -> str:
    total = sum(line["cases"] for line in runs.values())
    return f"""# Reliability

<!-- Made by attacks/page.py from attacks/results; do not edit. -->

Nothing that a user types, passes or sends may crash the process, read outside of an array, or end in an error that is
not the library's own ([Security](project/security.md) says what is promised and what is not). So the library is
attacked: {total:,} cases in the runs below, {sum(line["cases"] for line in all_runs):,} in all that are on record.
Every case can be repeated by its number. Small versions of the attacks run with the tests.
"""


def _overview(runs: dict[str, Line]) -> str:
    rows = ["| attack | cases | answered | refused | faults | commit | date |", "|---|---:|---:|---:|---:|---|---|"]
    for name, line in runs.items():
        counts: Counter[str] = Counter(line["outcomes"])
        commit = f"{line['commit']}{' + changes' if line['uncommitted'] else ''}"
        faults = sum(counts[kind] for kind in FAULTS)
        cells = [f"{n:,}" for n in (line["cases"], counts["answered"], counts["refused"], faults)]
        rows.append(f"| {_title(name)} | {' | '.join(cells)} | {commit} | {line['date'][:10]} |")
    machines = ", ".join(dict.fromkeys(f"{line['machine']}, Python {line['python']}" for line in runs.values()))
    meanings = "; ".join(f"*{kind}* is {MEANING[kind]}" for kind in (*GOOD, *FAULTS))
    return (
        "\n".join(rows)
        + f"\n\n{meanings}. Time is limited to 20 s and memory to 2 GB for a case.\n\nMachine: {machines}.\n"
    )


def _title(name: str) -> str:
    first, _, rest = name.partition("-")
    return f"{TITLES[first]}: {rest}" if rest else TITLES[first]


def _open(runs: dict[str, Line]) -> str:
    rows = []
    for name, line in runs.items():
        for fault in line["faults"]:
            repeat = f"`python -m attacks {name} --seed {line['seed']} --case {fault['case']}`"
            rows.append(
                f"| {fault['kind']} | {_cell(fault['why'])} | {_cell(fault['what'])} | {fault['times']} | {repeat} |"
            )
    if not rows:
        return "## Faults that are open\n\nNone in these runs.\n"
    head = "| kind | what | of | times | again |\n|---|---|---|---:|---|"
    return f"## Faults that are open\n\n{head}\n" + "\n".join(rows) + "\n"


def _cell(said: str) -> str:
    """Anything on one line of a table, as code."""
    shown = " ".join(said.split())[:140].replace("|", "¦").replace("`", "'")
    return f"`{shown}`"


def _groups(line: Line, name: str) -> str:
    kinds = [kind for kind in (*GOOD, *FAULTS) if line["outcomes"].get(kind)]
    slowest = line.get("slowest") or {}
    head = f"| {name.partition('-')[2] or 'of'} | cases | {' | '.join(kinds)} |" + (" slowest |" if slowest else "")
    rows = [head, "|---|---:|" + "---:|" * (len(kinds) + bool(slowest))]
    for group, counts in line["groups"].items():
        cells = [f"{sum(counts.values()):,}", *(f"{counts.get(kind, 0):,}" for kind in kinds)]
        cells += [f"{slowest[group]:.2f} s" if group in slowest else ""] if slowest else []
        rows.append(f"| {group} | {' | '.join(cells)} |")
    errors = ", ".join(f"`{error}` {count:,}" for error, count in line["errors"].items())
    return "\n".join(rows) + (f"\n\nRefusals: {errors}.\n" if errors else "\n")


def _repeat() -> str:
    return f"""## How to repeat it

```sh
make attack                                  # all, two minutes each
make attack ATTACK_SECONDS=600 ATTACK_SEED=1
python -m attacks store door --seconds 60    # some
python -m attacks store --seed 0 --case 109  # one case again, with everything that is known of it
```

Attacks: {", ".join((*NAMES, *OTHERS))}. A case depends on the attack, the seed and its number alone (those of *guided*
excepted, which go where coverage leads), and on the library, of course. The moment at which a signal arrives is never
quite the same. Each run adds a line to `attacks/results`, from which this page is made.
"""


def write() -> None:
    PAGE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    write()
