"""The readers, store and door attacks on kernels that are built with AddressSanitizer and UndefinedBehaviorSanitizer.

The extension modules are built a second time, in build/attack, and stand beside the same Python files; libasan is
loaded before Python. Leaks are not looked for (Python's own would drown ours), and a request for more than 2 GB fails
as it does without sanitizers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .common import MEMORY, ROOT, Tally, campaign

BUILD = ROOT / "build" / "attack"
ATTACKS = ("readers", "store", "door")
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -DXTRELLIS_NO_DISPATCH"


def runs(*, seconds: float | None, **how: Any) -> Iterator[tuple[str, Tally]]:
    """Each attack, for so many seconds."""
    build()
    for name in ATTACKS:
        yield f"sanitizers-{name}", campaign(name, seconds=seconds, environment=environment(), **how)


def build() -> Path:
    """The package with sanitized kernels; made again only where sources have changed."""
    BUILD.mkdir(parents=True, exist_ok=True)
    python, tools = sys.executable, Path(sys.executable).parent
    cmake = [
        str(tools / "cmake"),
        "-S",
        str(ROOT),
        "-B",
        str(BUILD / "cmake"),
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
        "-DSKBUILD=ON",
        f"-DPython_EXECUTABLE={python}",
        "-DCMAKE_BUILD_TYPE=None",
        f"-DCMAKE_CXX_FLAGS={FLAGS}",
    ]
    with (BUILD / "build.log").open("wb") as log:
        for command in (
            cmake,
            [str(tools / "cmake"), "--build", str(BUILD / "cmake")],
            [str(tools / "cmake"), "--install", str(BUILD / "cmake"), "--prefix", str(BUILD / "kernels")],
        ):
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                raise RuntimeError(f"the kernels could not be built with sanitizers: see {BUILD / 'build.log'}")
    source, package = ROOT / "src" / "xtrellis", BUILD / "package" / "xtrellis"
    native = package / "_native"
    native.mkdir(parents=True, exist_ok=True)
    for old in (*package.iterdir(), *native.iterdir()):
        if old.is_symlink():
            old.unlink()
    found = [
        *source.iterdir(),
        *(source / "_native").iterdir(),
        *(BUILD / "kernels" / "xtrellis" / "_native").iterdir(),
    ]
    for path in found:
        if path.name not in ("_native", "__pycache__") and not (
            path.suffix == ".so" and path.parent == source / "_native"
        ):
            (native if path.parent.name == "_native" else package).joinpath(path.name).symlink_to(path)
    return package.parent


def environment() -> dict[str, str]:
    """For a worker."""
    # libstdc++ too: else libasan does not find what throws the exceptions of libraries that bring it later.
    libraries = [
        os.path.realpath(
            subprocess.run(
                ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
            ).stdout.strip()
        )
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    most = MEMORY >> 20
    return {
        "ATTACK_PACKAGE": str(BUILD / "package"),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb={most}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
