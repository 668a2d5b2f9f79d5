"""Print results for a person"""

from rich.box import SIMPLE_HEAD
from rich.table import Table

from .console import duration, with_error
from .metrics import METRICS

MOST_COLUMNS = 20


def line(console, text, style=""):
    """One line, as it is."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def grid_of(*names, right=()):
    """A table with plain lines; the columns named in `right` are numbers."""
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        grid.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name in right or name in ("model", "taken as"),
            overflow="fold",
        )
    return grid


def show_columns(columns, console):
    """What was done to each column of a table; the first of many, and those left out."""
    shown = columns[:MOST_COLUMNS]
    grid = grid_of("column", "taken as", "missing", "", right=("missing",))
    for c in shown:
        grid.add_row(
            plain(c["name"]),
            c["kind"],
            str(c["missing"] or ""),
            plain(c["note"]),
            style="dim" if c["kind"] == "left out" else "",
        )
    console.print(grid)
    if len(columns) > len(shown):
        rest = columns[len(shown) :]
        kinds = {kind: sum(c["kind"] == kind for c in rest) for kind in {c["kind"] for c in rest}}
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
        line(console, f"… and {len(rest)} more: {counts}", "dim")


def plain(text):
    """Text that rich shows as it is."""
    from rich.markup import escape

    return escape(text)


def show_leaderboard(result, console):
    """Print a comparison."""
    for note in result["notes"]:
        line(console, note, "dim")
    if any(c["kind"] != "number" or c["missing"] or c["note"] for c in result["columns"]):
        show_columns(result["columns"], console)
    line(
        console,
        f"{result['data']}: {result['rows']} rows, {result['features']} features, "
        f"{result['task']}, {result['folds']} folds {result['split']}, {result['seconds']:.1f} s"
        + (f" ({result['compile_seconds']:.1f} s to compile)" * (result["compile_seconds"] >= 0.1)),
        "bold",
    )
    for warning in result["warnings"]:
        line(console, f"warning: {warning}", "yellow")
    score = f"{result['metric']} {METRICS[result['metric']].arrow}"
    rows = result["leaderboard"]
    cells = {"model": [row["model"] for row in rows], score: [score_cell(row) for row in rows]}
    extra = {name for row in rows for name in row["metrics"] if name in SECOND}
    spare = {name: metric_cell(name) for name in SECOND if name in extra - {result["metric"]}}
    cells |= {name: [cell(row) for row in rows] for name, cell in (SPARE | spare).items()}
    make_room(cells, rows, console.width, [*reversed(spare), *SPARE])
    grid = grid_of(*cells, "", right=list(cells)[1:])
    for row, *shown in zip(rows, *cells.values(), strict=True):
        grid.add_row(*shown, plain(row["note"]), style="dim" if row["baseline"] else "")
    console.print(grid)
    if result["winner"]:
        line(console, f"{result['verdict']}.", "bold")
    if any(row["cut"] for row in rows):
        line(
            console,
            f"cut: fewer than {result['training_rows']:,} rows or {result['folds']} folds, for "
            "want of time; those with fewer rows stand below those with more; "
            "--resume with more --seconds goes on",
            "dim",
        )


def make_room(cells, rows, width, names):
    """Leave out columns, the least needed first, until the longest word of a remark fits."""
    if not any(cells["certificate"]):
        del cells["certificate"]
    longest = max(len(word) for row in rows for word in (row["note"].split() or [""]))
    for name in names:
        if name not in cells:
            continue
        used = sum(max(map(len, (title, *column))) + 2 for title, column in cells.items())
        if used + longest > width:
            del cells[name]


def score_cell(row):
    """The score and its spread over the folds."""
    return "–" if row["score"] is None else with_error(row["score"], row["sd"])


def time_cell(what):
    """A function of a row: the median time of a fold."""

    def cell(row):
        seconds = row[f"{what}_seconds"]
        return "" if seconds is None else duration(seconds)

    return cell


def metric_cell(name):
    """A function of a row: a further metric."""
    return lambda row: with_error(row["metrics"][name], None) if name in row["metrics"] else ""


def certificate_cell(row):
    """The bound on what an exact solution would gain."""
    return "" if row["certificate"] is None else f"{row['certificate']:.1e}"


SECOND = ["roc_auc", "f1", "log_loss", "rmse", "mae"]  # metrics beside the one to order by
SPARE = {  # columns of the leaderboard that a narrow terminal does without
    "predict": time_cell("predict"),
    "certificate": certificate_cell,
    "fit": time_cell("fit"),
}


def show_explanation(found, console, most=12):
    """Print what counts, over all rows or for one."""
    if "row" in found:
        line(console, f"row {found['row']}: {found['prediction']}  ({found['output']:.4g})", "bold")
        grid = grid_of("column", "value", "effect", right=("effect",))
        for c in found["columns"][:most]:
            grid.add_row(plain(c["column"]), plain(value_text(c["value"])), f"{c['effect']:+.4g}")
        line(console, found["effect_is"], "dim")
    else:
        grid = grid_of("column", "importance", right=("importance",))
        for c in found["columns"][:most]:
            grid.add_row(plain(c["column"]), f"{c['importance']:.4g}")
        line(console, f"{found['importance_is']}, {found['rows']} rows", "dim")
    console.print(grid)
    for question in found.get("path", ()):
        line(console, f"  {question}")
    if coefficients := found.get("coefficients"):
        names = list(coefficients[0])
        grid = grid_of(*names, right=names[1:])
        for c in coefficients[:most]:
            grid.add_row(plain(c["feature"]), *(f"{v:+.4g}" for v in list(c.values())[1:]))
        console.print(grid)
    vectors = found.get("support_vectors")
    if isinstance(vectors, list):
        grid = grid_of("training row", "pull", right=("training row", "pull"))
        for v in vectors:
            grid.add_row(str(v["training_row"]), f"{v['pull']:+.4g}")
        console.print(grid)
    elif vectors:
        line(console, f"{vectors} support vectors")


def value_text(value):
    """A value of a column."""
    return "missing" if value is None else f"{value:.6g}" if isinstance(value, float) else value
