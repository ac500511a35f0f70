"""The real Annif in a folder of its own: a vocabulary, rows to train on and to measure with, and its programs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from serve_world import TOPICS, texts_and_labels

BIN = Path(__file__).parents[1] / ".venv-annif" / "bin"
NAMES = {topic: f"http://example.org/topic/{i}" for i, topic in enumerate(TOPICS)}
TEXT = "knead the dough with flour and yeast, then into the oven"


def lines(n: int, seed: int) -> str:
    """Rows as Annif's short text corpora have them."""
    found = zip(*texts_and_labels(n, seed), strict=True)
    return "".join(f"{text}\t{' '.join(f'<{NAMES[topic]}>' for topic in row)}\n" for text, row in found)


class Home:
    """A folder in which Annif's programs run."""

    def __init__(self, folder: Path, config: str) -> None:
        self.folder = folder
        (folder / "projects.cfg").write_text(config)
        vocabulary = "".join(f"<{uri}>\t{re.sub('[<>]', '', topic)}\n" for topic, uri in NAMES.items())
        (folder / "vocab.tsv").write_text(vocabulary)
        (folder / "train.tsv").write_text(lines(200, 1))
        (folder / "test.tsv").write_text(lines(60, 2))
        # Annif's words come from NLTK, whose sentence splitter would be downloaded; one that knows nothing will do.
        punkt = folder / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
        punkt.mkdir(parents=True)
        for name in ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab"):
            (punkt / name).write_text("")
        self.env = {**os.environ, "NLTK_DATA": str(folder / "nltk_data")}

    def try_to(self, *args: str, stdin: str = "", program: str = "annif") -> subprocess.CompletedProcess[str]:
        """Run it and see."""
        return subprocess.run(
            [BIN / program, *args], cwd=self.folder, env=self.env, input=stdin, capture_output=True, text=True,
            timeout=200, check=False,
        )  # fmt: skip

    def run(self, *args: str, stdin: str = "", program: str = "annif") -> str:
        """Run it; it must do well."""
        done = self.try_to(*args, stdin=stdin, program=program)
        assert done.returncode == 0, done.stderr
        assert "HTTP request failed" not in done.stderr
        return done.stdout

    def f1(self, project: str, *options: str, program: str = "annif") -> float:
        """F1@5 on the test rows, as Annif measures it."""
        told = self.run("eval", *options, project, "test.tsv", program=program)
        found = re.search(r"^F1@5:\s+(\S+)$", told, re.MULTILINE)
        assert found, told
        return float(found[1])
