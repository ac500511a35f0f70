"""Model folders with model.json, tensor files and the folder itself damaged; then loaded, looked at and asked.

Starts from the golden models of the tests and a tiny transformer. The cruellest damage is consistent: an array gets
other values, another shape or dtype, and file, header, sizes and hashes are made to agree with it. Loading may refuse
with StoreError only. What loads must answer, explain and be saved again without an error that is not the library's
own.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.model import Embeds, Explains, Scores
from xtrellis.store import describe, tensors

from .common import ROOT, Attack, Case, Wrong, only
from .data import dataset
from .mutate import mutate_array, mutate_bytes, mutate_json
from .transformer import transformer_model

GOLDEN = ROOT / "tests" / "golden" / "models"
TEXTS = ["boil pasta in water", "ice cream", "", "bread 🙂 dough"]
Files = dict[str, Any]  # name -> bytes, or a function that puts something else there


class Store(Attack):
    name = "store"

    def prepare(self) -> None:
        self.models: dict[str, dict[str, bytes]] = {}
        for folder in sorted(GOLDEN.iterdir()):
            if "refused" not in json.loads((folder / "expected.json").read_text()):
                self.models[folder.name] = contents(folder / "model")
        made = transformer_model()
        if made is not None:
            import torch  # noqa: F401 - seconds that no case should wait
            import transformers  # noqa: F401

            self.models["transformer"] = contents(made)
        rng = np.random.default_rng(7)
        self.X = sp.csr_array(np.round(rng.random((6, 14)) * (rng.random((6, 14)) < 0.6), 2).astype(np.float32))
        self.place = self.folder / "case"

    def case(self, rng: random.Random, number: int) -> Case:
        name, other = rng.choice(sorted(self.models)), rng.choice(sorted(self.models))
        files: Files = dict(self.models[name])
        how, hurt = rng.choice(DAMAGES)
        detail, hidden = hurt(rng, files, self.models[other])
        verify = rng.random() < 0.25
        must_refuse = verify and hidden is not None and hidden in files and files[hidden] != self.models[name][hidden]
        return Case(
            name,
            f"{name}: {how}: {detail}; load(verify={verify})",
            lambda: self.run(files, verify, must_refuse, rng.random() < 0.3),
        )

    def run(self, files: Files, verify: bool, must_refuse: bool, again: bool) -> None:
        clear(self.place)
        self.place.mkdir(parents=True)
        path = self.place / "model"
        path.mkdir()
        for file, content in files.items():
            if callable(content):
                content(path / file)
            else:
                (path / file).write_bytes(content)
        with only(xt.StoreError):
            look(path, verify)
            model = xt.load(path, verify=verify)
        if must_refuse:
            raise Wrong("a file that is not what its hash says was loaded in spite of verify")
        self.use(model)
        if again:
            model.save(self.place / "again")
            with only():
                copy = xt.load(self.place / "again", verify=True)
            same_answers(self.ask(model), self.ask(copy))

    def use(self, model: Any) -> None:
        """Everything that can be asked of a model; what comes first of refusals is raised at the end."""
        refused: list[xt.XtrellisError] = []

        def tried(call: Callable[[], Any]) -> None:
            try:
                call()
            except xt.XtrellisError as error:
                refused.append(error)

        tried(lambda: self.ask(model))
        tried(lambda: repr(model))
        if isinstance(model, xt.Tagger):
            tried(lambda: [model.tag(text, k=3) for text in TEXTS])
            tried(lambda: [render(model.explain(TEXTS[0], name).render()) for name in list(model.label_names)[:12]])
            tried(lambda: model.evaluate(dataset(None, np.eye(4, 2), texts=TEXTS, label_names=["pasta", "bread"])))
            tried(lambda: list(model.require_vectorizer().feature_names)[:3])
        else:
            X, texts = self.rows(model)
            tried(lambda: check_top(model.predict(X[:1], k=2, texts=texts[:1]), 1))
            tried(lambda: check_top(model.predict(X[:0], k=2, texts=[]), 0))
            tried(lambda: check_top(model.predict(X, k=100, texts=texts), X.shape[0]))
            n_labels = model.n_labels
            if isinstance(model, Explains):
                counts = np.arange(n_labels) if n_labels < 1000 else None
                for label in range(min(n_labels, 12)):
                    tried(partial(shown, model, X[:1], label, texts=texts[:1], label_counts=counts))
            if isinstance(model, Scores):
                tried(lambda: model.score(X, sp.csr_array(np.ones((X.shape[0], min(n_labels, 1000)))), texts=texts))
            if isinstance(model, Embeds):
                tried(lambda: model.embed(X, texts=texts))
            tried(lambda: model.get_params())
        if refused:
            raise refused[0]

    def rows(self, model: Any) -> tuple[Any, list[str]]:
        """Rows of as many features as the (damaged) model says it has, if that is a number one can have."""
        width = next((n for n in (getattr(model, "n_features", None),) if isinstance(n, int) and 0 < n < 10**6), 14)
        X = (
            self.X
            if width == self.X.shape[1]
            else sp.csr_array(sp.random(6, width, 0.5, format="csr", dtype=np.float32, random_state=0))
        )
        return X, [TEXTS[i % 4] for i in range(6)]

    def ask(self, model: Any) -> xt.TopK:
        if isinstance(model, xt.Tagger):
            top = model.predict(TEXTS, k=3)
        else:
            X, texts = self.rows(model)
            top = model.predict(X, k=3, texts=texts)
        check_top(top, len(TEXTS) if isinstance(model, xt.Tagger) else 6)
        return top


def check_top(top: xt.TopK, n_rows: int) -> None:
    if len(top) != n_rows or top.labels.shape != top.scores.shape:
        raise Wrong(f"an answer of shape {top.labels.shape} for {n_rows} rows")
    if top.labels.size and not -1 <= top.labels.min() <= top.labels.max() < top.n_labels:
        raise Wrong(f"labels from {top.labels.min()} to {top.labels.max()}; there are {top.n_labels}")


def same_answers(one: xt.TopK, two: xt.TopK) -> None:
    if not (np.array_equal(one.labels, two.labels) and np.array_equal(one.scores, two.scores, equal_nan=True)):
        raise Wrong("saved and loaded again, it answers something else")


def look(path: Path, verify: bool) -> None:
    """What `xtrellis inspect` does."""
    found = describe(path, verify)
    json.dumps(found.to_dict())
    render(found.render())


def shown(model: Any, x: Any, label: int, **more: Any) -> None:
    render(model.explain(x, label, **more).render())


def render(what: Any) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(what)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def clear(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    shutil.rmtree(place, ignore_errors=True)


# ── damage: each changes `files` and says what it did; and which file is not what its hash says, if there is one ────

Told = tuple[str, str | None]


def tensor_file(rng: random.Random, files: Files) -> str:
    return rng.choice(sorted(name for name in files if name.endswith(".safetensors")))


def manifest_bytes(rng: random.Random, files: Files, other: Files) -> Told:
    files["model.json"] = mutate_bytes(rng, files["model.json"], other["model.json"])
    return "bytes", None


def manifest_values(rng: random.Random, files: Files, other: Files) -> Told:
    value = mutate_json(rng, json.loads(files["model.json"]), json.loads(other["model.json"]))
    files["model.json"] = json.dumps(value).encode()
    return "values", None


def inner_values(rng: random.Random, files: Files, other: Files) -> Told:
    """Parameters and meta only: what surrounds them stays right."""
    value, lent = json.loads(files["model.json"]), json.loads(other["model.json"])
    objects = _objects(value["model"])
    part = rng.choice(objects)
    field = rng.choice(("params", "params", "meta", "meta", "class"))
    if field == "class":
        part["class"] = rng.choice([*(o["class"] for o in _objects(lent["model"])), "object", "Tagger", "Checkpoint"])
    elif part[field]:
        key = rng.choice(sorted(part[field]))
        lender = rng.choice(_objects(lent["model"]))
        part[field][key] = mutate_json(rng, part[field][key], lender[field] or None)
    else:
        part[field] = mutate_json(rng, part[field])
    files["model.json"] = json.dumps(value).encode()
    return f"{field} of {part['class']}", None


def _objects(root: dict[str, Any]) -> list[dict[str, Any]]:
    found = [root]
    for part in root["parts"].values():
        found += _objects(part)
    return found


def file_bytes(rng: random.Random, files: Files, other: Files) -> Told:
    """The size stays, so that the file is looked into."""
    name = tensor_file(rng, files)
    content = bytearray(files[name])
    start = 8 + int.from_bytes(content[:8], "little") if rng.random() < 0.8 else 0
    for _ in range(rng.choice((1, 1, 4, 32, 300))):
        at = rng.randrange(min(start, len(content) - 1), len(content))
        content[at] = rng.choice((0, 255, 127, 128, content[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))
    files[name] = bytes(content)
    return f"bytes of {name}", name


def file_size(rng: random.Random, files: Files, other: Files) -> Told:
    """Anything; the manifest is told the new size and hash."""
    name = tensor_file(rng, files)
    lent = other[tensor_file(rng, other)]
    files[name] = rng.choice(
        (mutate_bytes(rng, files[name], lent), lent, b"", files[name][: rng.randrange(len(files[name]))])
    )
    if rng.random() < 0.7:
        _agree(files, name)
    return f"content of {name}", None


def arrays(rng: random.Random, files: Files, other: Files) -> Told:
    """One to three arrays are others, and everything agrees with them."""
    value = json.loads(files["model.json"])
    told = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = tensor_file(rng, files)
        part = _part_of(value, name)
        if part is None:
            continue
        found = _read(files[name], part["arrays"])
        key = rng.choice(sorted(found))
        how = rng.randrange(12)
        if how == 0:
            del found[key]
        elif how == 1:
            found["extra"] = mutate_array(rng, found[key])
        elif how == 2:
            found[key] = found[rng.choice(sorted(found))]
        else:
            found[key] = mutate_array(rng, found[key])
        told.append(f"{part['class']}.{key}")
        if not found:
            continue
        part["arrays"] = {k: {"dtype": a.dtype.name, "shape": list(a.shape)} for k, a in found.items()}
        out = io.BytesIO()
        tensors.write(out, found)
        files[name] = out.getvalue()
        value["files"][name] = {"size": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
    if rng.random() < 0.2:
        part = rng.choice(_objects(value["model"]))
        part["meta"] = mutate_json(rng, part["meta"])
        told.append(f"meta of {part['class']}")
    files["model.json"] = json.dumps(value).encode()
    return ", ".join(told), None


def _part_of(value: dict[str, Any], file: str) -> dict[str, Any] | None:
    part: dict[str, Any] = value["model"]
    for name in file.removesuffix(".safetensors").split(".")[1:]:
        part = part["parts"][name]
    return part


def _read(content: bytes, infos: dict[str, Any]) -> dict[str, Any]:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    out = {}
    for name, info in infos.items():
        begin, end = header[name]["data_offsets"]
        out[name] = np.frombuffer(content[8 + length + begin : 8 + length + end], info["dtype"]).reshape(info["shape"])
    return out


def _agree(files: Files, name: str) -> None:
    value = json.loads(files["model.json"])
    value["files"][name] = {"size": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
    files["model.json"] = json.dumps(value).encode()


def branches(rng: random.Random, files: Files, other: Files) -> Told:
    """A part of another model, with its files, in place of one of this."""
    value, lent = json.loads(files["model.json"]), json.loads(other["model.json"])
    targets = [(o, key) for o in _objects(value["model"]) for key in o["parts"]]
    sources = [(o, key) for o in _objects(lent["model"]) for key in o["parts"]]
    if not targets or not sources:
        return manifest_values(rng, files, other)
    (to, key), (source, from_key) = rng.choice(targets), rng.choice(sources)
    to["parts"][key] = source["parts"][from_key]
    added, kept = _files_of(lent["model"], "model"), {}

    def walk(part: dict[str, Any], name: str) -> None:
        file = f"{name}.safetensors"
        if part["arrays"]:
            origin = next((f for f, p in added.items() if p is part), None)
            kept[file] = other[origin] if origin else files[file]
        for inner, child in part["parts"].items():
            walk(child, f"{name}.{inner}")

    walk(value["model"], "model")
    value["files"] = {n: {"size": len(c), "sha256": hashlib.sha256(c).hexdigest()} for n, c in kept.items()}
    files.clear()
    files.update(kept, **{"model.json": json.dumps(value).encode()})
    return f"{source['parts'][from_key]['class']} as {key}", None


def _files_of(part: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    found = {f"{name}.safetensors": part} if part["arrays"] else {}
    for inner, child in part["parts"].items():
        found |= _files_of(child, f"{name}.{inner}")
    return found


def swapped(rng: random.Random, files: Files, other: Files) -> Told:
    names = sorted(files)
    one, two = rng.choice(names), rng.choice(names)
    files[one], files[two] = files[two], files[one]
    return f"{one} and {two}", None


def missing(rng: random.Random, files: Files, other: Files) -> Told:
    name = rng.choice(sorted(files))
    del files[name]
    return name, None


def added(rng: random.Random, files: Files, other: Files) -> Told:
    name = rng.choice(
        (
            "model.x.safetensors",
            "notes.txt",
            "model.json.tmp",
            "checkpoint.json",
            "Model.JSON",
            ".aside",
            "model.\ud800",
        )
    )
    files[name.encode("utf-8", "replace").decode()] = rng.choice((b"", b"x", other["model.json"]))
    return name.encode("ascii", "replace").decode(), None


def not_a_file(rng: random.Random, files: Files, other: Files) -> Told:
    """A link, pipe, socket, folder or device in place of a file."""
    name = rng.choice(sorted(files))
    content = files[name]
    kind, put = rng.choice(NOT_FILES)
    files[name] = lambda path: put(path, content)
    return f"{name} is {kind}", None


def _link_to_copy(path: Path, content: bytes) -> None:
    copy = path.parent.parent / f"copy-of-{path.name}"
    copy.write_bytes(content)
    path.symlink_to(copy)


def _hard_link(path: Path, content: bytes) -> None:
    copy = path.parent.parent / f"copy-of-{path.name}"
    copy.write_bytes(content)
    path.hardlink_to(copy)


def _socket(path: Path, content: bytes) -> None:
    here = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{here}/{path.name}")  # such names are short
    finally:
        os.close(here)


def _not_readable(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0)


NOT_FILES: list[tuple[str, Callable[[Path, bytes], object]]] = [
    ("a link to its content", _link_to_copy),
    ("a hard link to its content", _hard_link),
    ("a link to /dev/zero", lambda path, _: path.symlink_to("/dev/zero")),
    ("a link to nothing", lambda path, _: path.symlink_to("nowhere")),
    ("a link to itself", lambda path, _: path.symlink_to(path.name)),
    ("a pipe", lambda path, _: os.mkfifo(path)),
    ("a folder", lambda path, _: path.mkdir()),
    ("a socket", _socket),
    ("not readable", _not_readable),
]
DAMAGES: list[tuple[str, Callable[[random.Random, Files, Files], Told]]] = [
    ("model.json", manifest_bytes),
    ("model.json", manifest_values),
    *[("model.json", inner_values)] * 3,
    *[("tensor file", file_bytes)] * 3,
    ("tensor file", file_size),
    *[("arrays", arrays)] * 6,
    ("branch", branches),
    ("swapped", swapped),
    ("missing", missing),
    ("added", added),
    ("not a file", not_a_file),
]
