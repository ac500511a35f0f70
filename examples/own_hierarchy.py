"""Use your own hierarchy (a thesaurus, a taxonomy) as the label tree.

Run: python examples/own_hierarchy.py
"""

import xtrellis as xt

# child: parent. Whatever is not a label of the data is a group; a label may be a parent too.
PARENTS = {
    "apple": "fruit",
    "pear": "fruit",
    "fruit": "food",
    "carrot": "vegetable",
    "leek": "vegetable",
    "vegetable": "food",
    "hammer": "tool",
    "saw": "tool",
}
SENTENCES = {
    "apple": "a red apple from the orchard",
    "pear": "a ripe pear from the orchard",
    "carrot": "an orange carrot from the field",
    "leek": "a green leek from the field",
    "hammer": "a heavy hammer for nails",
    "saw": "a sharp saw for wood",
}


def main() -> None:
    texts = [f"{start} {sentence}" for start in ("this is", "I bought", "he has") for sentence in SENTENCES.values()]
    labels = [[label] for label in SENTENCES] * 3

    model = xt.LinearTree(index=xt.GivenTree(parents=PARENTS), seed=0)
    tagger = xt.Tagger(xt.Vectorizer(), model).fit(texts, labels)

    tree, names = model.tree, tagger.label_names
    print(tree)
    for node in range(tree.n_nodes):
        below = ", ".join(names[label] for label in tree.labels_below(node).tolist())
        print(f"node {node}, depth {tree.node_depths[node]}: {below}")

    print("best label:", tagger.tag("a saw", k=1)[0].label)
    for step in tagger.explain("a saw", "saw").explanation.paths[0].steps:
        below = " · ".join(names[label] for label in step.labels)
        print(f"{below}: margin {step.margin:+.2f}, score {step.path_score:.3f}")

    # A label that the hierarchy lacks is an error, or goes below the root.
    lacking = {child: parent for child, parent in PARENTS.items() if child != "leek"}
    try:
        xt.Tagger(xt.Vectorizer(), xt.LinearTree(index=xt.GivenTree(parents=lacking))).fit(texts, labels)
    except xt.InputError as error:
        print("refused:", error)
    below_root = xt.LinearTree(index=xt.GivenTree(parents=lacking, missing="root"), seed=0)
    print("best label:", xt.Tagger(xt.Vectorizer(), below_root).fit(texts, labels).tag("green leek", k=1)[0].label)


if __name__ == "__main__":
    main()
