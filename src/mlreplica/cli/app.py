"""The commands"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mlreplica import __version__

from .app_cluster import cluster, outliers
from .app_model import explain, fit, predict, watch
from .console import CommandError, progress_bar
from .options import (
    AnyTask,
    AsJson,
    Categorical,
    Distinct,
    Drop,
    Encoding,
    Header,
    Metric,
    Missing,
    Numeric,
    OneLine,
    Seed,
    Shipped,
    Target,
    Task,
    Text,
    option,
    print_json,
)

app = typer.Typer(
    cls=OneLine,
    help="Classical machine learning, written to be read and built to be used.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool):
    """Print the version and end."""
    if wanted:
        typer.echo(f"mlreplica {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, option("--version", callback=show_version, is_eager=True, help="Show version.")
    ] = False,
):
    """Show the help if no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def compare(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A .csv, .parquet, .sqlite, … file, or - for stdin; else a shipped set."
        ),
    ] = None,
    data: Annotated[
        Shipped | None, option(help="Which shipped set.", show_default="breast_cancer")
    ] = None,
    target: Target = None,
    task: AnyTask = None,
    metric: Annotated[
        Metric | None, option(help="What to order by.", show_default="accuracy or r2")
    ] = None,
    seconds: Annotated[
        float, option(help="Budget, shared by the models; 0 for no limit.", min=0)
    ] = 60.0,
    report: Annotated[Path | None, option(help="Write an HTML report here.")] = None,
    only: Annotated[
        list[str] | None, option("--model", help="Only this model; repeatable.")
    ] = None,
    drop: Drop = None,
    numeric: Numeric = None,
    categorical: Categorical = None,
    text: Text = None,
    missing: Missing = None,
    groups: Annotated[
        str | None, option(help="Column whose equal values stay in one fold.")
    ] = None,
    time: Annotated[
        str | None, option(help="Column to order rows by: learn from the past only.")
    ] = None,
    distinct: Distinct = False,
    folds: Annotated[int, option(help="Cross-validation folds.", min=2)] = 5,
    seed: Seed = 0,
    encoding: Encoding = None,
    header: Header = None,
    resume: Annotated[
        bool, option("--resume", help="Go on from an interrupted comparison, or with more time.")
    ] = False,
    as_json: AsJson = False,
):
    """Cross-validate every suitable model on a table and print the leaderboard."""
    from .budget import Clock
    from .table import Choices

    clock = Clock()
    if groups and time:
        raise CommandError("give either --groups or --time, not both.")
    lists = (tuple(given or ()) for given in (drop, numeric, categorical))
    choices = Choices(
        target, task and task.value, *lists, groups, time, encoding, distinct, tuple(missing or ()),
        tuple(text or ()), header,
    )  # fmt: skip
    table = read_table(file, data, choices)
    if report:
        from .output import check_writable

        check_writable(report)
    run_comparison(
        table, choices, file, report, resume, as_json, clock=clock, metric=metric, only=only or (),
        folds=folds, seed=seed, seconds=seconds,
    )  # fmt: skip


def run_comparison(table, choices, file, report, resume, as_json, **how):
    """Fit the models, tell how far they are, and print what was found, also at Ctrl-C."""
    from . import at_interrupt
    from .compare import Comparison
    from .kept import Kept

    kept = Kept.of(file or table.name, choices, how["metric"], how["folds"], how["seed"])
    bar = progress_bar(Console(stderr=True))
    comparison = Comparison(
        table,
        progress=lambda done, total, what: bar.update(
            told, completed=done, total=total, description=f"{what:<32}"
        ),
        kept=kept.read() if resume else {},
        **how,
    )

    def tell(result, closer=True):
        """Print what was found, and write the report."""
        if report and result["winner"]:
            from .report import write_report

            write_report(report, table, result, choices, file, closer)
            result["report"] = str(report)
        bar.stop()
        if as_json:
            print_json(result)
            return
        from .show import line, show_leaderboard

        show_leaderboard(result, console := Console())
        if report:
            line(console, f"report: {result.get('report', 'none, as no model could be fitted')}")

    def stop():
        """At Ctrl-C: the leaderboard so far, and all fits kept to go on from."""
        if comparison.contest.kept:
            kept.write(comparison.contest.kept)
            result = comparison.result()
            result["notes"] = [*result["notes"], "interrupted; the same with --resume goes on"]
            tell(result, closer=False)

    at_interrupt.append(stop)
    with bar:
        told = bar.add_task("reading")
        result = comparison.run()
        if any(row["cut"] for row in result["leaderboard"]):
            kept.write(comparison.contest.kept)
        at_interrupt.remove(stop)
        bar.update(told, description="report" if report else "")
        tell(result)


def read_table(file, data, choices):
    """The rows of a file, or of a shipped set, which takes no choices."""
    from .table import read_file, read_shipped

    if file is not None and data is not None:
        raise CommandError(f"give either a file or --data {data.value}, not both.")
    if file is not None:
        return read_file(file, choices)
    given, usual = choices._replace(task=None)._asdict(), choices._field_defaults
    if name := next((name for name in given if given[name] != usual[name]), None):
        raise CommandError(f"--{name} is for a file; a shipped set is taken as it is.")
    return read_shipped((data or Shipped.breast_cancer).value, choices.task)


@app.command()
def models(
    task: Annotated[Task | None, option(help="Only those for this.")] = None,
    markdown: Annotated[bool, option("--markdown", help="Print the README's table.")] = False,
    as_json: AsJson = False,
):
    """List all models, each with one line and its page in the book."""
    from .models import catalogue

    if markdown:
        from mlreplica.discovery import overview

        typer.echo(overview("book/{page}.md"), nl=False)
        return
    found = catalogue(task and task.value)
    if as_json:
        print_json(found)
        return
    from .show import grid_of

    grid = grid_of("model", "for", "", "page")
    for m in found:
        grid.add_row(m["model"], m["task"], m["summary"], m["page"])
    Console().print(grid)


@app.command()
def book(
    page: Annotated[
        str, typer.Argument(help="A page or a model, as smo or SVC.", show_default=False)
    ] = "index",
    build: Annotated[bool, option(help="Build it anew (in a clone; needs Node).")] = False,
    browser: Annotated[bool, option(help="Open it; else only say where it is.")] = True,
    as_json: AsJson = False,
):
    """Open the book, or the page of a model."""
    from .book import find_page, find_site

    found = find_page(find_site(build), page)
    if as_json:
        print_json({"page": str(found)})
    else:
        Console(soft_wrap=True, highlight=False).print(str(found), markup=False)
    if browser and not as_json:
        import webbrowser

        webbrowser.open(found.as_uri())


@app.command()
def doctor(as_json: AsJson = False):
    """Report versions, CPU, threads, BLAS and the cache of compiled kernels."""
    from .doctor import examine, show

    found = examine()
    if as_json:
        print_json(found)
    else:
        show(found, Console())


@app.command()
def warmup(
    names: Annotated[
        list[str] | None, typer.Argument(help="Chapters, estimators or functions; default: all.")
    ] = None,
    ahead: Annotated[
        bool, typer.Option("--ahead", help="Build a library that runs without Numba.")
    ] = False,
    as_json: AsJson = False,
):
    """Compile kernels ahead, so that no first call is slow; for images and CI."""
    if ahead:
        build_ahead(names or (), as_json)
        return
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
            raise CommandError(error) from None
    if as_json:
        print_json(report._asdict() | {"folder": report.folder and str(report.folder)})
    else:
        console = Console(soft_wrap=True, highlight=False)
        console.print(sentence(report))
        if report.folder:
            console.print(f"kept in {report.folder}", markup=False)
    if report.failures:
        first, n = report.failures[0], len(report.failures)
        raise CommandError(f"{n} calls failed, so some kernels may be missing; the first: {first}")


def build_ahead(names, as_json):
    """Build the library for this CPU into the package, and say what is in it."""
    from mlreplica.core.compile.ahead import levels, library

    if not levels.has_compiler():
        raise CommandError("a library needs a C compiler: install gcc or clang, or set CC.")
    try:
        levels.build(only=names)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        raise CommandError(error) from None
    sizes = {path.name: path.stat().st_size for path in sorted(library.FOLDER.glob("*.so"))}
    if as_json:
        print_json({"folder": str(library.FOLDER), "bytes": sizes})
    else:
        console = Console(soft_wrap=True, highlight=False)
        for name, size in sizes.items():
            console.print(f"{library.FOLDER / name}: {size / 1e6:.1f} MB", markup=False)


for command in (fit, predict, explain, watch, cluster, outliers):
    app.command()(command)
