"""Collects docstrings of the standard library, NumPy and SciPy: a script of its own, run in a process of its own.

Importing hundreds of modules changes a process (signal handlers, registries, warnings filters, memory), so the user's
never does it. Uses only the standard library; writes one JSON object a line to standard output, which modules under
import cannot reach:

    {"name": "numpy.linalg.eigvalsh", "class": null, "module": "numpy.linalg", "aliases": […], "doc": "…"}
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any, TextIO

# Modules that act when imported, exist only to be run, or repeat others under another name.
SKIP = {
    *("antigravity", "this", "turtle", "turtledemo", "idlelib", "test", "lib2to3", "ensurepip", "pydoc_data", "msilib"),
    *("posix", "nt", "posixpath", "ntpath", "genericpath", "encodings", "distutils"),
    *("numpy.core", "numpy.distutils", "numpy.f2py"),
}
SKIP_PARTS = {"tests", "test", "conftest", "setup", "idle_test"}


def modules() -> Iterator[tuple[str, ModuleType]]:
    """Every public module that can be imported, by name, in order."""
    queue = sorted(name for name in sys.stdlib_module_names if not name.startswith("_"))
    queue += ["numpy", "os.path", "scipy"]
    while queue:
        name = queue.pop(0)
        if name in SKIP or SKIP_PARTS & set(name.split(".")) or any(p.startswith("_") for p in name.split(".")):
            continue
        try:
            module: Any = importlib.import_module(name)  # Any: sys.modules may hold anything
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException:
            continue
        if not isinstance(module, ModuleType):
            continue
        yield name, module
        if hasattr(module, "__path__"):
            queue += sorted(f"{name}.{found.name}" for found in pkgutil.iter_modules(module.__path__))


def public(name: str, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module offers: its `__all__`, else what it defines itself."""
    declared = getattr(module, "__all__", None)
    if isinstance(declared, (list, tuple)):
        names = sorted({n for n in declared if isinstance(n, str)})
    else:
        names = sorted(n for n, value in vars(module).items() if _defined_in(value, module.__name__))
    for attribute in names:
        if attribute.startswith("_"):
            continue
        try:
            value = getattr(module, attribute)
        except Exception:
            continue
        if not isinstance(value, ModuleType):
            yield f"{name}.{attribute}", value


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the class itself defines."""
    for attribute, value in sorted(vars(cls).items()):
        if not attribute.startswith("_"):
            inner = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            yield attribute, inner


def doc_of(value: Any) -> str | None:
    """An object's own docstring; not one that an instance merely shows of its class."""
    try:
        doc = value.__doc__
        if not isinstance(doc, str) or (not isinstance(value, type) and doc == type(value).__doc__):
            return None
        return inspect.cleandoc(doc)
    except Exception:
        return None


def _defined_in(value: Any, module: str) -> bool:
    try:
        return callable(value) and getattr(value, "__module__", None) == module
    except Exception:
        return False


def _plainness(place: tuple[str, str, Any]) -> tuple[int, bool, bool, int, str]:
    """Fewest dots, built-in, the object's own name, fewest letters: `numpy.arccos` rather than `numpy.acos`."""
    name, _, value = place
    try:
        own = name.rpartition(".")[2] == value.__name__
    except Exception:
        own = False
    return name.count("."), not name.startswith("builtins."), not own, len(name), name


def collect() -> list[dict[str, Any]]:
    """All documented objects, each once, under its shortest public name."""
    found: dict[int, list[tuple[str, str, Any]]] = {}  # id -> (name, module, object); the object is kept alive
    order: list[dict[str, Any]] = []
    for module_name, module in modules():
        doc = doc_of(module)
        if doc:
            order.append({"name": module_name, "class": None, "module": module_name, "aliases": [], "doc": doc})
        for name, value in public(module_name, module):
            found.setdefault(id(value), []).append((name, module_name, value))
    for places in found.values():
        places.sort(key=_plainness)
        name, module_name, value = places[0]
        aliases = sorted({place[0] for place in places[1:]} - {name})
        is_class = isinstance(value, type)
        doc = doc_of(value)
        if doc:
            own = name if is_class else None
            order.append({"name": name, "class": own, "module": module_name, "aliases": aliases, "doc": doc})
        for attribute, inner in members(value) if is_class else ():
            doc = doc_of(inner)
            if doc:
                names = [f"{alias}.{attribute}" for alias in aliases]
                entry = {"name": f"{name}.{attribute}", "class": name, "module": module_name, "aliases": names}
                order.append({**entry, "doc": doc})
    order.sort(key=lambda entry: entry["name"])
    return order


def main() -> None:
    """Collect with everything silenced, then write to what was standard output."""
    out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass", newline="\n")
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    warnings.simplefilter("ignore")
    for entry in collect():
        out.write(json.dumps(entry) + "\n")
    out.write(json.dumps({"end": True}) + "\n")
    out.flush()
    os._exit(0)  # some of what was imported might still object to leaving


if __name__ == "__main__":
    # Run by path, this folder heads sys.path, and `import collect` by anybody would find us.
    sys.path[:] = [p for p in sys.path if os.path.realpath(p or ".") != os.path.dirname(os.path.realpath(__file__))]  # noqa: PTH120
    main()
