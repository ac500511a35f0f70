"""The two sides of quick.py: folders that hold nothing but the package, of a commit or of the working tree.

A commit is taken out of the repository by its name, built once (not even that if its kernels are those of the working
tree), and kept in build/quick/COMMIT. The working tree is copied with the extension modules that are installed now, so
that nobody's edits change what is being measured.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "quick"


def full_name(commit: str) -> str:
    """A commit's short hash, of anything that git takes for one: a hash, a branch, HEAD~3."""
    found = _git("rev-parse", "--short=10", "--verify", "--quiet", f"{commit}^{{commit}}", check=False)
    if not found:
        raise SystemExit(f"there is no commit {commit!r} in this repository; `git log --oneline` shows them")
    return found


def site_of_commit(commit: str) -> Path:
    """The folder of a commit's package; built if it has not been built before."""
    name = full_name(commit)
    site = CACHE / name
    if site.is_dir():
        return site
    CACHE.mkdir(parents=True, exist_ok=True)
    if _same_kernels(name):
        return _with_installed_kernels(name, site)
    print(f"building {name} into {site.relative_to(ROOT)}: some minutes, once", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="building-") as work:
        tree, made = Path(work) / "tree", Path(work) / "site"
        _take_out(name, tree)
        command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-build-isolation"]
        command += ["--no-deps", "--target", str(made), str(tree)]
        # cmake and ninja lie beside the interpreter
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=work)
        if done.returncode:
            raise SystemExit(f"{name} cannot be built:\n{(done.stderr or done.stdout)[-3000:]}")
        made.rename(site)  # last: a build that was stopped leaves nothing that looks whole
    return site


def site_of_working_tree(folder: Path) -> Path:
    """A copy of src/xtrellis and of the extension modules beside it, into `folder`."""
    if _stale_kernels():
        print("native/ is newer than what was built of it: `make build` first?", file=sys.stderr)
    return _assemble(ROOT / "src" / "xtrellis", folder)


def describe_working_tree() -> str:
    """The commit that it stands on, and whether anything was changed since."""
    return full_name("HEAD") + (" and changes" if _git("status", "--porcelain", "--", "src", "native") else "")


def _same_kernels(name: str) -> bool:
    """Whether what is installed was compiled of the same files as this commit's: then nothing need be compiled."""
    command = ["git", "diff", "--quiet", name, "--", "native", "CMakeLists.txt"]
    changed = subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return not (changed or _git("ls-files", "--others", "--exclude-standard", "native") or _stale_kernels())


def _stale_kernels() -> bool:
    newest = max(file.stat().st_mtime for file in (ROOT / "native").rglob("*.[chi]*"))
    return newest > min(file.stat().st_mtime for file in _installed_kernels())


def _with_installed_kernels(name: str, site: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="building-") as work:
        _take_out(name, Path(work) / "tree")
        _assemble(Path(work) / "tree" / "src" / "xtrellis", Path(work) / "site").rename(site)
    return site


def _take_out(name: str, tree: Path) -> None:
    """The files of a commit, into `tree`; the repository itself stays as it is."""
    tree.mkdir()
    archive = subprocess.Popen(["git", "archive", name], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(tree)], stdin=archive.stdout, check=True)
    if archive.wait():
        raise SystemExit(f"git archive {name} failed")


def _installed_kernels() -> list[Path]:
    native = Path(importlib.import_module("xtrellis._native.search").__file__ or "").parent
    return sorted(native.glob("*.so"))


def _assemble(package: Path, site: Path) -> Path:
    """The Python files of `package` and the extension modules that are installed."""
    shutil.copytree(package, site / "xtrellis", ignore=shutil.ignore_patterns("__pycache__"))
    for file in _installed_kernels():
        shutil.copy(file, site / "xtrellis" / "_native" / file.name)
    return site


def _git(*words: str, check: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=check)
    return done.stdout.strip()
