"""The commands about one model: fit, predict, explain, watch"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .console import CommandError, duration, with_error
from .options import (
    AnyTask,
    AsJson,
    Categorical,
    DataFile,
    Distinct,
    Drop,
    Encoding,
    Header,
    Missing,
    Numeric,
    Seed,
    Target,
    Text,
    option,
    print_json,
)

Model = Annotated[str, typer.Argument(help="Name of a model; `mlreplica models` lists them.")]
ModelFile = Annotated[Path, typer.Argument(help="A file that `mlreplica fit` has written.")]
Sequence = Annotated[str | None, option("--sequence", help="Column that names a row's sequence.")]
Set = Annotated[
    list[str] | None, option("--set", help="Parameter of the model, NAME=VALUE; repeatable.")
]


def fit(
    model: Model,
    file: DataFile,
    output: Annotated[Path, option("--output", "-o", help="Where to keep the model.")],
    target: Target = None,
    task: AnyTask = None,
    settings: Set = None,
    drop: Drop = None,
    numeric: Numeric = None,
    categorical: Categorical = None,
    text: Text = None,
    missing: Missing = None,
    distinct: Distinct = False,
    seed: Seed = 0,
    encoding: Encoding = None,
    header: Header = None,
    sequence: Sequence = None,
    as_json: AsJson = False,
):
    """Fit one model on all rows of a table and keep it in a file."""
    from .model import find_model, settings_of
    from .model import fit as fit_model
    from .output import check_model_name, check_writable
    from .sequences import sequence_model
    from .table import Choices

    check_model_name(output)
    if (labelling := sequence_model(model)) is not None:
        fit_sequences(labelling, file, output, sequence, target, settings, seed, encoding, as_json)
        return
    cls, tasks = find_model(model)
    given = settings_of(cls, settings or ())
    check_writable(output)
    lists = (tuple(given or ()) for given in (drop, numeric, categorical))
    choices = Choices(
        target,
        task and task.value,
        *lists,
        encoding=encoding,
        distinct=distinct,
        missing=tuple(missing or ()),
        text=tuple(text or ()),
        header=header,
    )
    table = table_for(cls, tasks, file, choices)
    fitted, said = fit_model(table, cls, seed, given)
    import mlreplica

    try:
        mlreplica.save(fitted, output)
    except (OSError, TypeError) as error:
        raise CommandError(f"cannot write {output}: {error}") from None
    said["file"] = str(output)
    if as_json:
        print_json(said)
        return
    console = Console(highlight=False, soft_wrap=True)
    for note in said["notes"]:
        console.print(note, style="dim", markup=False)
    certificate = said["certificate"]
    proof = "" if certificate is None else f", certificate {certificate:.1e}"
    console.print(
        f"{said['model']} of {said['target']!r} by {said['features']} features, "
        f"{said['rows']} rows, {duration(said['seconds'])}{proof}",
        markup=False,
    )
    if said["not_converged"]:
        console.print("warning: not converged; --set max_iter=… or scale the data", style="yellow")
    console.print(f"kept in {output}", markup=False)


def fit_sequences(cls, file, output, sequence, target, settings, seed, encoding, as_json):
    """Fit a model of sequences and keep it in a file."""
    import mlreplica

    from .model import settings_of
    from .output import check_writable
    from .sequences import fit as fit_model

    check_writable(output)
    given = settings_of(cls, settings or ())
    model, said = fit_model(cls, file, sequence, target, given, seed, encoding)
    try:
        mlreplica.save(model, output)
    except (OSError, TypeError) as error:
        raise CommandError(f"cannot write {output}: {error}") from None
    said["file"] = str(output)
    if as_json:
        print_json(said)
        return
    console = Console(highlight=False, soft_wrap=True)
    counts = f"{said['sequences']} sequences, {said['rows']} rows"
    console.print(f"{said['model']}: {counts}, {duration(said['seconds'])}", markup=False)
    console.print(f"kept in {output}", markup=False)


def table_for(cls, tasks, file, choices):
    """The table, read for what the model is for."""
    from .table import read_file

    if choices.task is None and len(tasks) == 1:
        choices = choices._replace(task=tasks[0])
    elif choices.task not in (None, *tasks):
        raise CommandError(f"{cls.__name__} is for {tasks[0]}, not for {choices.task}.")
    return read_file(file, choices)


def predict(
    model: ModelFile,
    file: DataFile,
    output: Annotated[
        Path | None, option("--output", "-o", help="Where to; stdout as CSV by default.")
    ] = None,
    encoding: Encoding = None,
    header: Header = None,
    sequence: Sequence = None,
    as_json: AsJson = False,
):
    """Predict the rows of a table by a kept model."""
    import polars as pl

    from . import sequences
    from .fits import listening
    from .model import judged, labels_sequences, load_model, read_rows, write_rows
    from .model import predict as predict_rows
    from .output import check_writable

    if output:
        check_writable(output)
    fitted = load_model(model)
    if labels_sequences(fitted):
        found, score = sequences.predict(fitted, file, sequence, encoding)
        frame, notes = found, []
    else:
        frame, X, notes = read_rows(fitted, file, encoding, header)
        with listening():  # the notes say what there is to say
            found = pl.DataFrame(predict_rows(fitted, X))
            score = judged(fitted, frame, X)
    if output:
        write_rows(output, frame.with_columns(found))
    if as_json:
        rows = {} if output else {"predictions": found.to_dicts()}
        print_json({"rows": frame.height, "notes": notes, "score": score, **rows})
        return
    said = Console(stderr=True, highlight=False, soft_wrap=True)
    for note in notes:
        said.print(f"warning: {note}", style="yellow", markup=False)
    if score:
        value = with_error(score["score"], None)
        said.print(f"{score['metric']} {value} on {score['rows']} rows with a known target")
    if output:
        said.print(f"{frame.height} predictions in {output}", markup=False)
    else:
        text = io.StringIO()
        found.write_csv(text)
        typer.echo(text.getvalue(), nl=False)


def explain(
    model: ModelFile,
    file: DataFile,
    row: Annotated[
        int | None, option(help="Only this row, counted from 0.", show_default="all rows")
    ] = None,
    encoding: Encoding = None,
    header: Header = None,
    sequence: Sequence = None,
    as_json: AsJson = False,
):
    """Say which columns count, for a whole table or for one row."""
    from . import sequences
    from .explain import all_rows, one_row
    from .fits import listening
    from .model import labels_sequences, load_model, read_rows
    from .show import show_explanation

    fitted = load_model(model)
    if labels_sequences(fitted):
        found = sequences.explain(fitted, file, row, sequence, encoding)
        if as_json:
            print_json(found)
        else:
            sequences.show_terms(found, Console())
        return
    frame, X, _ = read_rows(fitted, file, encoding, header)
    if row is not None and not -frame.height <= row < frame.height:
        raise CommandError(f"no row {row}: {file} has the rows 0 to {frame.height - 1}.")
    with listening():
        if row is None:
            found = all_rows(fitted, frame, X)
        else:
            found = one_row(fitted, X, row % frame.height)
    if as_json:
        print_json(found)
    else:
        show_explanation(found, Console())


def watch(
    model: Model,
    file: Annotated[Path | None, typer.Argument(help="A table; else a small example.")] = None,
    output: Annotated[
        Path | None, option("--output", "-o", help="The HTML file.", show_default="a temporary one")
    ] = None,
    target: Target = None,
    settings: Set = None,
    drop: Drop = None,
    seed: Seed = 0,
    encoding: Encoding = None,
    header: Header = None,
    show: Annotated[bool, option("--open/--no-open", help="Open it in the browser.")] = True,
    as_json: AsJson = False,
):
    """Record a fit step by step and play it in the browser."""
    from .model import find_model, settings_of
    from .output import write_text
    from .table import Choices
    from .watch import example, page, record

    cls, tasks = find_model(model)
    given = settings_of(cls, settings or ())
    if file is None:
        table = example(tasks[0])
    else:
        choices = Choices(target, drop=tuple(drop or ()), encoding=encoding, header=header)
        table = table_for(cls, tasks, file, choices)
    frames, panes, steps = record(table, cls, seed, given)
    output = output or Path(tempfile.gettempdir()) / f"mlreplica-{cls.__name__}.html"
    write_text(output, page(cls.__name__, table, frames, panes, steps))
    if as_json:
        print_json({"file": str(output), "steps": steps, "frames": len(frames), "last": frames[-1]})
        return
    typer.echo(f"{steps} steps of {cls.__name__} in {output}")
    if show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())
