"""Two ways to more precision: labels in several clusters (Overlap), and a second opinion (Reranked).

Run: python examples/overlap_and_ranker.py
"""

import time

import xtrellis as xt


def main() -> None:
    # Labels with several meanings, made on purpose: groups of four unrelated labels are fused into one.
    data = xt.synthetic(n_rows=6000, n_labels=1600, n_features=4000, noise=0.5, seed=0)
    fused, _ = xt.entangle(data, k=4, mode="hard", seed=0)
    train, test = fused.split(holdout=0.25, seed=0)
    print(f"{train.n_rows} training rows, {test.n_rows} test rows, {train.n_labels} labels")

    index = xt.BalancedTree(arity=16, max_leaf=10)
    plain = xt.LinearTree(index=index, beam=5, seed=0)
    models = {
        "one cluster each": plain,
        "overlap, 2 clusters": xt.LinearTree(index=index, overlap=xt.Overlap(copies=2), beam=5, seed=0),
        "re-ranked": xt.Reranked(base=plain.clone(), candidates=30, calibrate=False, seed=0),
    }
    tops = {}
    for name, model in models.items():
        begun = time.perf_counter()
        model.fit(train.X, train.Y)
        seconds = time.perf_counter() - begun
        tops[name] = model.predict(test.X, k=5)
        report = xt.evaluate(test.Y, tops[name], ["P@1", "P@5", "R@5"])
        print(f"{name}: P@1 {report['P@1']:.2f}, P@5 {report['P@5']:.2f}, R@5 {report['R@5']:.2f} ({seconds:.1f} s)")

    base = xt.metrics.per_row(test.Y, tops["one cluster each"], "P@5")
    for name in ("overlap, 2 clusters", "re-ranked"):
        gain = xt.metrics.bootstrap(xt.metrics.per_row(test.Y, tops[name], "P@5") - base, seed=0)
        print(f"gain in P@5, {name}: {gain}")

    tree = models["overlap, 2 clusters"].tree
    _, places = tree.label_slots
    print(f"places per label: {len(places) / tree.n_labels:.2f}")


if __name__ == "__main__":
    main()
