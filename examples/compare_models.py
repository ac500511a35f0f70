"""Compare two models on the same test rows, with a bootstrap interval of the difference.

Run: python examples/compare_models.py [PRESET PRESET]
"""

import sys

import numpy as np

import xtrellis as xt


def main(first: str = "xr-linear", second: str = "bonsai") -> None:
    # Paragraphs of the documentation that this Python, NumPy and SciPy carry; every fourth one is enough here.
    pydocs = xt.datasets.load("pydocs")
    train, test = pydocs.train.select(slice(None, None, 4)), pydocs.test

    # Read the texts once; every model takes the same TrainingData.
    vectorizer = xt.Vectorizer()
    data = xt.TrainingData.of(vectorizer.fit_transform(train.texts), train.Y)
    X_test = vectorizer.transform(test.texts)

    values = {}
    for name in (first, second):
        model = xt.preset(name, seed=0).fit(data)
        top = model.predict(X_test, k=5)
        report = xt.evaluate(test.Y, top, ["P@1", "P@5", "R@5"])
        print(name, {metric: round(value, 2) for metric, value in report.items()})
        values[name] = {metric: xt.metrics.per_row(test.Y, top, metric) for metric in ("P@1", "P@5")}

    # The same rows are asked twice, so the difference row by row is what counts.
    for metric in ("P@1", "P@5"):
        gain = xt.metrics.bootstrap(values[second][metric] - values[first][metric], seed=0)
        verdict = "a real difference" if np.sign(gain.low) == np.sign(gain.high) else "within chance"
        print(f"{metric}: {second} minus {first} = {gain} ({verdict}, 95% interval)")


if __name__ == "__main__":
    main(*sys.argv[1:3])
