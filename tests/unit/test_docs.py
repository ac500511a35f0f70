"""What the documents say is true: their snippets and commands run, their tables agree with the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis import cli
from xtrellis.data.formats.io import FORMATS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")


def blocks(document: str) -> list[tuple[int, str, str]]:
    """(line, language, code) of every fenced block whose language stands alone: ```python ignore is not run."""
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return [(document[: m.start()].count("\n") + 2, m[1], m[2]) for m in found]


@pytest.mark.parametrize(("name", "languages"), [("README.md", {"python"}), ("docs/guide.md", {"python", "sh"})])
def test_snippets_run(
    name: str, languages: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    world: dict[str, object] = {"__name__": "__main__"}
    for line, language, code in blocks((ROOT / name).read_text(encoding="utf-8")):
        if language not in languages:
            continue
        if language == "python":
            # Line numbers of an error are those of the document.
            exec(compile("\n" * (line - 1) + code, ROOT / name, "exec"), world)
            continue
        for command in code.splitlines():
            program, *args = shlex.split(command)
            if program == "xtrellis":
                assert cli.run(args) == 0, f"{name}, line {line}: {command}\n{capsys.readouterr().err}"


# Everything public that has parameters.
CONFIGURED = [
    found
    for found in (getattr(xt, name) for name in xt.__all__)
    if isinstance(found, type) and getattr(found, "_params", None)
]


@pytest.mark.parametrize("cls", CONFIGURED)
def test_tables_of_parameters_agree(cls: type) -> None:
    section = GUIDE.partition(f"### `{cls.__name__}`\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \| (.*) \|$", section, re.MULTILINE)
    assert {name for name, *_ in rows} == set(cls._params)
    for name, default, meaning in rows:
        assert (default, meaning) == (repr(cls._params[name].default), cls._params[name].doc), name


def test_tables_of_presets_and_formats_agree() -> None:
    presets = re.findall(r"^\| `([\w+-]+)` \|", GUIDE.partition("## Presets")[2].partition("\n## ")[0], re.MULTILINE)
    assert set(presets) == set(xt.presets())
    table = GUIDE.partition("## Data formats")[2].partition("\n## ")[0]
    first = " ".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))
    assert set(re.findall(r"`([\w-]+)`", first)) == set(FORMATS)


def test_links_lead_somewhere() -> None:
    headings = {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", GUIDE, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", GUIDE):
        if target.startswith("#"):
            assert target[1:] in headings
        else:
            assert (ROOT / "docs" / target).exists()
    for target in re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
