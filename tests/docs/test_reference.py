"""The reference pages, made from the declarations, hold everything that is public, and say something of each."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import typer

import xtrellis as xt
from xtrellis.cli.app import app
from xtrellis.core import Configured
from xtrellis.core.errors import XtrellisError

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from _site import reference  # noqa: E402
from _site.describe import brief  # noqa: E402

PUBLIC = [name for name in xt.__all__ if name != "__version__"]
CONFIGURED = [name for name in PUBLIC if getattr(getattr(xt, name), "_params", None)]
COMMANDS = {
    f"{name} {inner}".strip(): below
    for name, command in typer.main.get_command(app).commands.items()
    for inner, below in (getattr(command, "commands", None) or {"": command}).items()
}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


@pytest.fixture(scope="module")
def entries(pages) -> dict[str, str]:
    """What is said under each heading of the third level, of all pages."""
    found = {}
    for page in pages.values():
        for section in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
            name, _, body = section.partition("\n")
            assert name not in found, f"{name} is described twice"
            found[name] = re.split(r"^## ", body, flags=re.MULTILINE)[0].strip()
    return found


def rows(text: str, columns: int) -> Iterator[list[str]]:
    """Cells of the tables in a page that have so many columns, without their heads."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            cells = re.split(r"(?<!\\) \| (?=[^`]*(?:`[^`]*`[^`]*)*$)", line[2:-2])
            if len(cells) == columns:
                yield cells


def test_every_public_name_has_an_entry_and_a_line_in_the_index(pages, entries):
    index = pages["reference/index.md"]
    assert f"`{xt.__version__}`" in index
    for name in PUBLIC:
        assert entries[name], name
        assert f"[`{name}`](" in index, name


def test_every_name_of_a_public_module_has_an_entry(entries):
    for name in PUBLIC:
        module = getattr(xt, name)
        if isinstance(module, ModuleType):
            for inner in module.__all__:
                known = inner in PUBLIC or isinstance(getattr(module, inner), ModuleType)
                assert known or entries[f"{name}.{inner}"], f"{name}.{inner}"


@pytest.mark.parametrize("name", CONFIGURED)
def test_every_parameter_is_there_with_type_default_meaning_and_role(entries, name):
    cls = getattr(xt, name)
    told = {row[0].strip("`"): row[1:] for row in rows(entries[name], 5)}
    told.pop("Parameter")
    assert list(told) == list(cls._params)
    for parameter, (kind, default, meaning, counts) in told.items():
        declared = cls._params[parameter]
        assert kind == f"`{cls._annotation(parameter)}`"
        assert default == f"`{brief(declared.default)}`"
        words = re.sub(r"\]\([^)]*\)", "", meaning).replace("&lt;", "<")  # what is linked is said all the same
        assert re.sub(r"\W", "", declared.doc).lower() in re.sub(r"\W", "", words).lower()
        assert counts == declared.role.replace("+", ", ")


def test_every_model_and_every_builder_is_on_its_page(pages):
    def on(page: str, base: type) -> None:
        for name in PUBLIC:
            cls = getattr(xt, name)
            if isinstance(cls, type) and issubclass(cls, base) and (cls is not base or base is xt.Model):
                assert f"\n### {name}\n" in pages[f"reference/{page}.md"], name

    from xtrellis.index import Index
    from xtrellis.neural import Encoder

    on("models", xt.Model)
    on("models", Encoder)
    on("index-builders", Index)
    on("errors", XtrellisError)


@pytest.mark.parametrize("name", [n for n in PUBLIC if isinstance(getattr(xt, n), type)])
def test_every_public_member_is_there(entries, name):
    cls = getattr(xt, name)
    for member, value in inspect.getmembers(cls):
        owner = next((base for base in cls.__mro__ if member in vars(base)), object)
        plain = member.startswith("_") or not owner.__module__.startswith("xtrellis")
        if plain or (issubclass(cls, Configured) and member in cls._params):
            continue
        if inspect.isroutine(value) or isinstance(value, property) or hasattr(value, "attrname"):
            here = f">{member}</code>" in entries[name] or f"[`{member}`](" in entries[name]
            assert here, f"{name}.{member}"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_of_a_command_is_there_with_its_default(pages, name):
    section = pages["reference/commands.md"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert COMMANDS[name].help in " ".join(section.split())
    told = list(rows(section, 3))
    for made in COMMANDS[name].params:
        if made.opts[0].startswith("-"):
            found = [
                row
                for row in told
                if {f"`{n}`" for n in (*made.opts, *made.secondary_opts)} <= set(row[0].replace(",", "").split())
            ]
        else:
            found = [row for row in told if row[0].strip("`[]") == made.metavar.strip("[]")]
        assert len(found) == 1, made.name
        _, default, meaning = found[0]
        assert made.help.rstrip(".") in meaning.replace("&lt;", "<")
        if made.required:
            assert default == "required"
        elif isinstance(made.default, bool):
            assert default == ("on" if made.default else "off")
        else:
            assert default == ("none" if made.default is None else f"`{made.default}`")


def test_no_description_is_empty(pages, entries):
    for name, body in entries.items():
        words = re.sub(r"```.*?```", "", body, flags=re.DOTALL)
        words = re.sub(r"^(From `|A kind of |Inherited from |<h4 ).*$", "", words, flags=re.MULTILINE)
        assert re.search(r"[a-z]{3}", words), name
    for place, page in pages.items():
        parts = re.split(r"(^#+ .*$|^<h4.*$)", page, flags=re.MULTILINE)
        for heading, body in zip(parts[1::2], parts[2::2], strict=True):
            group = heading.startswith(("# ", "## "))
            assert group or re.sub(r"```.*?```", "", body, flags=re.DOTALL).strip(), f"{place}: {heading}"
        for line in page.splitlines():
            if line.startswith("| ") and not line.startswith("| ---"):
                assert not re.search(r"\|\s*(``)?\s*\|", line), f"{place}: {line}"


def test_nothing_leaks_from_the_machine(pages):
    """No addresses of objects, no paths of this installation: the same code gives the same pages."""
    for place, page in pages.items():
        assert " at 0x" not in page, place
        assert str(ROOT) not in page, place
    assert reference.pages() == pages


def test_links_between_the_pages_lead_somewhere(pages):
    for place, page in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page, flags=re.DOTALL)):
            path, _, anchor = target.partition("#")
            found = f"reference/{path}" if path else place
            assert found in pages, f"{place}: {target}"
            assert not anchor or anchor in reference.anchors(pages[found]), f"{place}: {target}"


def test_the_navigation_has_every_page(pages):
    """As text: reading YAML would take a library that only building the site needs."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = set(re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE))
    docs = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    project = {"project/contributing.md", "project/security.md", "project/changelog.md"}
    assert listed == docs | set(pages) | project
