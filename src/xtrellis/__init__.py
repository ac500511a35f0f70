"""xtrellis: extreme multi-label classification — the few right labels among thousands to millions.

Public names load on first use, so that `import xtrellis` costs next to nothing and never loads torch. The one list of
them is `__init__.pyi`, which is also what type checkers read.
"""

from __future__ import annotations

TYPE_CHECKING = False  # so that the least is loaded before the command line listens to Ctrl-C
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def _public() -> dict[str, str]:
    """Public name -> the room that offers it ("": it is a room itself). What users may rely on."""
    if "_PUBLIC" not in globals():
        import re

        with open(__file__.removesuffix("c").removesuffix(".py") + ".pyi", encoding="utf-8") as declared:  # noqa: PTH123
            found = re.findall(r"from \.(\w*) import (\w+) as", declared.read())
        names = {name: room for room, name in found}
        globals().update(_PUBLIC=names, __all__=["__version__", *sorted(names)])
    return globals()["_PUBLIC"]  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    public = _public()
    if name in ("_PUBLIC", "__all__"):
        return globals()[name]
    if name not in public:
        raise AttributeError(f"module 'xtrellis' has no attribute {name!r}{_hint(name)}")
    room = public[name]
    value = getattr(import_module(f".{room}", __name__), name) if room else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def _hint(name: str) -> str:
    """Who looks for a name that is not there is told which is near; programs that only ask get it for nothing."""
    if name.startswith("_"):
        return ""
    if name in ("Classifier", "scorer"):
        return f"; it is xtrellis.sklearn.{name}"
    from .core import nearest

    near = nearest(name, _public())
    return near if "did you mean" in near else ""


def __dir__() -> list[str]:
    return ["__version__", *sorted(_public())]
