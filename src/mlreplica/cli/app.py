"""The commands, their options, and how errors are shown"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer.core import TyperGroup

from mlreplica import __version__
from mlreplica.cli.console import Problem, progress_bar

UsageError = typer.BadParameter.__base__  # click's, wherever typer keeps it


class OneLine(TyperGroup):
    """Errors are one line on stderr and an exit code: 1 a problem, 2 a wrong call, 130 Ctrl-C."""

    def main(self, args=None, prog_name=None, **extra):
        """Run the command and leave the process with its exit code."""
        extra["standalone_mode"] = False
        try:
            code = super().main(args=args, prog_name=prog_name, **extra)
        except Problem as problem:
            code = fail(problem, 1)
        except UsageError as error:
            code = fail(f"{error.format_message().rstrip('.')}; see --help", 2)
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        if code == 130:
            fail("interrupted", 130)
        sys.exit(code)


def fail(message, code):
    """Print one line on stderr; returns the exit code."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print("mlreplica:", style="bold red", end=" ")
    console.print(" ".join(str(message).split()), markup=False)
    return code


app = typer.Typer(
    cls=OneLine,
    help="Classical machine learning, written to be read and built to be used.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Task(StrEnum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"


class Shipped(StrEnum):
    """The data sets that come along."""

    breast_cancer = "breast_cancer"
    diabetes = "diabetes"
    digits = "digits"
    iris = "iris"
    wine = "wine"


class Metric(StrEnum):
    """How models are judged; compare.METRICS says what each name means."""

    accuracy = "accuracy"
    balanced_accuracy = "balanced_accuracy"
    f1 = "f1"
    log_loss = "log_loss"
    roc_auc = "roc_auc"
    r2 = "r2"
    rmse = "rmse"
    mae = "mae"


def show_version(wanted: bool):
    """Print the version and end."""
    if wanted:
        typer.echo(f"mlreplica {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show version.")
    ] = False,
):
    """Show the help if no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, nothing else.")]


@app.command()
def compare(
    file: Annotated[
        Path | None, typer.Argument(help="A .csv, .tsv or .parquet file; else a shipped set.")
    ] = None,
    data: Annotated[
        Shipped | None, typer.Option(help="Which shipped set.", show_default="breast_cancer")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column to predict.", show_default="the last")
    ] = None,
    task: Annotated[
        Task | None, typer.Option(help="What to predict.", show_default="guessed from the target")
    ] = None,
    metric: Annotated[
        Metric | None, typer.Option(help="What to order by.", show_default="accuracy or r2")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None,
    folds: Annotated[int, typer.Option(help="Cross-validation folds.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.", min=0)] = 0,
    as_json: AsJson = False,
):
    """Cross-validate every suitable estimator on a table and print the leaderboard."""
    from mlreplica.cli.table import read_file, read_shipped

    if file is None:
        for option, given in (("--target", target), ("--drop", drop)):
            if given:
                raise Problem(f"{option} is for a file; a shipped set is taken as it is.")
        table = read_shipped((data or Shipped.breast_cancer).value)
    elif data is not None:
        raise Problem(f"give either a file or --data {data.value}, not both.")
    else:
        table = read_file(file, target, drop or ())

    from mlreplica.cli.compare import leaderboard, show

    result = leaderboard(table, task, metric, folds=folds, seed=seed, console=Console(stderr=True))
    if as_json:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        show(result, Console())


@app.command()
def doctor(as_json: AsJson = False):
    """Report versions, CPU, threads, BLAS and the cache of compiled kernels."""
    from mlreplica.cli.doctor import examine, show

    found = examine()
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        show(found, Console())


@app.command()
def warmup(
    names: Annotated[
        list[str] | None, typer.Argument(help="Chapters, estimators or functions; default: all.")
    ] = None,
):
    """Compile kernels ahead, so that no first call is slow; for images and CI."""
    from mlreplica.warmup import sentence
    from mlreplica.warmup import warmup as compile_all

    with progress_bar(Console(stderr=True)) as bar:
        task = bar.add_task("warming up")
        try:
            report = compile_all(
                lambda done, total, what: bar.update(
                    task, completed=done, total=total, description=f"warming up {what}"
                ),
                names or (),
            )
        except ValueError as error:
            raise Problem(error) from None
    console = Console(soft_wrap=True, highlight=False)
    console.print(sentence(report))
    if report.folder:
        console.print(f"kept in {report.folder}", markup=False)
    if report.failures:
        first, n = report.failures[0], len(report.failures)
        raise Problem(f"{n} calls failed, so some kernels may be missing; the first: {first}")
