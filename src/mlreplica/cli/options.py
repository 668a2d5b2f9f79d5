"""The options that several commands have, and how errors are shown"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer.core import TyperGroup

from .console import CommandError

UsageError = typer.BadParameter.__base__  # click's, wherever typer keeps it


class OneLine(TyperGroup):
    """Errors are one line on stderr and an exit code: 1 a problem, 2 a wrong call, 130 Ctrl-C."""

    def main(self, args=None, prog_name=None, **extra):
        """Run the command and leave the process with its exit code."""
        extra["standalone_mode"] = False
        try:
            code = super().main(args=args, prog_name=prog_name, **extra)
        except CommandError as problem:
            code = fail(problem, 1)
        except UsageError as error:
            code = fail(f"{error.format_message().rstrip('.')}; see --help", 2)
        except BrokenPipeError:  # `| head` has seen enough
            code = 0
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


def print_json(result):
    """A result for programs."""
    typer.echo(json.dumps(result, indent=2, ensure_ascii=False))


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
    """How models are judged; metrics.METRICS says what each name means."""

    accuracy = "accuracy"
    balanced_accuracy = "balanced_accuracy"
    f1 = "f1"
    log_loss = "log_loss"
    brier = "brier"
    roc_auc = "roc_auc"
    r2 = "r2"
    rmse = "rmse"
    mae = "mae"


def option(*names, **settings):
    """A typer option."""
    return typer.Option(*names, **settings)


AsJson = Annotated[bool, option("--json", help="Print JSON on stdout, nothing else.")]
DataFile = Annotated[
    Path, typer.Argument(help="A .csv, .tsv, .parquet, .arrow, .feather or .jsonl file.")
]
Target = Annotated[str | None, option(help="Column to predict.", show_default="the last")]
AnyTask = Annotated[
    Task | None, option(help="What to predict.", show_default="guessed from the target")
]
Drop = Annotated[list[str] | None, option(help="Column to leave out; repeatable.")]
Numeric = Annotated[list[str] | None, option(help="Column to take as numbers; repeatable.")]
Categorical = Annotated[list[str] | None, option(help="Column to take as categories; repeatable.")]
Text = Annotated[list[str] | None, option(help="Column to take as words; repeatable.")]
Encoding = Annotated[str | None, option(help="Of a text file.", show_default="guessed")]
Header = Annotated[
    bool | None,
    option("--header/--no-header", help="Names in the first line.", show_default="guessed"),
]
Missing = Annotated[list[str] | None, option(help="Value that means missing, as -200; repeatable.")]
Distinct = Annotated[bool, option("--distinct", help="Leave out rows that are copies.")]
Seed = Annotated[int, option(help="Seed of folds and models.", min=0)]
