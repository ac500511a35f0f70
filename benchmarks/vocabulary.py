"""How long vocabularies take to read and to load: SKOS of a million triples, and a million labels in three languages.

    python benchmarks/vocabulary.py [--triples 1000000] [--labels 1000000] [--kinds ttl,nt,rdf,jsonld]

Appends a line to benchmarks/results/vocabulary.jsonl. Times are of the processor, memory is the largest of the process
that reads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import record

SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
READ = """
import resource, sys, time
import xtrellis as xt
before = time.process_time()
vocab = xt.Vocabulary.read(sys.argv[1])
print(len(vocab), time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write_skos(folder: Path, n: int) -> None:
    """Concepts with a type, three preferred and two alternative names, a broader one and a scheme: 8 triples each."""
    with (folder / "v.ttl").open("w") as ttl, (folder / "v.nt").open("w") as nt, (folder / "v.rdf").open("w") as xml:
        ttl.write(f"@prefix skos: <{SKOS}> .\n@prefix e: <http://example.org/> .\n")
        xml.write(f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:skos="{SKOS}">\n')
        for i in range(n):
            names = [("prefLabel", "en", f"concept number {i}"), ("prefLabel", "fi", f"käsite {i} äöå"),
                     ("prefLabel", "sv", f"begrepp {i}"), ("altLabel", "en", f"thing {i}"),
                     ("altLabel", "en", f"old thing {i}")]  # fmt: skip
            links = [("broader", f"p{i // 7}")] * (i > 0) + [("inScheme", "s")]
            said = [f'skos:{p} "{t}"@{tag}' for p, tag, t in names] + [f"skos:{p} e:{o}" for p, o in links]
            ttl.write(f"e:p{i} a skos:Concept ;\n  " + " ;\n  ".join(said) + " .\n")
            me = f"<http://example.org/p{i}>"
            nt.write(f"{me} <{RDF}type> <{SKOS}Concept> .\n")
            nt.writelines(f'{me} <{SKOS}{p}> "{t}"@{tag} .\n' for p, tag, t in names)
            nt.writelines(f"{me} <{SKOS}{p}> <http://example.org/{o}> .\n" for p, o in links)
            xml.write(f'<skos:Concept rdf:about="http://example.org/p{i}">\n')
            xml.writelines(f'<skos:{p} xml:lang="{tag}">{t}</skos:{p}>\n' for p, tag, t in names)
            xml.writelines(f'<skos:{p} rdf:resource="http://example.org/{o}"/>\n' for p, o in links)
            xml.write("</skos:Concept>\n")
        xml.write("</rdf:RDF>\n")
    context = {
        "skos": SKOS, "e": "http://example.org/", "uri": "@id", "type": "@type",
        "prefLabel": {"@id": "skos:prefLabel", "@container": "@language"}, "altLabel": {"@id": "skos:altLabel"},
        "broader": {"@id": "skos:broader", "@type": "@id"}, "inScheme": {"@id": "skos:inScheme", "@type": "@id"},
    }  # fmt: skip
    with (folder / "v.jsonld").open("w") as file:
        file.write(f'{{"@context": {json.dumps(context)}, "@graph": [\n')
        for i in range(n):
            node = {
                "uri": f"e:p{i}", "type": "skos:Concept", "inScheme": "e:s",
                "prefLabel": {"en": f"concept number {i}", "fi": f"käsite {i} äöå", "sv": f"begrepp {i}"},
                "altLabel": [{"@language": "en", "@value": f"{word} {i}"} for word in ("thing", "old thing")],
                **({"broader": f"e:p{i // 7}"} if i else {}),
            }  # fmt: skip
            file.write(json.dumps(node, ensure_ascii=False) + ("\n" if i + 1 == n else ",\n"))
        file.write("]}\n")


def loading(folder: Path, n: int) -> dict[str, float]:
    import xtrellis as xt
    from xtrellis.vocabulary.builder import Builder

    builder = Builder()
    for i in range(n):
        label = builder.number(f"http://www.example.org/vocabulary/p{i}")
        builder.declare(label)
        for language, word in (("en", "concept"), ("fi", "käsite"), ("sv", "begrepp")):
            builder.name(label, 0, f"{word} number {i}", language)
    xt.Vocabulary._of_built(builder.build()).save(folder / "vocabulary")
    del builder
    times = []
    for _ in range(20):
        before = time.process_time()
        vocab = xt.load(folder / "vocabulary")
        times.append(time.process_time() - before)

    def each(ask, count: int = 300) -> float:
        before = time.process_time()
        for i in range(count):
            ask(i * 3001 % n)
        return 1e6 * (time.process_time() - before) / count

    size = sum(path.stat().st_size for path in (folder / "vocabulary").rglob("*") if path.is_file())
    return {
        "load_ms": 1e3 * statistics.median(times),
        "megabytes": size / 1e6,
        "id_us": each(lambda i: vocab.number(f"http://www.example.org/vocabulary/p{i}")),
        "name_us": each(lambda i: vocab.find(f"Käsite NUMBER {i}")),
    }


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    given.add_argument("--triples", type=int, default=1_000_000)
    given.add_argument("--labels", type=int, default=1_000_000)
    given.add_argument("--kinds", default="ttl,nt,rdf,jsonld", help="formats to read")
    asked = given.parse_args()
    out: dict[str, object] = {"triples": asked.triples, "labels": asked.labels}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_skos(folder, asked.triples // 8)
        for kind in asked.kinds.split(","):
            told = subprocess.run(
                [sys.executable, "-c", READ, folder / f"v.{kind}"], capture_output=True, text=True, check=True
            ).stdout.split()
            out[kind] = {
                "labels": int(told[0]),
                "seconds": round(float(told[1]), 2),
                "megabytes": round(float(told[2])),
            }
        out["stored"] = {name: round(value, 3) for name, value in loading(folder, asked.labels).items()}
    record("vocabulary", **out)
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
