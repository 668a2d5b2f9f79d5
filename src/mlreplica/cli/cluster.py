"""Groups in a table: which there are, which of them come back, and what makes each different

Numbers are standardised, gaps are filled with medians, and a category becomes a column for each of
its levels, scaled so that two rows of different levels are one deviation apart. Methods that need a
number of clusters get the one that `choose_k` chooses, unless it is given.
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.formulas.distances import power_of_two

from .columns import Column, Columns
from .console import CommandError, did_you_mean
from .data import read_frame
from .understand import understand

STABLE = 0.75  # agreement of a clustering of most rows with that of all
LARGE = 5_000  # rows above which trees of all rows and the number are found on a sample
MOST_K = 10
RESAMPLES = 8
SHARE = 0.8  # of the rows in a resample


class Rows(NamedTuple):
    """A table without a target."""

    name: str
    columns: list  # of Column, also those left out
    X: np.ndarray  # as the columns say; categories are codes; NaN where missing
    notes: list

    @property
    def used(self):
        """Pairs of a Column and the position of its first feature in X."""
        at, found = 0, []
        for column in self.columns:
            if column.features:
                found.append((column, at))
                at += len(column.features)
        return found


def read_rows(path, choices, only=()):
    """The rows of a file, by the named columns or all."""
    frame, notes = read_frame(path, choices.encoding, choices.header)
    for option, names in (("--columns", only), ("--drop", choices.drop)):
        for name in names:
            if name not in frame.columns:
                raise CommandError(
                    f"no column {name!r} for {option}; {did_you_mean(name, frame.columns)}"
                )
    frame = frame.select(list(only)) if only else frame
    frame = frame.drop([name for name in choices.drop if name in frame.columns])
    columns = understand(frame, choices.numeric, choices.categorical, choices.missing)
    if not any(column.features for column in columns):
        reasons = "; ".join(f"{column.name!r}: {column.why}" for column in columns[:3])
        raise CommandError(f"{path} has no usable column ({reasons}).")
    X = Columns.of(columns, marks=choices.missing).transform(frame)
    return Rows(path.name, columns, X, notes)


def shipped_rows(name):
    """A shipped set without its target."""
    from mlreplica import datasets

    bunch = getattr(datasets, f"load_{name}")()
    columns = [Column(str(feature), "number") for feature in bunch.feature_names]
    return Rows(name, columns, np.asarray(bunch.data, dtype=float), [])


def coordinates(rows):
    """The matrix in which distances are measured."""
    parts = []
    for column, at in rows.used:
        block = rows.X[:, at : at + len(column.features)]
        if column.kind == "category":
            levels = np.arange(len(column.levels))
            parts.append((block == levels) / np.sqrt(2.0))
            continue
        block = block / power_of_two(np.nanmax(np.abs(block)))  # 1e300 has no square
        middle = np.nanmedian(block, axis=0)
        filled = np.where(np.isnan(block), middle, block)
        spread = filled.std(axis=0)
        parts.append((filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
    return np.column_stack(parts)


def methods(n, k, seed):
    """The clusterings that are tried."""
    from mlreplica.cluster import HDBSCAN, AgglomerativeClustering, KMeans
    from mlreplica.mixture import GaussianMixture

    found = {"HDBSCAN": HDBSCAN(min_cluster_size=max(5, n // 50), min_samples=5)}
    if k > 1:
        found["KMeans"] = KMeans(k, n_init=10, random_state=seed)
        found["GaussianMixture"] = GaussianMixture(k, n_init=3, reg_covar=1e-3, random_state=seed)
        if n <= LARGE:
            found["AgglomerativeClustering"] = AgglomerativeClustering(k)
    return found


def judged(name, model, Z, rng):
    """One row of the comparison: how many, how clear, how stable."""
    from sklearn.base import clone

    from mlreplica.metrics import adjusted_rand_score, silhouette_score

    labels = np.asarray(model.fit_predict(Z))
    inside, found = labels >= 0, []
    for _ in range(RESAMPLES):
        some = np.sort(rng.permutation(len(Z))[: int(SHARE * len(Z))])
        again = np.asarray(clone(model).fit_predict(Z[some]))
        found.append(adjusted_rand_score(labels[some], again))
    few = rng.permutation(np.flatnonzero(inside))[:2000]
    several = len(few) > 2 and 1 < len(np.unique(labels[few])) < len(few)
    clusters = int(labels.max()) + 1
    return {
        "method": name,
        "clusters": clusters,
        "noise": float(1.0 - inside.mean()),
        "silhouette": float(silhouette_score(Z[few], labels[few])) if several else None,
        "stability": float(np.mean(found)) if clusters > 1 else None,
        "labels": labels,
    }


def explore(rows, k=None, seed=0):
    """Everything the command says, as plain values but for arrays of labels and of the plane."""
    from mlreplica.cluster import choose_k

    Z, rng = coordinates(rows), np.random.default_rng(seed)
    n = len(Z)
    if n < 20:
        raise CommandError(f"{rows.name} has {n} rows; clusters need 20 at least.")
    chosen = None
    if k is None:
        some = rng.permutation(n)[:LARGE]
        chosen = choose_k(Z[some], ks=range(1, min(MOST_K, n // 10) + 1), random_state=seed)
        k = chosen.k
    elif k > n // 2:
        raise CommandError(f"--k {k} is too many for {n} rows; at most {n // 2}.")
    table = [judged(name, model, Z, rng) for name, model in methods(n, k, seed).items()]
    table.sort(key=lambda row: -(row["stability"] or 0.0))
    best = table[0]
    nothing = chosen is not None and chosen.votes.get("gap") == 1
    stable = best["stability"] is not None and best["stability"] >= STABLE
    return {
        "data": rows.name,
        "rows": n,
        "columns": [{"name": c.name, "kind": c.kind, "note": c.why} for c in rows.columns],
        "k": int(k),
        "votes": {} if chosen is None else dict(chosen.votes),
        "methods": table,
        "best": best["method"],
        "stable": bool(stable),
        "verdict": verdict(best, stable, nothing),
        "profiles": profiles(rows, best["labels"]),
        "notes": rows.notes,
        "labels": best["labels"],
        "plane": plane(Z),
        "chosen": chosen,
    }


def verdict(best, stable, nothing):
    """One sentence."""
    if stable:
        sure = f"{best['clusters']} clusters by {best['method']} come back on resampled rows"
        doubt = "; yet the gap statistic sees no more than one group" if nothing else ""
        return f"{sure} (agreement {best['stability']:.2f}){doubt}."
    if best["stability"] is None:
        return "No method finds more than one cluster."
    return (
        f"No structure is stable: even {best['method']} agrees with itself on resampled rows only "
        f"to {best['stability']:.2f}. Do not build on these groups."
    )


def plane(Z):
    """The first two principal components."""
    U, s, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    found = U[:, :2] * s[:2]
    return found if found.shape[1] == 2 else np.column_stack([found, np.zeros(len(Z))])


def profiles(rows, labels, most=4):
    """What makes each cluster different: its largest deviations from all rows, in words."""
    found = []
    for c in range(int(labels.max()) + 1):
        mine = labels == c
        said = sorted((s for pair in rows.used for s in differences(rows.X, pair, mine)),
                      key=lambda item: -item[0])  # fmt: skip
        traits = [text for size, text in said[:most] if size > 0.3]
        found.append({"cluster": c, "rows": int(mine.sum()), "traits": traits})
    return found


def differences(X, pair, mine):
    """How far a cluster is from all rows in one column: sizes in deviations, and sentences."""
    column, at = pair
    if column.kind == "category":
        codes = X[:, at]
        for level, name in enumerate(column.levels):
            here, all_rows = np.mean(codes[mine] == level), np.mean(codes == level)
            size = abs(here - all_rows) / max(np.sqrt(all_rows * (1 - all_rows)), 1e-9)
            yield size, f"{column.name} = {name}: {here:.0%}, of all rows {all_rows:.0%}"
        return
    for j, feature in enumerate(column.features, start=at):
        unit = power_of_two(np.nanmax(np.abs(X[:, j])))
        x = X[:, j] / unit
        spread = np.nanstd(x)
        if spread > 0 and np.isfinite(x[mine]).any():
            here, everywhere = np.nanmean(x[mine]), np.nanmean(x)
            size = (here - everywhere) / spread
            word = "high" if size > 0 else "low"
            wide = np.log10(max(abs(here), abs(everywhere), spread) / spread)
            digits = int(np.clip(np.ceil(wide) + 2, 4, 15))  # 1e9 ± 3 is more than 1e+09
            one, whole = (f"{x * unit:.{digits}g}" for x in (here, everywhere))
            yield abs(size), f"{feature} {word}: {one}, of all rows {whole} ({size:+.1f} sd)"


def write_labels(path, labels):
    """A .csv file with the cluster of each row; −1 is noise."""
    from .output import write_text

    write_text(path, "row,cluster\n" + "".join(f"{i},{c}\n" for i, c in enumerate(labels)))


def write_report(path, found):
    """One HTML file."""
    from importlib.resources import files

    from jinja2 import Environment

    from mlreplica import __version__
    from mlreplica.plotting import ChooseKDisplay, ClusterDisplay

    from . import figures
    from .output import write_text

    drawings = []
    with figures.drawing(
        drawings, "plane", "The rows in a plane", "First two principal components, by cluster."
    ) as ax:
        some = np.random.default_rng(0).permutation(found["rows"])[:2000]
        names = "first component", "second component"
        labels = found["labels"][some]
        ClusterDisplay(found["plane"][some], labels, names=names).plot(ax=ax)
    if found["chosen"] is not None:
        with figures.drawing(
            drawings, "number", "How many", "Four criteria, each from its least to its largest."
        ) as ax:
            ChooseKDisplay(found["chosen"]).plot(ax=ax)
    folder = files("mlreplica.cli")
    shared = folder.joinpath("report.html.jinja").read_text(encoding="utf-8")
    css = shared[shared.index("<style>") : shared.index("</style>") + 8]
    page = folder.joinpath("cluster.html.jinja").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(page)
    write_text(path, template.render(found=found, drawings=drawings, css=css, version=__version__))


def show(found, console):
    """Print for a person."""
    from .show import grid_of, line

    for note in found["notes"]:
        line(console, note, "dim")
    if found["votes"]:
        votes = ", ".join(f"{name} {k}" for name, k in found["votes"].items())
        line(console, f"how many? {votes}: {found['k']}")
    grid = grid_of(
        "method", "clusters", "noise", "silhouette", "stability",
        right=("clusters", "noise", "silhouette", "stability"),
    )  # fmt: skip
    number = lambda value: "" if value is None else f"{value:.2f}"
    for row in found["methods"]:
        grid.add_row(
            row["method"], str(row["clusters"]), f"{row['noise']:.0%}",
            number(row["silhouette"]), number(row["stability"]),
        )  # fmt: skip
    console.print(grid)
    line(console, found["verdict"], "bold")
    for profile in found["profiles"]:
        line(console, f"cluster {profile['cluster']}: {profile['rows']:,} rows")
        for trait in profile["traits"]:
            line(console, f"  {trait}", "dim")


def plain(found):
    """The result without arrays, for programs."""
    left = ("labels", "plane", "chosen")
    rows = [{k: v for k, v in row.items() if k != "labels"} for row in found["methods"]]
    return {k: v for k, v in found.items() if k not in left} | {"methods": rows}
