"""Data walks one way: a room imports only rooms to its left."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import xtrellis

SOURCE = Path(xtrellis.__file__).parent

# From left to right. A module or room may import anything that stands before it, and itself.
ORDER = [
    "_native", "errors", "checks", "config", "rng", "progress", "parallel", "types", "arrays", "features", "strings",
    "store", "model", "data", "text", "labels", "metrics", "index", "linear", "softmax", "neural", "rank", "catalog",
    "tuning", "explained", "tagger", "experiments", "cli",
]  # fmt: skip


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py").removesuffix(".pyi")


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file's import statements name, wherever they stand; types for checkers do not count."""
    package = ("xtrellis", *path.relative_to(SOURCE).parts[:-1])
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            names = (*base, *(node.module.split(".") if node.module else ()))
            if names[:1] == ("xtrellis",):
                found |= {names[1]} if len(names) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("xtrellis.")}
    return found


def test_every_room_has_its_place():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")} - {"__init__", "__main__"}
    assert rooms == set(ORDER)


def test_no_arrow_points_back():
    wrong = []
    for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi")]:
        room = room_of(path)
        if room in ("__init__", "__main__"):
            continue
        for target in imported_rooms(path) & set(ORDER):
            # Stubs of kernels may name the array types; everything else only looks left.
            allowed = target == "types" if room == "_native" else ORDER.index(target) <= ORDER.index(room)
            if not allowed:
                wrong.append(f"{path.relative_to(SOURCE)} imports {target}")
    assert not wrong


def test_importing_the_package_loads_next_to_nothing():
    script = (
        "import sys, xtrellis; print([m for m in ('numpy', 'scipy', 'torch', 'rich', 'typer') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_public_name_exists():
    for name in xtrellis.__all__:
        assert getattr(xtrellis, name) is not None


def test_no_module_hides_a_public_name():
    """Importing `xtrellis.x` puts the module x into the package, before a function of that name."""
    modules = {path.stem for path in SOURCE.iterdir()}
    assert modules & set(xtrellis._PUBLIC) == set()


def test_every_storable_class_can_be_found():
    from xtrellis.store import Storable
    from xtrellis.store.registry import CLASSES, resolve

    for name in CLASSES:
        assert issubclass(resolve(name), Storable)


def test_stubs_say_what_the_kernels_have():
    for stub in (SOURCE / "_native").glob("*.pyi"):
        module = __import__(f"xtrellis._native.{stub.stem}", fromlist=["*"])
        body = ast.parse(stub.read_text()).body
        declared = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        declared |= {node.name for node in body if isinstance(node, ast.ClassDef) and not node.bases}  # no TypedDicts
        declared |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
        assert declared == {name for name in dir(module) if not name.startswith("_")}, stub.name
