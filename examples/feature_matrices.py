"""Train on a sparse feature matrix: predict, evaluate, score given labels, change the beam, shrink the model.

Run: python examples/feature_matrices.py
"""

import tempfile
from pathlib import Path

import xtrellis as xt


def main() -> None:
    data = xt.synthetic(n_rows=4000, n_labels=500, n_features=5000, seed=0)
    train, test = data.split(holdout=0.2, seed=0)
    print(train)

    # X may be any SciPy sparse matrix or NumPy array; Y has one column for each label.
    model = xt.LinearTree(index=xt.BalancedTree(arity=8, max_leaf=20), seed=0)
    model.fit(train.X, train.Y)
    print(model.tree)

    top = model.predict(test.X, k=5)
    print("shape:", top.labels.shape, "first row:", top.labels[0].tolist())
    print(xt.evaluate(test.Y, top, ["P@1", "P@5", "PSP@5"], train_labels=train.Y))

    # Scores of labels of your choice: the stored entries of a rows × labels matrix.
    given = model.score(test.X, test.Y)
    print(f"mean score of the true labels: {given.data.mean():.2f}")

    # Some parameters act on a trained model at once: a wider beam finds more, and takes longer.
    for beam in (1, 10):
        model.set_params(beam=beam)
        report = xt.evaluate(test.Y, model.predict(test.X, k=10), ["R@10"])
        print(f"beam {beam}: R@10 {report['R@10']:.1f}")

    with tempfile.TemporaryDirectory() as folder:
        for storage in ("float32", "float16", "int8"):
            path = Path(folder) / storage
            xt.LinearTree(storage="float32", seed=0).fit(train.X, train.Y).stored_as(storage).save(path)
            size = sum(file.stat().st_size for file in path.iterdir())
            precision = xt.evaluate(test.Y, xt.load(path).predict(test.X, k=1), ["P@1"])["P@1"]
            print(f"{storage}: {size / 1000:.0f} kB, P@1 {precision:.1f}")


if __name__ == "__main__":
    main()
