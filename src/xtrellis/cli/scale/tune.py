"""`xtrellis tune DATA`: parameters of a preset, tried on held-out rows; the best model, if it shall be kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import show
from ..options import (
    Address,
    DataEncoding,
    DataPaths,
    Debug,
    Delimiter,
    EngineName,
    Format,
    Json,
    LeaveOutBadRows,
    Log,
    Quiet,
    Read,
    Threads,
    engine_of,
)


def tune(
    data: DataPaths,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Sets of parameters to try.")] = 30,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="MODEL", help="Train with the best parameters on all rows, and save that."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the scores by each parameter (.png, .svg, .pdf)."),
    ] = None,
    preset: Annotated[str, typer.Option("--preset", help="Kind of model: one of linear trees.")] = "xr-linear",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter that is not tried: `n_trees=3`; repeatable."),
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="What held-out rows are judged by.")] = "nDCG@5",
    holdout: Annotated[float, typer.Option("--holdout", min=0.01, max=0.9, help="Share of rows to judge by.")] = 0.1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")] = 0,
    engine: EngineName = None,
    address: Address = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    delimiter: Delimiter = None,
    encoding: DataEncoding = None,
    skip_bad_rows: LeaveOutBadRows = False,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Choose parameters by held-out rows: many candidates on few rows, the best of them on all."""
    from ...halving import check_picture
    from ...halving import tune as search
    from ..files import Source, check_target
    from ..train import Wanted

    if to is not None:
        check_target(to)
    if plot is not None:
        check_picture(plot)
    wanted = Wanted(preset, settings or [], seed, threads)
    fixed = {key.replace(".", "__") for key, _ in wanted.pairs}
    runs_on = engine_of(engine, address, threads)
    source = Source(format, read, threads, delimiter=delimiter, encoding=encoding, skip_bad_rows=skip_bad_rows)
    with show.listening(quiet) as say:
        dataset = source.read_all(data, "train")
        say(show.dataset(source.name(data, "train"), dataset))
        tagger = wanted.tagger(with_texts=dataset.texts is not None)
        found = search(
            tagger, dataset, trials=trials, metric=metric, holdout=holdout, seed=seed, engine=runs_on, fixed=fixed
        )
        if plot is not None:
            found.plot(plot)
            say(f"drew {plot}")
        if to is not None:
            tagger.model.set_params(**found.params)
            tagger.fit(dataset, engine=runs_on)
            tagger.save(to)
            say(f"saved {to}, trained with the best of them on all rows")
    if json:
        show.as_json(found.to_dict())
        return
    show.result(found)
    told = " ".join(f"--set {name.replace('__', '.')}={value}" for name, value in found.params.items())
    show.result(f"The best: xtrellis train DATA --to MODEL --preset {preset} {told}")
