"""What the documents say is true: snippets and commands run, tables agree with the code, links lead somewhere.

Of a page, `python` and `sh` blocks run in their order, in one empty folder. An HTML comment above a block changes that:

    <!-- not run -->    the block is only shown
    <!-- fails -->      its commands end with exit code 2
    <!-- output -->     the block is what the one before it prints, apart from numbers (of a command that fails: its
                        last lines)
"""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

import xtrellis as xt
from xtrellis import cli
from xtrellis.cli.app import app
from xtrellis.core import progress
from xtrellis.data.formats.io import FORMATS
from xtrellis.metrics.names import KINDS
from xtrellis.model import Embeds, Explains, Resumes, Scores

ROOT = Path(__file__).parents[2]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


DOCS = ROOT / "docs"
PAGES = (
    "README.md", "docs/index.md", "docs/start.md", "docs/python.md", "docs/command-line.md", "docs/choosing.md",
    "docs/data-formats.md", "docs/scale.md", "docs/texts.md", "docs/witnesses.md", "docs/living.md",
    "docs/neighbors.md",
    "docs/names.md", "docs/scikit-learn.md", "docs/extending.md",
    "docs/troubleshooting.md", "docs/limits.md", "docs/glossary.md",
)  # fmt: skip
# Made when the site is built, from the declarations in the code; they need not be there when tests run.
GENERATED = {f"docs/{name}" for name in re.findall(r": ((?:reference|project)/[\w-]+\.md)", text_of("mkdocs.yml"))}
ONLY_SHOWN = {"pip", "make", "git", "python", "torchrun"}  # programs whose lines are not run


# ── snippets ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Block:
    line: int
    mark: str  # of the comment above it
    language: str
    code: str


def blocks(page: str) -> list[Block]:
    document = text_of(page)
    found = re.finditer(r"^(?:<!-- ([\w ]+) -->\n)?```([^\n]*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return [Block(document.count("\n", 0, m.start(3)) + 1, m[1] or "", m[2], m[3]) for m in found]


def masked(shown: str) -> list[str]:
    """Lines without what differs from run to run: numbers, units of time and size, the length of bars and rules."""
    out = re.sub(r"[\d][\d.,]*(e-\d+)?( ?(ns|µs|ms|s|min|h|bytes|B|kB|MB|GB)\b)?", "#", shown)
    out = re.sub(r"[█▏▎▍▌▋▊▉━─]+", "=", out)
    return [" ".join(line.split()) for line in out.strip().splitlines() if line.strip()]


class Runner:
    """Runs the blocks of a page, one after another."""

    def __init__(self, page: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.page, self.capsys = page, capsys
        self.world: dict[str, object] = {"__name__": "__main__"}
        self.shown: list[str] = []

    def run(self, block: Block) -> None:
        if block.mark == "output":
            expected = masked(block.code)
            assert expected, self.at(block)
            assert self.shown[-len(expected) :] == expected, self.at(block)
        elif block.mark != "not run" and block.language in ("python", "sh"):
            self.capsys.readouterr()
            with progress.listen(None):
                printed = self.python(block) if block.language == "python" else self.shell(block)
            self.shown = masked(printed)

    def at(self, block: Block) -> str:
        return f"{self.page}, line {block.line}"

    def python(self, block: Block) -> str:
        # Line numbers of an error are those of the document.
        exec(compile("\n" * (block.line - 1) + block.code, ROOT / self.page, "exec"), self.world)
        return self.capsys.readouterr().out

    def shell(self, block: Block) -> str:
        out, wanted = "", 2 if block.mark == "fails" else 0
        for command in block.code.replace("\\\n", " ").splitlines():
            program, *args = shlex.split(command, comments=True) or ["make"]
            if program in ONLY_SHOWN:
                continue
            if program == "xtrellis" and "|" not in args:
                code = cli.run(args)
                said = self.capsys.readouterr()
            else:  # a pipe: a shell's work
                assert "| xtrellis " in command, f"{self.at(block)}: {command}"
                name = command.replace("| xtrellis ", f"| {shlex.quote(sys.executable)} -m xtrellis ")
                done = subprocess.run(name, shell=True, capture_output=True, text=True, timeout=60, check=False)
                code, said = done.returncode, done
            printed, noted = (said.out, said.err) if hasattr(said, "out") else (said.stdout, said.stderr)
            assert code == wanted, f"{self.at(block)}: {command}\n{noted}"
            out += printed if wanted == 0 else noted
        return out


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xtrellis.store.registry._registered", {})  # classes that a page registers stay with the page
    runner = Runner(page, capsys)
    for block in blocks(page):
        runner.run(block)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_of_known_kinds(page: str) -> None:
    """A word beside the language would keep some renderers from showing the block as code."""
    for block in blocks(page):
        assert block.language in ("python", "sh", "text", "json"), f"{page}, line {block.line}: {block.language!r}"
        assert block.mark in ("", "not run", "fails", "output"), f"{page}, line {block.line}: {block.mark!r}"
    assert text_of(page).count("\n```") == 2 * len(blocks(page))


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def section(page: str, heading: str) -> str:
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)", text_of(page), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no section {heading!r}"
    return found[2]


def first_cells(table: str) -> str:
    return " ".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))


@pytest.mark.parametrize(("page", "heading"), [("README.md", "What is inside"), ("docs/choosing.md", "All presets")])
def test_tables_of_presets_agree(page: str, heading: str) -> None:
    named = re.findall(r"`([a-z][a-z+-]+)`", first_cells(section(page, heading)))
    assert sorted(named) == xt.presets()


def test_table_of_formats_agrees() -> None:
    named = re.findall(r"`([\w-]+)`", first_cells(section("docs/data-formats.md", "Formats")))
    assert sorted(named) == sorted(FORMATS)


def test_parameters_that_matter_exist() -> None:
    """`choosing.md` names presets and parameters, as a command line would: `index.max_leaf`."""
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \|", section("docs/choosing.md", "Parameters that matter most"), re.M)
    assert {name for name, _ in rows} == set(xt.presets())
    for name, cell in rows:
        known = {key.replace("__", ".") for key in xt.preset(name).get_params()}
        named = re.findall(r"`([\w.]+)`", cell)
        assert named
        assert set(named) <= known, name


def test_measured_numbers_are_those_of_the_pages() -> None:
    """Nothing is claimed in `choosing.md` that does not stand on a page that was made from results."""
    pages = [*DOCS.glob("experiments/*.md"), DOCS / "performance.md", DOCS / "elias.md", DOCS / "ann.md"]
    known = set(re.findall(r"\d[\d,]*\.\d\d+", " ".join(page.read_text(encoding="utf-8") for page in pages)))
    told = re.findall(r"\d[\d,]*\.\d\d+", section("docs/choosing.md", "What was measured"))
    assert len(told) > 200
    assert sorted(set(told) - known) == []


def test_table_of_what_models_can_do_agrees() -> None:
    table = section("docs/python.md", "What each model can do")
    header = re.search(r"^\| model \| (.*) \|$", table, re.MULTILINE)
    assert header
    columns = [cell.strip(" `") for cell in header[1].split("|")]
    models = {
        name: getattr(xt, name)()
        for name in (
            *("LinearTree", "SoftmaxTree", "Neighbors", "NameMatcher", "Glas", "Elias", "EncoderOvA"),
            *("XTransformer", "Reranked", "Ensemble"),
        )
    }
    able = {
        "score": lambda m: isinstance(m, Scores),
        "explain": lambda m: isinstance(m, Explains),
        "embed": lambda m: isinstance(m, Embeds),
        "predict(labels=)": lambda m: "labels" in inspect.signature(m.predict).parameters,
        "checkpoint": lambda m: isinstance(m, Resumes),
        "label_features": lambda m: m.uses_label_features,
        "memory_limit": lambda m: "memory_limit" in m.get_params(deep=False),
    }
    assert columns == list(able)
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    assert [name for name, _ in rows] == list(models)
    for name, cells in rows:
        told = [cell.strip() == "yes" for cell in cells.split("|")]
        assert told == [has(models[name]) for has in able.values()], name


def test_every_metric_and_error_is_explained() -> None:
    told = first_cells(section("docs/command-line.md", "Evaluate a model"))
    assert {kind.partition("@")[0] for kind in re.findall(r"`([\w-]+@k)`", told)} == set(KINDS)
    errors = {
        name for name in xt.__all__ if isinstance(thing := getattr(xt, name), type) and issubclass(thing, Exception)
    }
    told = first_cells(section("docs/troubleshooting.md", "Kinds of errors"))
    assert set(re.findall(r"`(\w+)`", told)) == errors - {"XtrellisError"}


def test_every_command_and_option_is_described() -> None:
    page = text_of("docs/command-line.md")
    group = typer.main.get_command(app)
    found = [
        (f"{name} {inner}".strip(), below)
        for name, command in group.commands.items()  # type: ignore[attr-defined]
        for inner, below in (getattr(command, "commands", None) or {"": command}).items()
    ]
    page = re.sub(r"\s+", " ", page)
    for name, command in found:
        assert f"xtrellis {name}" in page
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts) if parameter.param_type_name == "option" else ():
                if option != "--no-refit":  # the default
                    assert re.search(rf"(?<![\w-]){option}(?![\w-])", page), f"{name} {option}"


def test_extras_are_those_of_the_project() -> None:
    told = set(re.findall(r"`([\w]+)`", first_cells(section("docs/start.md", "Install"))))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.optional-dependencies]")[2]
    known = set(re.findall(r"^(\w+) = \[", project.partition("\n[")[0], re.MULTILINE))
    assert told <= known
    assert {"columnar", "zstd", "rank", "deep", "bench"} <= told


def test_readme_is_short_and_says_how_to_start() -> None:
    readme = text_of("README.md")
    assert readme.count("\n") <= 120
    assert "make demo" in readme
    assert "make test" in readme


# ── links ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def prose(document: str) -> str:
    """A page without its code, where brackets mean something else."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", document, flags=re.MULTILINE | re.DOTALL))


def anchors(document: str) -> set[str]:
    """Of headings that GitHub and the site name alike."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", document, flags=re.M | re.S), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings]
    github = {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in plain}
    ascii_only = (unicodedata.normalize("NFKD", h).encode("ascii", "ignore").decode() for h in plain)
    site = {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in ascii_only}
    return github & site


def linked_pages() -> list[str]:
    found = [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("experiments/*.md"), ROOT / "examples" / "README.md"]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


@pytest.mark.parametrize("page", linked_pages())
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text_of(page))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        inside = path.resolve().relative_to(ROOT).as_posix()  # raises if it leads out of the project
        assert path.exists() or inside in GENERATED, f"{page}: {target}"
        if page.startswith("docs/"):
            assert inside.startswith("docs/"), f"{page}: {target} is not part of the site"
        if anchor and path.exists():
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{page}: {target}"


def test_all_pages_can_be_found_from_the_first() -> None:
    index = text_of("docs/index.md")
    for page in re.findall(r"([\w/-]+\.md)$", text_of("mkdocs.yml"), re.MULTILINE):
        if not page.startswith(("index", "experiments/", "project/", "reference/")):
            assert f"]({page})" in index, page
    assert {"reference/index.md", "experiments/README.md"} <= set(re.findall(r"\]\(([^)#]+)\)", index))
