"""How far the data walks: files and rooms that `xtrellis train` and `tag` pass through, counted while they run.

    python benchmarks/walk.py            of this tree; PYTHON of another clone's .venv counts that one

A *step* is a call from a function of one file to a function of another, each pair of files once. Steps between rooms
are the ones that a reader must follow; `back` are those into a room further left that then call into a room further
right again through a function they were given (a callback).
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

# What everything stands on: calls into it are no way of the data.
GROUND = {"core", "arrays", "errors", "checks", "config", "rng", "progress", "parallel", "types", "features", "strings"}
TEXTS = ["boil pasta in water", "bake bread in the oven", "salt the water for pasta", "knead dough for bread"]
LABELS = [["pasta"], ["bread", "baking"], ["pasta", "salt"], ["bread"]]


def room(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def main() -> None:
    import xtrellis
    from xtrellis import cli

    root = str(Path(xtrellis.__file__).parent) + "/"
    steps: set[tuple[str, str]] = set()
    entries: dict[str, int] = {}

    def file_of(frame: Any) -> str | None:
        name = frame.f_code.co_filename if frame is not None else ""
        return name[len(root) :] if name.startswith(root) else None

    def watch(frame: Any, event: str, argument: Any) -> None:
        if event != "call":
            return
        here, caller = file_of(frame), frame.f_back
        while caller is not None and file_of(caller) is None:
            caller = caller.f_back
        there = file_of(caller)
        if here is None or there is None or here == there:
            return
        if (there, here) not in steps and here.startswith("cli/") and not there.startswith("cli/"):
            entries["callbacks into cli"] = entries.get("callbacks into cli", 0) + 1
        steps.add((there, here))

    def counted(args: list[str]) -> dict[str, int]:
        steps.clear()
        entries.clear()
        sys.setprofile(watch)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                code = cli.run(args)
        finally:
            sys.setprofile(None)
        if code:
            raise SystemExit(f"{args} ended with {code}")
        walked = {(a, b) for a, b in steps if room(a) not in GROUND and room(b) not in GROUND}
        files = {file for step in walked for file in step}
        return {
            "files": len(files),
            "files of linear": sum(room(file) == "linear" for file in files),
            "steps between files": len(walked),
            "steps between rooms": sum(room(a) != room(b) for a, b in walked),
            "pairs of rooms": len({(room(a), room(b)) for a, b in walked if room(a) != room(b)}),
            **entries,
        }

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "train.jsonl"
        rows = [{"text": text, "labels": labels} for text, labels in zip(TEXTS * 20, LABELS * 20, strict=True)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        model = str(Path(folder) / "model")
        found = {"train": counted(["train", str(data), "--to", model, "--threads", "1"])}
        found["tag"] = counted(["tag", model, "salt for pasta"])
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
