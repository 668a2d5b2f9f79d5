"""Unusual rows of a table: which, how far detectors agree, and which columns are to blame

Each detector gives a row a number and has a limit for it. Rows are ranked by how many detectors
they exceed the limit of, and then by the mean of their ranks among all rows. Numbers are in robust
deviations from their medians, cut at ±10 so that one entry does not hide the others; gaps are the
medians; a category is a column for each level, as in `cluster.py`. Nothing is removed.
"""

import warnings
from typing import NamedTuple

import numpy as np

from .cluster import coordinates, plane
from .console import CommandError

LEAST = 20  # rows
FAR = 3.5  # robust z-scores
RARE = 0.02  # share of the rows that have a level
CUT = 10.0  # robust deviations
SHOWN = 3  # reasons per row


class Detector(NamedTuple):
    """What one detector found: larger numbers are more unusual."""

    name: str
    scores: np.ndarray
    limit: float
    meaning: str


def detectors(rows, Z, seed):
    """All that can be run on the table."""
    from scipy.stats import chi2

    from mlreplica.covariance import EllipticEnvelope
    from mlreplica.ensemble import IsolationForest
    from mlreplica.neighbors import LocalOutlierFactor
    from mlreplica.outliers import IQR, ZScore

    numbers, _ = numeric(rows)
    n, p = numbers.shape
    found = []
    if p:
        z, fences = ZScore(robust=True, threshold=FAR).fit(numbers), IQR(threshold=3.0).fit(numbers)
        found.append(
            Detector("ZScore", -z.score_samples(numbers), FAR, "largest robust z-score of a column")
        )
        found.append(
            Detector("IQR", -fences.score_samples(numbers), 3.0, "boxes outside of the box")
        )
    forest = IsolationForest(n_estimators=200, random_state=seed).fit(Z)
    found.append(
        Detector(
            "IsolationForest", -forest.score_samples(Z), 0.6, "how soon random cuts isolate it"
        )
    )
    k = min(20, n - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copies of a row
        factor = -LocalOutlierFactor(k).fit(Z).negative_outlier_factor_
        found.append(
            Detector(
                "LocalOutlierFactor", np.minimum(factor, 1e6), 1.5, "thinner than its neighbours"
            )
        )
        kept = filled(numbers)[:, spread(numbers) > 0]
        if 1 < kept.shape[1] <= min(50, n // 5) and np.linalg.matrix_rank(kept) == kept.shape[1]:
            envelope = EllipticEnvelope(contamination=0.01, random_state=seed).fit(standard(kept))
            distance = np.sqrt(np.maximum(envelope.dist_, 0.0))
            usual = np.median(distance) / np.sqrt(chi2.ppf(0.5, kept.shape[1]))  # 1 if Gaussian
            limit = float(usual * np.sqrt(chi2.ppf(0.999, kept.shape[1])))
            found.append(Detector("EllipticEnvelope", distance, limit, "robust distance"))
    return found


def numeric(rows):
    """The columns of numbers, and their names."""
    at = [
        (j, str(name))
        for column, first in rows.used
        if column.kind != "category"
        for j, name in enumerate(column.features, start=first)
    ]
    return rows.X[:, [j for j, _ in at]], [name for _, name in at]


def robust_coordinates(rows):
    """The matrix that detectors of combinations see."""
    numbers, _ = numeric(rows)
    levels = rows._replace(columns=[c for c in rows.columns if c.kind == "category"])
    at = [first for column, first in rows.used if column.kind == "category"]
    parts = [np.clip(standard_or_zero(numbers), -CUT, CUT)] if numbers.shape[1] else []
    parts += [coordinates(levels._replace(X=rows.X[:, at]))] if at else []
    return np.column_stack(parts)


def filled(X):
    """Medians in the gaps; a column without values is 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        middle = np.nan_to_num(np.nanmedian(X, axis=0))
    return np.where(np.isnan(X), middle, X)


def spread(X):
    """Robust standard deviations of the columns."""
    from mlreplica.outliers import ZScore

    return ZScore(robust=True).fit(X).scale_ if X.shape[1] else np.zeros(0)


def standard(X):
    """The columns about their medians in robust units."""
    return (X - np.median(X, axis=0)) / spread(X)


def explore(rows, most=10, seed=0):
    """Everything the command says, as plain values but for arrays."""
    n = len(rows.X)
    if n < LEAST:
        raise CommandError(f"{rows.name} has {n} rows; outliers need {LEAST} at least.")
    Z = robust_coordinates(rows)
    found = detectors(rows, Z, seed)
    votes = sum((d.scores > d.limit).astype(int) for d in found)
    ranks = [np.argsort(np.argsort(d.scores, kind="stable")) / (n - 1) for d in found]
    strength = np.mean(ranks, axis=0)
    order = np.lexsort((-strength, -votes))
    agreed = int(np.sum(votes > len(found) / 2))
    speak = Reasons(rows)
    return {
        "data": rows.name,
        "rows": n,
        "columns": [{"name": c.name, "kind": c.kind, "note": c.why} for c in rows.columns],
        "detectors": [
            {
                "name": d.name,
                "meaning": d.meaning,
                "limit": d.limit,
                "rows": int(np.sum(d.scores > d.limit)),
            }
            for d in found
        ],
        "verdict": verdict(agreed, n, len(found)),
        "unusual": [
            {
                "row": int(i),
                "votes": int(votes[i]),
                "strength": float(strength[i]),
                "by": [d.name for d in found if d.scores[i] > d.limit],
                "reasons": speak.of(i),
            }
            for i in order[:most]
            if votes[i]
        ],
        "notes": rows.notes,
        "votes": votes,
        "strengths": strength,
        "scores": found,
        "plane": plane(Z),
        "order": order,
        "table": rows,
    }  # fmt: skip


def verdict(agreed, n, k):
    """One sentence."""
    if agreed == 0:
        return f"No row is unusual to more than half of {k} detectors."
    are = "row is" if agreed == 1 else "rows are"
    return (
        f"{agreed:,} of {n:,} {are} unusual to more than half of {k} detectors. Look at them "
        "before you decide: nothing was removed."
    )


class Reasons:
    """Sentences about what is unusual in a row: values, levels, and values given the others."""

    def __init__(self, rows):
        from mlreplica.outliers import ZScore

        self.rows = rows
        self.numbers, self.names = numeric(rows)
        if not self.names:
            return
        model = ZScore(robust=True).fit(self.numbers)
        self.z, self.middle = model.deviations(self.numbers), model.location_
        self.low, self.high = np.nanquantile(self.numbers, [0.05, 0.95], axis=0)
        self.given = expected(self.numbers)

    def of(self, i):
        """The strongest reasons, each a dict with a sentence."""
        found = [*self.values(i), *self.levels(i)]
        found = sorted((r for r in found if r["size"] >= 2.5), key=lambda r: -r["size"])
        if not found or found[0]["size"] < FAR:  # else the extreme value upsets all combinations
            found += sorted(self.combinations(i, found), key=lambda r: -r["size"])
        if not found:
            found = [
                {
                    "column": "",
                    "size": 0.0,
                    "text": "no single column is far out; several are slightly unusual",
                }
            ]
        return found[:SHOWN]

    def values(self, i):
        """Numbers far from the middle of their columns."""
        for j, name in enumerate(self.names):
            x, z = self.numbers[i, j], self.z[i, j]
            if np.isfinite(x):
                side = "above" if z > 0 else "below"
                text = (
                    f"{name} = {x:.4g}: {abs(z):.1f} robust deviations {side} the median "
                    f"{self.middle[j]:.4g} (90 % lie in {self.low[j]:.4g} to {self.high[j]:.4g})"
                )
                yield {"column": name, "size": float(abs(z)), "text": text}

    def levels(self, i):
        """Rare categories."""
        for column, at in self.rows.used:
            code = self.rows.X[i, at]
            if column.kind == "category" and np.isfinite(code):
                here = int(np.sum(self.rows.X[:, at] == code))
                share = here / len(self.rows.X)
                if share <= RARE:
                    level = column.levels[int(code)] if int(code) < len(column.levels) else "rare"
                    text = f"{column.name} = {level}: {here} of {len(self.rows.X):,} rows"
                    yield {
                        "column": column.name,
                        "size": 2.5 + float(-np.log10(share)),
                        "text": text,
                    }

    def combinations(self, i, known):
        """Numbers far from what the other columns make one expect."""
        if not self.names or self.given is None:
            return
        value, residual = self.given
        named = {reason["column"] for reason in known}
        for j, name in enumerate(self.names):
            if name not in named and np.isfinite(self.numbers[i, j]) and abs(residual[i, j]) >= FAR:
                text = (
                    f"{name} = {self.numbers[i, j]:.4g} does not go with the other columns, which "
                    f"make one expect {value[i, j]:.4g} ({residual[i, j]:+.1f} deviations)"
                )
                yield {"column": name, "size": float(abs(residual[i, j])), "text": text}


def expected(X):
    """Each entry as the others of its row predict it linearly, and how far it is from that.

    With d = x − m and the precision matrix P, x_j is (P d)_j / P_jj above its expectation.
    """
    from mlreplica.covariance import MinCovDet

    n, p = X.shape
    unit = spread(X)
    if not 1 < p <= min(50, n // 5) or (unit == 0).any():
        return None
    d = standard(filled(X))
    if np.linalg.matrix_rank(d) < p:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MinCovDet(random_state=0).fit(d)
    d = d - model.location_
    P = model.get_precision()
    above = d @ P / np.diag(P)
    return filled(X) - above * unit, above / spread(above)


def write_scores(path, found):
    """A .csv file with a line for each row, the most unusual first."""
    from .output import write_text

    names = [d.name for d in found["scores"]]
    lines = [",".join(["row", "votes", "strength", *names])]
    for i in found["order"]:
        values = [f"{d.scores[i]:.6g}" for d in found["scores"]]
        lines.append(f"{i},{found['votes'][i]},{found['strengths'][i]:.4f}," + ",".join(values))
    write_text(path, "\n".join(lines) + "\n")


def draw(found):
    """The pictures of the report."""
    from mlreplica.plotting import PALETTE

    from . import figures

    drawings, votes = [], found["votes"]
    rng = np.random.default_rng(0)
    some = rng.permutation(found["rows"])[:3000]
    top = [row["row"] for row in found["unusual"]]
    with figures.drawing(
        drawings, "plane", "The rows in a plane",
        "First two principal components; a larger circle is unusual to more detectors.",
    ) as ax:  # fmt: skip
        ax.plot(*found["plane"][some].T, ".", ms=3, color=PALETTE["muted"])
        for i in top:
            ax.plot(
                *found["plane"][i], "o", mfc="none", ms=4 + 2 * votes[i], color=PALETTE["orange"]
            )
            ax.annotate(str(i), found["plane"][i], xytext=(6, 4), textcoords="offset points")
        ax.set(xlabel="first component", ylabel="second component")
    X, names = numeric(found["table"])
    blamed = [
        r["column"] for row in found["unusual"] for r in row["reasons"] if r["column"] in names
    ]
    blamed = sorted(set(blamed), key=lambda name: -blamed.count(name))[:8]
    if blamed:
        text = "Columns that are to blame most often, in robust deviations; rows as numbered above."
        with figures.drawing(drawings, "columns", "Where they stand out", text) as ax:
            Z = standard_or_zero(X)
            for y, name in enumerate(reversed(blamed)):
                z = np.clip(Z[:, names.index(name)], -12, 12)
                ax.plot(
                    z[some],
                    y + rng.uniform(-0.2, 0.2, len(some)),
                    ".",
                    ms=2,
                    color=PALETTE["muted"],
                )
                ax.plot(z[top], np.full(len(top), y), "o", mfc="none", color=PALETTE["orange"])
            ax.set(xlabel="robust deviations from the median (cut at ±12)")
            ax.set_yticks(range(len(blamed)), [name[:24] for name in reversed(blamed)])
    return drawings


def standard_or_zero(X):
    """Robust z-scores; 0 where a column does not vary or a value is missing."""
    from mlreplica.outliers import ZScore

    return ZScore(robust=True).fit(X).deviations(X)


def write_report(path, found):
    """One HTML file."""
    from importlib.resources import files

    from jinja2 import Environment

    from mlreplica import __version__

    from .output import write_text

    folder = files("mlreplica.cli")
    shared = folder.joinpath("report.html.jinja").read_text(encoding="utf-8")
    css = shared[shared.index("<style>") : shared.index("</style>") + 8]
    page = folder.joinpath("outliers.html.jinja").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(page)
    write_text(
        path, template.render(found=found, drawings=draw(found), css=css, version=__version__)
    )


def show(found, console):
    """Print for a person."""
    from .show import grid_of, line

    for note in found["notes"]:
        line(console, note, "dim")
    grid = grid_of("detector", "unusual", "limit", "its number", right=("unusual", "limit"))
    for d in found["detectors"]:
        grid.add_row(d["name"], f"{d['rows']:,}", f"{d['limit']:.2g}", d["meaning"])
    console.print(grid)
    line(console, found["verdict"], "bold")
    k = len(found["detectors"])
    for row in found["unusual"]:
        line(console, f"row {row['row']}: {row['votes']} of {k} detectors ({', '.join(row['by'])})")
        for reason in row["reasons"]:
            line(console, f"  {reason['text']}", "dim")
    if found["unusual"]:
        line(console, "rows count from 0, below the header", "dim")


def plain(found):
    """The result without arrays, for programs."""
    left = ("votes", "strengths", "scores", "plane", "order", "table")
    return {k: v for k, v in found.items() if k not in left}
