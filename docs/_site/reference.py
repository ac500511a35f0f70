"""The reference: which page describes what. All that is said there comes from the code."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import xtrellis as xt
from xtrellis.core import config
from xtrellis.metrics import names as metric_names

from . import commands
from .describe import Entry, Writer, table
from .prose import comment_of, inline, markdown, sentence

# Page -> its title, then sections: a title and names. A bare name is one of `xtrellis.__all__`; `metrics.per_row` is
# reached as `xt.metrics.per_row`; `explain:Step` is not offered by xtrellis itself, but users get to see or derive from
# it, and find it in `xtrellis.explain`. A module stands for itself and for those of its names that have no place yet.
PAGES: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "models": (
        "Models",
        {
            "Every model": ("Model", "TopK", "LabelSet", "Estimate"),
            "Classifiers over label trees": ("LinearTree", "SoftmaxTree"),
            "Witnesses of other kinds": ("Neighbors", "NameMatcher"),
            "Models with embeddings": ("Glas", "Elias", "EncoderOvA", "XTransformer"),
            "Encoders": ("BagEncoder", "TransformerEncoder"),
            "Models on top of models": ("Reranked", "Ranker", "Ensemble"),
            "Models by name": ("preset", "presets"),
            "How much label frequencies count, by held-out rows": (
                "choose_tradeoff", "tuning:TradeoffTrial", "choose_prior", "tuning:PriorTrial",
            ),
            "Parameters chosen by held-out rows": ("tune", "halving:Tuned", "halving:Trial"),
            "Where training runs": ("engines",),
        },
    ),
    "index-builders": (
        "Index builders",
        {
            "Builders": (
                "BalancedTree", "KMeansTree", "InterpolatedTree", "HuffmanTree", "FlatTree", "GivenTree",
            ),
            "Labels in several places": ("Overlap", "index:OverlapRound"),
            "What they build": ("LabelTree",),
        },
    ),
    "data-and-text": (
        "Data and text",
        {
            "From texts to labels": (
                "Tagger", "Tag", "Tags", "ExplainedTag", "tagger:Drift", "tagger:VocabularyChange",
            ),
            "What labels are": (
                "Vocabulary", "Label", "vocabulary:Note", "vocabulary:Fault", "vocabulary:Faults",
                "vocabulary:VocabularyDiff", "vocabulary:Resolved", "vocabulary:UnknownLabel",
            ),
            "Progress": ("listen", "ProgressEvent"),
            "Explanations": (
                "Explanation", "explain:Path", "explain:Step", "explain:Push", "explain:Opinion",
                "explain:Verdict", "explain:Testimony", "explain:Neighbor", "explain:Shared",
                "explain:NameMatch", "explain:FoundWord", "explain:Reason",
            ),
            "Data sets": ("Dataset", "TrainingData", "read", "write", "open", "convert", "synthetic", "datasets"),
            "Features": ("Vectorizer", "concatenate_features"),
            "Labels fused on purpose": ("entangle", "fuse"),
            "The module data": ("data",),
        },
    ),
    "metrics-and-evaluation": (
        "Metrics and evaluation",
        {"Evaluating": ("evaluate", "Report", "reliability", "Reliability"), "The module metrics": ("metrics",)},
    ),
    "saving-and-loading": (
        "Saving and loading",
        {"Loading": ("load", "import_pecos"), "The module store": ("store",)},
    ),
    "errors": (
        "Errors",
        {
            "Every error": (
                "XtrellisError", "ParameterError", "CallError", "InputError", "DataError", "NotFittedError",
                "TrainingError", "StoreError", "MissingExtraError",
            ),
        },
    ),
    "extending": (
        "Extending",
        {
            "Parameters": (
                "core:Configured", "core:param", "core:Check", "core:integer", "core:number", "core:flag",
                "core:choice", "core:text", "core:file_path", "core:size", "core:part",
            ),
            "Index builders": ("Index", "labels:LabelSpace", "index:TreeLevel"),
            "Encoders": ("Encoder", "neural.encoders.base:Trainable", "neural:Inputs"),
            "Classes of your own in the store": ("register",),
            "What a model may offer": (
                "model:Scores", "model:Explains", "model:Embeds", "model:Estimates", "model:Resumes",
            ),
        },
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Section:
    """Entries under one heading."""

    title: str
    entries: tuple[Entry, ...]


def layout() -> dict[str, list[Section]]:
    """What is described where, by page."""
    named = {name for _, sections in PAGES.values() for names in sections.values() for name in names}
    found: dict[str, list[Section]] = {}
    for page, (_, sections) in PAGES.items():
        found[page] = []
        for title, names in sections.items():
            entries: list[Entry] = []
            for name in names:
                entry = _entry(name)
                entries.append(entry)
                if isinstance(entry.obj, ModuleType):
                    entries += _inside(entry, named)
            found[page].append(Section(title, tuple(entries)))
    return found


def _entry(name: str) -> Entry:
    room, colon, attribute = name.rpartition(":")
    if colon:
        return Entry(attribute, getattr(import_module(f"xtrellis.{room}"), attribute), f"xtrellis.{room}")
    return Entry(name, getattr(xt, name))


def _inside(module: Entry, named: set[str]) -> list[Entry]:
    """The names that a public module offers and that have no entry of their own."""
    return [
        Entry(f"{module.name}.{name}", value, said=_said(module.obj, name, value))
        for name in module.obj.__all__
        if name not in named and not isinstance(value := getattr(module.obj, name), ModuleType)
    ]


def _said(module: ModuleType, name: str, value: Any) -> str:
    """Of a constant, what a comment beside it says; of an object, what its class says."""
    if callable(value):
        return ""
    for place in [m for m in list(sys.modules.values()) if getattr(m, "__name__", "").startswith(module.__name__)]:
        said = comment_of(place, name)
        if said:
            return sentence(said)
    return f"A constant of type `{type(value).__name__}`."


class Reference:
    """All pages, linked with each other."""

    def __init__(self) -> None:
        self.layout = layout()
        self.places: dict[str, tuple[str, str]] = {}  # what a code span may name -> page and anchor
        self.entries: dict[str, Entry] = {}
        described: dict[type, Entry] = {}
        for page, sections in self.layout.items():
            for entry in (entry for section in sections for entry in section.entries):
                self.entries[entry.name] = entry
                for name in (entry.name, f"xt.{entry.name}"):
                    self.places.setdefault(name, (page, entry.anchor))
                if inspect.isclass(entry.obj):
                    described[entry.obj] = entry
                    self.places.setdefault(entry.short, (page, entry.anchor))
        for entry in described.values():
            page = self.places[entry.name][0]
            for member, (owner, _) in entry.members.items():
                if owner is entry.obj or owner not in described:
                    self.places.setdefault(f"{entry.short}.{member}", (page, f"{entry.anchor}.{member}"))
        self.described = described

    def link(self, page: str, code: str) -> str:
        """A code span, as a link if it names something that has a place; of plain words, only public functions."""
        name = code.strip("`")
        found = self.places.get(name)
        if found is None or (name.islower() and not inspect.isfunction(getattr(xt, name.removeprefix("xt."), None))):
            return code
        return f"[{code}]({self._target(page, name)})"

    def _target(self, page: str, name: str) -> str:
        there, anchor = self.places[name]
        return f"#{anchor}" if there == page else f"{there}.md#{anchor}"

    def page(self, name: str) -> str:
        """One page as Markdown."""
        title, _ = PAGES[name]
        writer = Writer(lambda code: self.link(name, code), self.described)
        parts = [f"# {title}"]
        for section in self.layout[name]:
            parts.append(f"## {section.title}")
            for entry in section.entries:
                parts.append(writer.write(entry))
                parts += EXTRA.get(entry.name, lambda: [])()
        return "\n\n".join(parts) + "\n"

    def index(self) -> str:
        """Every public name on one page, and what the tables of parameters mean."""
        rows = []
        for name in sorted(xt.__all__, key=str.lower):
            if name == "__version__":
                rows.append(("`__version__`", f"The version of xtrellis: `{xt.__version__}`."))
                continue
            entry = self.entries[name]
            rows.append(
                (f"[`{name}`]({self._target('index', name)})", inline(sentence(entry.summary), lambda code: code))
            )
        return "\n\n".join(
            [
                "# Reference",
                markdown(inspect.getdoc(xt) or ""),
                "Made from the declarations in the code when this site is built. In Python, `import xtrellis as xt`; "
                "the program is described in [commands](commands.md).",
                table(("Name", "What it is"), rows),
                "## When a parameter counts",
                _roles(),
            ]
        )

    def pages(self) -> dict[str, str]:
        """Every page by its name in the site."""
        told = {f"reference/{name}.md": self.page(name) for name in PAGES}
        told["reference/commands.md"] = commands.page(self._target("commands", "read")) + "\n"
        told["reference/index.md"] = self.index() + "\n"
        return told


def _roles() -> str:
    """What the comment beside their declaration says, as a list."""
    said = comment_of(config, "Role").partition(". ")[2]
    return markdown(re.sub(r' ?"([\w+]+)": ', r"\n- `\1`: ", said).strip())


def _preset_table() -> list[str]:
    rows = [(f"`{name}`", f"`{xt.preset(name)!r}`") for name in xt.presets()]
    return [table(("Name", "What it stands for"), rows)]


def _metric_table() -> list[str]:
    rows = [(f"`{kind}@k`", inline(sentence(said))) for kind, said in metric_names.KINDS.items()]
    return [table(("Metric", "What it says"), rows)]


def _bases() -> list[str]:
    rows = []
    for name in PAGES["errors"][1]["Every error"][1:]:
        cls = getattr(xt, name)
        also = ", ".join(f"`{base.__name__}`" for base in cls.__bases__ if not issubclass(base, xt.XtrellisError))
        rows.append((f"[`{name}`](#{name.lower()})", also or "–", inline(sentence(cls.__doc__.partition(";")[0]))))
    return [table(("Error", "Also a", "When"), rows)]


# What else is known of an entry: tables made from what the code lists.
EXTRA = {"presets": _preset_table, "metrics": _metric_table, "XtrellisError": _bases}


def pages() -> dict[str, str]:
    """Every page of the reference, by its name in the site."""
    return Reference().pages()


def anchors(markdown_text: str) -> set[str]:
    """The anchors of a generated page."""
    headings = re.findall(r"^#+ (.*)$", markdown_text, re.MULTILINE)
    plain = {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text in headings}
    return plain | set(re.findall(r'<h\d id="([^"]+)"', markdown_text))
