"""One backend of Annif, in Annif's environment: `run_annif.py train|suggest PROJECT FILE JOBS`; prints JSON.

Run in a folder with `projects.cfg` and a loaded vocabulary; `annif_backends.py` does so.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from itertools import islice

import annif
import annif.corpus
import annif.registry
from annif.eval import EvaluationBatch

from xtrellis.annif import register

BATCH = 32  # documents that Annif's own commands ask for at a time


def main() -> None:
    what, name, path, jobs = sys.argv[1:5]
    register()
    told = {}
    with annif.create_flask_app().app_context():
        project = annif.registry.get_project(name)
        corpus = annif.corpus.DocumentFileTSV(path, project.subjects)
        begun, spent = time.perf_counter(), time.process_time()
        if what == "train":
            project.train(corpus, None, int(jobs))
        else:
            told = suggest(project, list(corpus.documents))
            begun, spent = told.pop("begun"), told.pop("spent")
        told |= {"seconds": told.get("until", time.perf_counter()) - begun,
                 "cpu_seconds": told.get("cpu_until", time.process_time()) - spent,
                 "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000}  # fmt: skip
    told = {key: value for key, value in told.items() if key not in ("until", "cpu_until")}
    print(json.dumps(told))


def suggest(project, documents):
    """How long all documents take, model in memory, and how good the answers are by Annif's own measures."""
    project.initialize()
    project.suggest(documents[:BATCH])
    before, cpu_before = time.perf_counter(), time.process_time()
    for document in documents:
        project.analyzer.tokenize_words(document.text)
    words = {"words_seconds": time.perf_counter() - before, "words_cpu_seconds": time.process_time() - cpu_before}
    begun, spent = time.perf_counter(), time.process_time()
    rest, found = iter(documents), []
    while batch := list(islice(rest, BATCH)):
        found.append(project.suggest(batch))
    until, cpu_until = time.perf_counter(), time.process_time()
    measured = EvaluationBatch(project.subjects)
    for i, batch in enumerate(found):
        here = documents[BATCH * i : BATCH * (i + 1)]
        measured.evaluate_many(batch, [document.subject_set for document in here])
    metrics = measured.results(["Precision@1", "F1@5", "NDCG", "NDCG@5"])
    return {"begun": begun, "spent": spent, "until": until, "cpu_until": cpu_until, **words, **metrics,
            "documents": len(documents)}  # fmt: skip


if __name__ == "__main__":
    main()
