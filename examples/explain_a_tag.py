"""Explain why a text gets a label, and why it does not get another one.

Run: python examples/explain_a_tag.py
"""

from rich import print as show

import xtrellis as xt

TEXT = "eigenvalues of a symmetric matrix"


def main() -> None:
    pydocs = xt.datasets.load("pydocs")
    linear_algebra = [
        i for i in range(pydocs.train.n_rows) if any("linalg" in name for name in pydocs.train.labels_of(i))
    ]
    others = [i for i in range(0, pydocs.train.n_rows, 10) if i not in set(linear_algebra)]
    train = pydocs.train.select(sorted(linear_algebra + others))
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear", seed=0)).fit(train)

    best = next(tag for tag in tagger.tag(TEXT, k=10) if "linalg." in tag.label)
    why = tagger.explain(TEXT, best.label)
    show(why)  # for people: the text in colour, then the path through the tree

    # The same as data: words, steps, features.
    print("rank:", why.explanation.rank, "same score as tag:", abs(why.explanation.score - best.score) < 1e-6)
    for word in sorted(why.words, key=lambda word: -abs(word.push))[:3]:
        print(f"{word.text}: {word.push:+.2f}")
    for step in why.explanation.paths[0].steps:
        total = step.bias + sum(push.contribution for push in step.pushes)
        print(f"margin {step.margin:+.3f} = bias + contributions: {abs(total - step.margin) < 1e-6}")

    # A label that search does not find with a narrow beam: the explanation says where it was lost.
    tagger.model.set_params(beam=1)
    label = next(name for name in tagger.label_names if name.startswith("json"))
    lost = tagger.explain(TEXT, label).explanation
    step = lost.paths[0].steps[lost.paths[0].lost_at or 0]
    print(f"{label}: reached {lost.reached}, lost at a cluster of rank {step.rank} of {step.rivals}, beam 1")


if __name__ == "__main__":
    main()
