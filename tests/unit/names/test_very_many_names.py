"""A label of a hundred thousand names: training takes it, finds every one, and answers."""

from __future__ import annotations

import xtrellis as xt

MANY = 100_000


def test_a_label_of_a_hundred_thousand_names_is_trained_and_found():
    others = [f"thing{i}" for i in range(20)]
    many = tuple(f"plant{i} sort{i % 1000}" for i in range(MANY))
    vocabulary = xt.Vocabulary([
        xt.Label("v:many", names={"en": "plants"}, alternative={"en": many}),
        *(xt.Label(f"v:{i}", names={"en": word}) for i, word in enumerate(others)),
    ])  # fmt: skip
    texts = [f"of {others[i % 20]} and more" for i in range(60)] + [f"a plant{i} sort{i} there" for i in range(60)]
    labels = [[f"v:{i % 20}"] for i in range(60)] + [["v:many"]] * 60
    made = xt.Tagger(xt.Vectorizer(), xt.preset("best", threads=1), vocabulary=vocabulary, keep_rows=True)
    made.fit(texts, labels)
    names = next(member for member in made.model.members if type(member).__name__ == "NameMatcher")
    assert len(names.index.names) == MANY + 21
    assert made.tag("here is a plant99999 sort999", k=1)[0].id == "v:many"
    made.update(["one thing3 more", "plant77777 sort777 again"], [["v:3"], ["v:many"]])
    assert made.tag("and plant88888 sort888", k=1)[0].id == "v:many"
    assert made.tag("only thing7", k=1)[0].id == "v:7"
