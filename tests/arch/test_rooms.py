"""The house as docs/architecture.md draws it: data walks one way, by the rooms' doors."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import xtrellis

SOURCE = Path(xtrellis.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"

# From left to right. A room may import what the `__init__` of any room before it offers; within a room, anything.
ORDER = [
    "_native", "core", "arrays", "store", "data", "text", "vocabulary", "labels", "metrics", "model", "explain",
    "index", "linear", "softmax", "neighbors", "names", "neural", "rank", "catalog", "tuning", "tagger", "engines",
    "halving", "interop", "sklearn", "annif", "serve", "experiments", "cli",
]  # fmt: skip
# Rooms within rooms, from left to right; they keep the same rule among themselves.
INNER = {"neural": ["training", "scoring", "encoders", "glas", "ova", "elias", "xtransformer"]}
# What the first page of a program or a server must not load.
LIGHT = {"core", "cli"}


def sources() -> list[Path]:
    return [
        path for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi")] if path.parent != SOURCE or room(path) in ORDER
    ]


def module(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def room(path: Path) -> str:
    return (*module(path), "")[0]


def imports(path: Path, *, for_checkers: bool = False) -> set[tuple[str, ...]]:
    """What a file's import statements name, as ("room", "module", "name"); blocks for type checkers do not count."""
    package = path.relative_to(SOURCE).parts[:-1]
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = node.body if for_checkers else [ast.Pass()]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if not node.level and not (node.module or "").startswith("xtrellis"):
                continue
            base = package[: len(package) - node.level + 1] if node.level else ()
            inside = tuple(node.module.removeprefix("xtrellis").strip(".").split(".")) if node.module else ()
            found |= {(*base, *(part for part in inside if part), alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {tuple(a.name.split(".")[1:]) for a in node.names if a.name.startswith("xtrellis.")}
    return found


def offered(*parts: str) -> set[str]:
    """The names that a room's `__init__` offers (of a room that is one module: all its public names)."""
    inside = SOURCE.joinpath(*parts) / "__init__.py"
    tree = ast.parse((inside if inside.exists() else SOURCE.joinpath(*parts).with_suffix(".py")).read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def test_every_room_has_its_place():
    rooms = {room(path) for path in SOURCE.rglob("*.py")} - {"", "__main__"}
    assert rooms == set(ORDER)
    for outer, inner in INNER.items():
        assert {p.stem for p in (SOURCE / outer).iterdir() if p.name[0] not in "_."} == set(inner)


def test_the_page_lists_the_rooms_of_this_test():
    listed = re.search(r"From left to right: (.*?)\.\n", PAGE.read_text(), re.DOTALL)
    assert listed is not None
    assert re.findall(r"`([a-z_]+)`", listed[1]) == ORDER
    for name, inner in INNER.items():
        told = re.search(rf"Within `{name}`: (.*?)\.\n", PAGE.read_text(), re.DOTALL)
        assert told is not None
        assert re.findall(r"`([a-z_]+)`", told[1]) == inner


def test_no_arrow_points_back():
    wrong = []
    for path in sources():
        here = room(path)
        for target in {names[0] for names in imports(path) if names} & set(ORDER):
            # Stubs of kernels may name the array types and each other; everything else only looks left.
            allowed = target in ("arrays", "_native") if here == "_native" else ORDER.index(target) <= ORDER.index(here)
            if not allowed:
                wrong.append(f"{path.relative_to(SOURCE)} imports {target}")
    assert not wrong


def test_rooms_are_entered_by_their_doors():
    """Also in blocks for type checkers: nothing outside a room names its submodules."""
    wrong = []
    for path in sources():
        for names in imports(path, for_checkers=True):
            target = names[0] if names else ""
            if target in (room(path), "_native", "") or target not in ORDER or len(names) < 2:
                continue
            if len(names) > 2 or names[1] not in offered(target):
                wrong.append(f"{path.relative_to(SOURCE)} reaches for {'.'.join(names)}")
    assert not wrong


def test_rooms_within_rooms_keep_the_same_rules():
    wrong = []
    for outer, order in INNER.items():
        for path in (SOURCE / outer).rglob("*.py"):
            here = (*module(path)[1:], "")[0]
            for names in imports(path, for_checkers=True):
                if names[0] != outer or len(names) < 3 or names[1] == here or names[1] not in order:
                    continue
                left = here == "" or order.index(names[1]) < order.index(here)
                if not left or len(names) > 3 or names[2] not in offered(outer, names[1]):
                    wrong.append(f"{path.relative_to(SOURCE)} reaches for {'.'.join(names)}")
    assert not wrong


def test_a_room_is_not_a_warehouse():
    """A file is one idea; a room of more than a dozen files is two rooms."""
    sizes = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert [f"{path.relative_to(SOURCE)}: {n} lines" for path, n in sizes.items() if n > 450] == []
    folders = {folder: list(folder.glob("*.py")) for folder in {path.parent for path in sizes}}
    assert {str(folder.relative_to(SOURCE)): len(files) for folder, files in folders.items() if len(files) > 18} == {}


def run(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_loads_next_to_nothing():
    loaded = (
        "import sys, xtrellis; print([m for m in ('numpy', 'scipy', 'torch', 'rich', 'typer') if m in sys.modules])"
    )
    assert run(loaded) == "[]"


def test_the_program_answers_without_numpy():
    assert run("import sys, xtrellis.cli; print([m for m in ('numpy', 'scipy', 'torch') if m in sys.modules])") == "[]"


def test_training_and_tagging_load_no_experiments():
    script = (
        "import sys, xtrellis as xt\n"
        "texts, labels = ['aa bb', 'bb cc', 'cc dd'] * 4, [['x'], ['y'], ['z']] * 4\n"
        "t = xt.Tagger(xt.Vectorizer(), xt.preset('overlap')).fit(texts, labels)\n"
        "t.tag('aa bb'); t.explain('aa bb', 'x')\n"
        "heavy = 'xtrellis.experiments', 'xtrellis.neural', 'torch', 'sklearn'\n"
        "print([m for m in sys.modules if m.startswith(heavy)])"
    )
    assert run(script) == "[]"


def test_every_public_name_exists():
    for name in xtrellis.__all__:
        assert getattr(xtrellis, name) is not None


def test_no_module_hides_a_public_name():
    """Importing `xtrellis.x` puts the module x into the package, before a function of that name."""
    modules = {path.stem for path in SOURCE.iterdir()}
    assert modules & {name for name, room in xtrellis._PUBLIC.items() if room} == set()


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
