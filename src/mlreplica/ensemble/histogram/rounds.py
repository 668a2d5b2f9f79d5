r"""Second-order boosting on binned rows: the rounds (equations go on from `histograms.py`)

With f the scores so far, η the learning rate, a round

    g_i = w_i ∂L(y_i, f_i)/∂f,   h_i = w_i ∂²L(y_i, f_i)/∂f²,   f ← f + η · tree(g, h)          (5)

adds the tree that lowers the second-order expansion (1) of `histograms.py` most (greedily). It is a
step of Newton's method in the space of functions. K classes have K scores a row, hence K trees a
round, which grow side by side.

A loss without curvature (the absolute error, quantiles) is given h = w, which is gradient descent,
and the values of the leaves are then replaced by η times the best constant of their residuals.

A loss of the user's own enters here, as arrays g and h; the kernels never see any loss.
"""

import functools
from typing import NamedTuple

import numpy as np

from mlreplica import losses
from mlreplica.core.compile import crew
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.loss_formulas import exp_value

from .grow import (
    BEST,
    CLASS,
    DEPTH,
    END,
    LEFT,
    LIMITS,
    MISSING,
    ROWS,
    SPLIT_ON,
    START,
    STRETCHES,
    TABLE,
    UP_TO,
    VALUE,
    WORDS,
    WORTH,
    Work,
    grow,
)
from .histograms import LEAST_H, SPLIT, UNIT_G, UNIT_H, magnitudes, pack
from .predict import HistTree

BLOCK = 8192  # rows whose slopes are computed at a time
SMALL = 40_000  # rows: fewer are not worth waking threads for a pass
ROOM = 1 << 25  # numbers in all histograms that are kept: 256 MB
REPEATED = 1 << 24  # the most rows that whole weights may stand for
LEAST = 1e-3  # of H in a leaf


def gamma_value(y, f):
    """Half the deviance of a gamma distribution with mean e^f, but for what f does not change."""
    return f + y * exp_value(-f)


def gamma_gradient(y, f):
    """1 − y e^−f"""
    return 1.0 - y * exp_value(-f)


def gamma_hessian(y, f):
    """y e^−f"""
    return y * exp_value(-f)


gamma = losses.Loss(
    gamma_value, gamma_gradient, gamma_hessian, name="gamma", target="count",
    inverse_link=exp_value, minimiser=losses.poisson.minimiser,
)  # fmt: skip


class Options(NamedTuple):
    """How trees are grown."""

    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    min_split_gain: float
    max_features: float
    growth: str
    groups: np.ndarray  # (groups, p) uint8
    notes: bool  # keep the gain of every split


class BoostingProblem(NamedTuple):
    """What is to be learned: binned rows, targets, weights and a loss."""

    codes: tuple
    columns: np.ndarray  # (p, 7) int64
    edges: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    loss: losses.Loss


def slopes(problem, f, g, h, rows):
    """Write g and h of (5) for some rows; Σ|g|, Σ h and the smallest h of each class."""
    loss, weight = problem.loss, problem.weight
    constant = loss.hessian is None or loss.code == losses.huber().code
    total = np.tile([0.0, 0.0, np.inf], (g.shape[1], 1))
    for start in range(rows.start, rows.stop, BLOCK):
        i = slice(start, min(start + BLOCK, rows.stop))
        y_i = problem.y[i]
        f_i, g_i, h_i = (a[i] if loss.target == "class" else a[i, 0] for a in (f, g, h))
        if loss.fused is not None:
            loss.fused(y_i, f_i, g_i, h_i)
        else:
            # at a kink the slope to its left, as scikit-learn takes it
            at = f_i if loss.differentiable else np.nextafter(f_i, -np.inf)
            g_i[...] = loss.gradient(y_i, at)
            h_i[...] = curvature(loss) if constant else loss.hessian(y_i, f_i)
        if weight is not None:
            g[i] *= weight[i, None]
            h[i] *= weight[i, None]
        for k in range(g.shape[1]):
            total[k] = together(total[k], magnitudes(g[i, k], h[i, k]))
    return total


def together(a, b):
    """Two sums and a minimum of two sets of rows, from those of each."""
    a, b = np.asarray(a), np.asarray(b)
    return np.concatenate([a[..., :2] + b[..., :2], np.minimum(a[..., 2:], b[..., 2:])], axis=-1)


def curvature(loss):
    """What stands for h where a loss has none, or one that vanishes: its bound, or 1."""
    return loss.curvature if loss.differentiable and np.isfinite(loss.curvature) else 1.0


def best_constant(loss, y, weight):
    """The constant of least loss; a quantile of rows of equal weight is interpolated."""
    if weight is None and loss.code == losses.quantile().code:
        return np.quantile(y, loss.parameter)
    return loss.best_constant(y, weight)


def scale(total, room):
    """The largest power of two that keeps scale · total + (a unit a row) below `room`."""
    return 1.0 if not total > 0.0 else 2.0 ** np.floor(np.log2(room / total))


class Booster:
    """The memory of a fit: scores, slopes and what trees need; `round` grows the next trees."""

    def __init__(self, problem, options, f, rng):
        self.problem, self.options, self.rng = problem, options, rng
        n, K = f.shape
        p, least = len(problem.columns), options.min_samples_leaf
        self.state = np.zeros((3, n * K))
        self.g, self.h, self.f = self.state.reshape(3, n, K)
        self.f[:] = f
        self.threads = n_threads()
        weight = problem.weight
        whole = weight is not None and weight.sum() < REPEATED and (weight % 1.0 == 0.0).all()
        self.repeats = weight if whole else np.zeros(0)
        # several classes: a tree for each thread; one: all threads for the tree
        self.side_by_side = K > 1 and self.threads > 1 and n > 2000
        leaves = min(options.max_leaf_nodes or n, max(1, n // least))
        if options.max_depth is not None and options.max_depth < 40:
            leaves = min(leaves, 2**options.max_depth)
        self.leaves = max(leaves, 1)
        copies = min(K, self.threads) if self.side_by_side else 1
        self.memory = [self._work(n, p) for _ in range(copies)]

    def _work(self, n, p):
        """`Work` for one tree at a time."""
        problem, options = self.problem, self.options
        words, blocks, _ = problem.codes
        N, size = 2 * self.leaves - 1, 1024 * int(blocks[:, 1].sum())
        slots = int(max(2, min(self.leaves, ROOM // size)))
        categories, groups = int(problem.columns[:, 2].any()), options.groups
        self.limits = [
            self.leaves, options.max_depth or 0, options.growth == "depth", slots,
            self.f.shape[1], 0, problem.loss.differentiable,
            1 if self.side_by_side else min(2 * self.threads, STRETCHES),
        ]  # fmt: skip
        return Work(
            words=words,
            blocks=blocks,
            columns=problem.columns,
            q=np.empty(n, np.int64),
            state=self.state,
            rows=np.empty((2, n), np.int32),
            hist=np.empty((slots + 2, size), np.int64),
            counts=np.zeros(256, np.int64),
            bests=np.zeros((p, SPLIT + 1)),
            nodes=np.zeros((N + 2, 11), np.int64),
            sums=np.zeros((N, BEST + SPLIT)),
            scratch=np.zeros((len(blocks) + 1, 7, 256)),
            tables=np.zeros((1 + categories * (self.leaves - 1), 256), np.uint8),
            mask=np.concatenate([np.ones((2, p), np.uint8), groups]),
            active=np.zeros((N if len(groups) else 1, len(groups)), np.uint8),
            keys=np.zeros((0, p)),
            notes=np.zeros((N, p, 256) if options.notes else (0, 0, 0)),
            rules=np.array(
                [options.l2_regularization, options.min_samples_leaf, LEAST,
                 2.0 * options.min_split_gain, 1.0, 1.0, options.learning_rate,
                 options.max_features],
            ),
        )  # fmt: skip

    def round(self):
        """One tree for each class, added to the scores; the gains of all splits, if kept."""
        n, K = self.f.shape
        parts = split(n, self.threads, least=SMALL)
        found = run(lambda rows: slopes(self.problem, self.f, self.g, self.h, rows), parts)
        total = functools.reduce(together, found)
        if not np.isfinite(total).all():
            raise ValueError(
                "the slopes of the loss are too large for their sum to be finite; scale y."
            )
        share = self.options.max_features
        shape = (min(2 * self.leaves - 1, 4096), len(self.problem.columns))
        keys = [self.rng.random(shape) if share < 1.0 else None for _ in range(K)]
        if not self.side_by_side:
            return [self._tree(self.memory[0], k, total[k], keys[k]) for k in range(K)]
        free = list(self.memory)

        def one(k):
            work = free.pop()
            try:
                return self._tree(work, k, total[k], keys[k])
            finally:
                free.append(work)

        return run(one, range(K))

    def _tree(self, work, k, total, keys):
        """Grow the tree of class k."""
        n, K = self.f.shape
        count = self.repeats.sum() if len(self.repeats) else n
        # every row may be rounded up by one unit
        s_g, s_h = scale(total[0], 2.0**31 - count - 1), scale(total[1], 2.0**32 - count - 1)
        work.rules[UNIT_G], work.rules[UNIT_H] = 1.0 / s_g, 1.0 / s_h
        # no side with enough rows has less; half a row is for rounding of their sum
        enough = self.options.min_samples_leaf
        work.rules[LEAST_H] = max(LEAST, (enough - 0.5) * total[2] - enough / s_h)
        work = work if keys is None else work._replace(keys=keys)
        parts = split(n, 1 if self.side_by_side else self.threads, least=SMALL)
        slopes = *work.state[:2], self.repeats
        run(lambda i: pack(*slopes, K, k, i.start, i.stop, s_g, s_h, work.q), parts)
        if len(work.notes):
            work.notes[:] = 0.0
        shared = crew.new_crew(WORDS)
        shared[LIMITS : LIMITS + len(self.limits)] = self.limits
        shared[LIMITS + CLASS] = k
        if self.side_by_side or n * len(work.columns) < 20_000:
            nodes, tables = grow(shared, True, work)
        else:
            nodes, tables = crew.run_crew(grow, shared, (work,))
        if not self.problem.loss.differentiable:
            self._refit(work, nodes, k)
        return self._publish(work, nodes, tables), work.notes[:nodes].copy()

    def _refit(self, work, nodes, k):
        """Values of leaves from the best constant of the residuals."""
        loss, weight, y = self.problem.loss, self.problem.weight, self.problem.y
        for leaf in np.flatnonzero(work.nodes[:nodes, SPLIT_ON] < 0):
            rows = work.rows[0, work.nodes[leaf, START] : work.nodes[leaf, END]]
            w = None if weight is None else weight[rows]
            if leaf == 0 or (w is not None and not w.any()):
                work.sums[leaf, VALUE] = 0.0
                continue
            step = best_constant(loss, y[rows] - self.f[rows, k], w)
            work.sums[leaf, VALUE] = step * self.options.learning_rate
            self.f[rows, k] += work.sums[leaf, VALUE]

    def _publish(self, work, nodes, tables):
        """The tree as arrays of its own."""
        node, sums = work.nodes[:nodes], work.sums[:nodes]
        column, leaf = node[:, SPLIT_ON].astype(np.int32), node[:, SPLIT_ON] < 0
        threshold = self.problem.edges[column, np.maximum(node[:, UP_TO] - 1, 0)]
        test = np.where(leaf[:, None], 0, node)  # a leaf has none, only what was there before it
        return HistTree(
            column,
            np.where(leaf, np.inf, threshold),
            test[:, UP_TO].astype(np.uint8),
            test[:, LEFT].astype(np.int32),
            test[:, MISSING].astype(np.uint8),
            sums[:, VALUE].copy(),
            sums[:, WORTH].copy(),
            sums[:, ROWS].astype(np.int64),
            node[:, DEPTH].astype(np.int32),
            node[:, TABLE].astype(np.int32),
            work.tables[1 : 1 + tables].copy(),
        )
