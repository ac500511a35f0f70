"""Train a tagger on texts and label names, tag new texts, save it and load it again.

Run: python examples/tag_texts.py
"""

import tempfile
from pathlib import Path

import xtrellis as xt

DEVICES = ("camera", "laptop", "phone", "printer", "router")
PROBLEMS = {
    "battery": ("the battery is empty after an hour", "it does not charge any more"),
    "display": ("the screen stays black", "the picture flickers"),
    "network": ("it cannot find the wifi", "the connection drops every few minutes"),
    "noise": ("it makes a loud noise", "the fan never stops"),
}
OPENINGS = ("My {}: {}.", "Since the update of my {}, {}!", "New {} and {}, what now?")


def main() -> None:
    rows = [
        (opening.format(device, sentence), [device, problem])
        for opening in OPENINGS
        for device in DEVICES
        for problem, sentences in PROBLEMS.items()
        for sentence in sentences
    ]
    texts, labels = zip(*rows, strict=True)

    tagger = xt.Tagger(xt.Vectorizer(ngrams=2), xt.preset("xr-linear", seed=0))
    data = tagger.prepare(texts, labels)  # reads the texts once
    print(f"{data.n_rows} rows, {data.n_features} features, {data.n_labels} labels")
    print(tagger.estimate(data))  # memory and model size, before any training
    tagger.fit(data)

    for tag in tagger.tag("the fan of my printer is loud", k=2):
        print(f"{tag.score:.3f}  {tag.label}")
    for text, tags in zip(("no wifi", "black screen"), tagger.tag_many(["no wifi", "black screen"], k=1), strict=True):
        print(f"{text}: {tags[0].label}")
    # A threshold leaves out weak labels. Scores rank labels; they are not probabilities.
    print([tag.label for tag in tagger.tag("the laptop", k=5, threshold=0.3)])

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tickets"
        tagger.save(path)
        again = xt.load(path)
        print("same answers after loading:", again.tag("loud printer") == tagger.tag("loud printer"))


if __name__ == "__main__":
    main()
