"""The process that does cases: `python -m attacks.worker NAME SEED FOLDER`; numbers come in, lines of JSON go out."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import sys
import warnings
from pathlib import Path


def main() -> None:
    name, seed, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    # Whatever the library or its libraries print or ask must not meet the protocol.
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    use_other_build()

    from .common import MEMORY, attack, judge

    def say(*words: object) -> None:
        outbox.write(json.dumps(words).encode() + b"\n")
        outbox.flush()

    made = attack(name)(folder, seed)
    made.prepare()
    gc.freeze()  # what is there stays there: collections look at what a case leaves
    if "ASAN_OPTIONS" not in os.environ:  # a sanitizer has limits of its own
        taken = int(next(x for x in Path("/proc/self/status").read_text().splitlines() if "VmData" in x).split()[1])
        resource.setrlimit(resource.RLIMIT_DATA, (taken * 1024 + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    say("ready")
    for line in inbox:
        case = made.make(int(line))
        say(case.group, case.what)
        say(*judge(case.run))


def use_other_build() -> None:
    """ATTACK_PACKAGE names a folder with another build of the package: it goes before the one that is installed."""
    package = os.environ.get("ATTACK_PACKAGE")
    if package:
        sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
        sys.path.insert(0, package)


if __name__ == "__main__":
    main()
