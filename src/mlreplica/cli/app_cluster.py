"""The commands that look at a table without a target: groups, outliers"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .console import CommandError, progress_bar
from .options import (
    AsJson,
    Categorical,
    Drop,
    Encoding,
    Header,
    Missing,
    Numeric,
    Seed,
    Shipped,
    option,
    print_json,
)


def cluster(
    file: Annotated[
        Path | None, typer.Argument(help="A .csv, .tsv, .parquet, … file; else a shipped set.")
    ] = None,
    data: Annotated[Shipped | None, option(help="Which shipped set.", show_default="iris")] = None,
    columns: Annotated[
        list[str] | None, option(help="Only this column; repeatable.", show_default="all")
    ] = None,
    k: Annotated[str, option("--k", help="How many clusters, or auto: criteria vote.")] = "auto",
    report: Annotated[Path | None, option(help="Write an HTML report here.")] = None,
    labels: Annotated[Path | None, option(help="Write the cluster of each row here, .csv.")] = None,
    drop: Drop = None,
    numeric: Numeric = None,
    categorical: Categorical = None,
    missing: Missing = None,
    seed: Seed = 0,
    encoding: Encoding = None,
    header: Header = None,
    as_json: AsJson = False,
):
    """Find groups in a table, say which are stable, and what makes each different."""
    from .cluster import explore, plain, read_rows, shipped_rows, show, write_labels, write_report
    from .output import check_writable
    from .table import Choices

    if k != "auto" and not (k.isdigit() and int(k) > 1):
        raise CommandError(f"--k must be auto or a number above 1, got {k!r}.")
    if file is not None and data is not None:
        raise CommandError(f"give either a file or --data {data.value}, not both.")
    for path in (report, labels):
        if path:
            check_writable(path)
    lists = [tuple(given or ()) for given in (drop, numeric, categorical)]
    choices = Choices(
        None, None, *lists, encoding=encoding, missing=tuple(missing or ()), header=header
    )
    if file is not None:
        rows = read_rows(file, choices, tuple(columns or ()))
    else:
        rows = shipped_rows((data or Shipped.iris).value)
    with progress_bar(Console(stderr=True)) as bar, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters")  # said for each k tried
        bar.add_task("looking for groups", total=None)
        found = explore(rows, None if k == "auto" else int(k), seed)
    if labels:
        write_labels(labels, found["labels"])
    if report:
        write_report(report, found)
    if as_json:
        print_json(plain(found))
        return
    from .show import line

    show(found, console := Console())
    for path, what in ((report, "report"), (labels, "labels")):
        if path:
            line(console, f"{what}: {path}")


def outliers(
    file: Annotated[
        Path | None, typer.Argument(help="A .csv, .tsv, .parquet, … file; else a shipped set.")
    ] = None,
    data: Annotated[Shipped | None, option(help="Which shipped set.", show_default="iris")] = None,
    columns: Annotated[
        list[str] | None, option(help="Only this column; repeatable.", show_default="all")
    ] = None,
    most: Annotated[int, option(min=1, help="How many rows to describe.")] = 10,
    report: Annotated[Path | None, option(help="Write an HTML report here.")] = None,
    scores: Annotated[Path | None, option(help="Write the scores of all rows here, .csv.")] = None,
    drop: Drop = None,
    numeric: Numeric = None,
    categorical: Categorical = None,
    missing: Missing = None,
    seed: Seed = 0,
    encoding: Encoding = None,
    header: Header = None,
    as_json: AsJson = False,
):
    """Find unusual rows, say how far detectors agree and which columns are to blame."""
    from .cluster import read_rows, shipped_rows
    from .outliers import explore, plain, show, write_report, write_scores
    from .output import check_writable
    from .table import Choices

    if file is not None and data is not None:
        raise CommandError(f"give either a file or --data {data.value}, not both.")
    for path in (report, scores):
        if path:
            check_writable(path)
    lists = [tuple(given or ()) for given in (drop, numeric, categorical)]
    choices = Choices(
        None, None, *lists, encoding=encoding, missing=tuple(missing or ()), header=header
    )
    if file is not None:
        rows = read_rows(file, choices, tuple(columns or ()))
    else:
        rows = shipped_rows((data or Shipped.iris).value)
    with progress_bar(Console(stderr=True)) as bar:
        bar.add_task("looking for unusual rows", total=None)
        found = explore(rows, most, seed)
    if scores:
        write_scores(scores, found)
    if report:
        write_report(report, found)
    if as_json:
        print_json(plain(found))
        return
    from .show import line

    show(found, console := Console())
    for path, what in ((report, "report"), (scores, "scores")):
        if path:
            line(console, f"{what}: {path}")
