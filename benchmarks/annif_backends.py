"""Our backend in Annif beside Annif's omikuji, in one run: the same Annif, analyzer, vocabulary and rows.

    make annif-env && .venv-annif/bin/python -m pip install 'omikuji==0.5.*'
    python benchmarks/annif_backends.py [--data yso-100k] [--backends …] [--documents 19898]

Each backend trains and then suggests subjects for test documents, each in a process of its own, by Annif's own classes
(`engines/run_annif.py`). Training counts from a TSV file to a model on disk, 2 jobs; suggestions in batches of 32, as
Annif's commands ask for, in one process, the model in memory. Quality is what Annif's own evaluation says. Analyzing
texts is a part of all times; what it takes alone is measured beside it. NLTK's sentence splitter is one that knows
nothing, since the real one is a download; both backends get the same words. Lines go to results/annif.jsonl; --page
makes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from common import RESULTS, record

import xtrellis as xt

HERE = Path(__file__).parent
BIN = HERE.parent / ".venv-annif" / "bin"
BACKENDS = {
    "omikuji bonsai": "backend=omikuji\ncluster_balanced=False\ncluster_k=100\nmax_depth=3",
    "omikuji parabel": "backend=omikuji",
    "xtrellis xr-linear": "backend=xtrellis\npreset=xr-linear",
    "xtrellis bonsai": "backend=xtrellis\npreset=bonsai",
    "xtrellis bonsai, 3 trees": "backend=xtrellis\npreset=bonsai\nn_trees=3",
    "xtrellis overlap": "backend=xtrellis\npreset=overlap",
    "xtrellis best": "backend=xtrellis\npreset=best",
}


def prepare(folder: Path, data: str, documents: int) -> dict[str, str]:
    """Vocabulary, corpora and configuration; what the environment of Annif's processes is."""
    part = Path(os.environ["XTRELLIS_DATA"]) / data
    read = {name: xt.read(part / f"{name}.jsonl.xz") for name in ("train", "test")}
    names = sorted({str(name) for rows in read.values() for name in rows.label_names})
    coded = {name: re.fullmatch(r"(p\d+) (.*)", name) for name in names}
    uris = {name: f"http://www.yso.fi/onto/yso/{found[1]}" if found else f"http://example.org/{i}"
            for i, (name, found) in enumerate(coded.items())}  # fmt: skip
    said = {name: found[2] if found else name for name, found in coded.items()}
    (folder / "vocab.tsv").write_text("".join(f"<{uris[name]}>\t{said[name]}\n" for name in names))
    for part_name, rows in read.items():
        step = 1 if part_name == "train" else max(1, rows.n_rows // documents)
        with (folder / f"{part_name}.tsv").open("w") as file:
            for i in range(0, rows.n_rows, step):
                labels = rows.Y.indices[rows.Y.indptr[i] : rows.Y.indptr[i + 1]]
                listed = " ".join(f"<{uris[str(rows.label_names[int(label)])]}>" for label in labels)
                file.write(f"{' '.join(rows.texts[i].split())}\t{listed}\n")
    common = "language=en\nanalyzer=snowball(english)\nvocab=yso\nlimit=100"
    sections = [f"[{project_of(n)}]\nname={n}\n{common}\n{rest}\n" for n, rest in BACKENDS.items()]
    (folder / "projects.cfg").write_text("\n".join(sections))
    punkt = folder / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True)
    for name in ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (punkt / name).write_text("")
    env = environment(folder)
    subprocess.run(
        [BIN / "annif", "load-vocab", "--language", "en", "yso", "vocab.tsv"], cwd=folder, env=env, check=True
    )
    return env


def project_of(backend: str) -> str:
    """The id of a backend's project."""
    return backend.replace(",", "").replace(" ", "-")


def environment(folder: Path) -> dict[str, str]:
    """Only the project that is asked for is loaded."""
    return {**os.environ, "NLTK_DATA": str(folder / "nltk_data"), "ANNIF_CONFIG": "annif.default_config.Config"}


def child(folder: Path, env: dict[str, str], *args: str) -> dict[str, Any]:
    done = subprocess.run([BIN / "python", HERE / "engines" / "run_annif.py", *args], cwd=folder, env=env, check=True,
                          stdout=subprocess.PIPE, text=True)  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def size_of(folder: Path) -> tuple[int, int]:
    """Bytes of the model, and of what is kept for `train --cached`."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    cached = sum(file.stat().st_size for file in files if "-train" in file.name)
    return sum(file.stat().st_size for file in files) - cached, cached


def table() -> str:
    """The newest line of each backend and kind."""
    lines = [json.loads(line) for line in (RESULTS / "annif.jsonl").read_text().splitlines()]
    newest = {(line["backend"], line["what"]): line for line in lines}
    out = ["| backend | F1@5 | nDCG | nDCG@5 | P@1 | training, processor s | peak MB | suggestions, ms a document | "
           "peak MB | disk MB |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for name in BACKENDS:
        train, asked = newest.get((name, "train")), newest.get((name, "suggest"))
        if train is None or asked is None:
            continue
        each = 1000 * asked["cpu_seconds"] / asked["documents"]
        quality = " | ".join(f"{100 * asked[metric]:.1f}" for metric in ("F1@5", "NDCG", "NDCG@5", "Precision@1"))
        out.append(f"| {name} | {quality} | {train['cpu_seconds']:.0f} | {train['peak_mb']:.0f} | {each:.2f} | "
                   f"{asked['peak_mb']:.0f} | {train['model_bytes'] / 1e6:.1f} |")  # fmt: skip
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="yso-100k")
    parser.add_argument("--backends", nargs="*", default=list(BACKENDS), choices=list(BACKENDS))
    parser.add_argument("--documents", type=int, default=10**9, help="test documents, about: every so many")
    parser.add_argument("--folder", type=Path, help="keep everything here; what is there already is used")
    parser.add_argument("--suggest", action="store_true", help="with --folder: no training, what is there answers")
    parser.add_argument("--page", action="store_true", help="only print the table of what was measured")
    args = parser.parse_args()
    if args.page:
        print(table())
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        if (folder / "projects.cfg").exists():
            env = environment(folder)
        else:
            folder.mkdir(exist_ok=True)
            env = prepare(folder, args.data, args.documents)
        for name in args.backends:
            project = project_of(name)
            facts = {"data": args.data, "backend": name, "annif": "1.4.3", "analyzer": "snowball(english)", "jobs": 2}
            if not args.suggest:
                trained = child(folder, env, "train", project, "train.tsv", "2")
                model, cached = size_of(folder / "data" / "projects" / project)
                trained |= {"model_bytes": model, "cached_bytes": cached, "load": os.getloadavg()[0]}
                print(name, trained, flush=True)
                record("annif", what="train", **facts, **trained)
            asked = child(folder, env, "suggest", project, "test.tsv", "1") | {"load": os.getloadavg()[0]}
            print(name, asked, flush=True)
            record("annif", what="suggest", **facts, **asked)


if __name__ == "__main__":
    main()
