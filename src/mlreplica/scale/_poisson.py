"""Poisson regression by Newton's method on sums: as `_logistic.py`, with the solver of
`linear_model/robust/poisson.py`"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.rows.moments import Moments
from mlreplica.core.rows.walk import Rows as Frame
from mlreplica.linear_model.robust.mean_regressor import check_amounts
from mlreplica.linear_model.robust.poisson import TINY, Counts

from ._blocks import Block, dense
from ._rows import Rows


def count_moments(block: Block) -> Moments:
    """The moments of [X y]."""
    X, y, s = dense(block, target=True)
    if y.ndim != 1:
        raise ValueError(f"y must be one count per row, got {y.ndim} dimensions.")
    check_amounts(y, power=1.0, log=True)
    return Moments.of(np.column_stack([X, y]).astype(np.float64), s)


@np.errstate(over="ignore", invalid="ignore")
def count_sums(block: Block, v: Any, x0: Any, intercept: bool, unit: float, total: float) -> Any:
    """The PoissonSums of the block at v."""
    X, y, s = dense(block)
    s = np.ones(len(X)) if s is None else s
    if not s.all():
        X, y, s = X[s > 0], y[s > 0], s[s > 0]
    if not len(X):
        return None
    rows = Frame(np.asarray(X, dtype=np.float64), x0, intercept)
    return Counts(rows, y.astype(np.float64) / unit, s / total, 0.0).sums(v)._replace(f=None)


class StreamedCounts(Counts):
    """Problem (1) over the rows of a source; scores are named by the v that makes them."""

    def of_source(self, source: Rows, m: Moments, unit: float) -> StreamedCounts:
        """With the source, and what its moments tell."""
        self.source, self.m, self.unit = source, m, unit
        return self

    def toward(self) -> Any:
        """Σ s_i y_i z_i, from the products of x and y about their means."""
        m, y_mean = self.m, self.m.mean[-1]
        sums = m.S[:-1, -1] / m.n + y_mean * (m.mean[:-1] - self.rows.x0)
        return (np.append(y_mean, sums) if self.rows.intercept else sums) / self.unit

    def start(self) -> Any:
        """w = 0 and the best b for it."""
        v = np.zeros(self.rows.k)
        if self.rows.intercept:
            v[0] = np.log(self.m.mean[-1] / self.unit)
        return v

    def scores(self, v: Any) -> Any:
        """v."""
        return v

    def sums(self, v: Any) -> Any:
        """The PoissonSums at v."""
        rows = self.rows
        return self.source.sum(count_sums, v, rows.x0, rows.intercept, self.unit, self.m.n)

    def along(self, f: Any, q: Any, v: Any, step: Any, t: float) -> float:
        """P at v − t·step."""
        u = v - t * step
        mean, cross, *_ = self.sums(u)
        return mean - cross + 0.5 * (self.penalty @ u**2)


def fit_poisson(model: Any, rows: Rows) -> None:
    """PoissonRegressor."""
    m = rows.sum(count_moments)
    if not m.n > 0.0:
        raise ValueError("all sample_weight are zero; give some row a positive weight.")
    p, mean = rows.width, float(m.mean[-1])
    if mean == 0.0 and model.fit_intercept:
        model._publish(rows, np.zeros(p), np.log(TINY), TINY, 0)
        return
    unit = mean if model.fit_intercept else 1.0
    x0 = m.mean[:p] if model.fit_intercept else np.zeros(p)
    frame = Frame(np.empty((0, p)), x0, model.fit_intercept)
    if not frame.direct:
        raise ValueError(f"{p} columns need a Hessian too large; fit in memory.")
    problem = StreamedCounts(frame, None, None, model.alpha / unit).of_source(rows, m, unit)
    model._solve(problem, mean, unit, rows)
