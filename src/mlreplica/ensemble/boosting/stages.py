r"""Gradient boosting: steepest descent on the loss, with a tree for every step

    minimise over F:   J(F) = Σ_i w_i L(y_i, F(x_i)) / Σ_i w_i,     F = f_0 + ν Σ_m T_m       (1)

If every F(x_i) were free, the steepest way down would be along the pseudo-residuals

    r_i = −∂L(y_i, F)/∂F   at   F = F_{m−1}(x_i)                                              (2)

New rows need a step as well, so a tree is fitted to them by least squares (`core/growth/grow.py`):
it finds the leaves R_1, R_2, … in which the r_i are most alike. What a leaf adds is the best
constant for the loss itself, not the mean of the r_i, and of that only a part ν, the learning rate:

    γ_j = argmin over γ of  Σ_{i in R_j} w_i L(y_i, F_{m−1}(x_i) + γ)                         (3)
    F_m(x) = F_{m−1}(x) + ν γ_j   for x in R_j                                                (4)

Squared loss: γ_j is the mean of the r_i, what the tree has already. Absolute and quantile loss: the
median or quantile of y − F in the leaf. A loss of the user's: (3), by bisection of its slope.
Logistic, exponential and multinomial loss, with h the curvature of L: one Newton step

    γ_j = Σ w_i r_i / Σ w_i h_i     (times (K − 1)/K for K classes, one tree each)            (5)

Huber's loss takes its δ in every stage anew, the α-quantile of |y − F|, and the step

    γ_j = μ + mean of sign(e_i) min(δ, |e_i|),    e_i = y_i − F(x_i) − μ,   μ the median      (6)

A random part of the rows for each tree (subsample < 1) makes the trees differ, so that their noise
cancels; the loss of the rows left out is kept.

Friedman, Greedy function approximation: a gradient boosting machine (2001); Stochastic gradient
boosting (2002).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run
from mlreplica.core.formulas import constants as best
from mlreplica.core.formulas import losses
from mlreplica.core.growth.grow import grow

TINY = 1e-150  # a curvature below this is none: the leaf stays where it is
LEAF = -1
WORTH = 1 << 15  # entries of X from which a tree takes longer than threads wait for Python


class Stage(NamedTuple):
    """One stage: the losses after it, and its trees' gains, cuts and leaves."""

    loss: float
    validation_loss: float  # NaN without rows to validate on
    gain: np.ndarray  # of every tree: by how much it lowers the sum of squares of (2)
    features: np.ndarray  # of the nodes of the first tree, −2 at a leaf
    thresholds: np.ndarray
    values: np.ndarray  # ν γ_j at the leaves of the first tree, 0 elsewhere


class StageObjective:
    """A loss as boosting needs it: pseudo-residuals (2) and the values of leaves (3)."""

    def __init__(self, loss, n_scores=1, alpha=0.9, factor=1.0):
        self.adaptive = loss == "huber"  # its δ is another in every stage
        self.loss = losses.huber(1.0) if self.adaptive else loss
        self.n_scores, self.alpha, self.factor = n_scores, alpha, factor
        ours = self.loss.code >= 0 or n_scores > 1  # of another, one Newton step may go too far
        self.newton = ours and self.loss.hessian is not None and not self.adaptive

    def mean(self, y, f, w):
        """(1), times 2 where scikit-learn's scores are deviances; NaN of rows without weight."""
        if not w.any():
            return np.nan
        values = self.loss.value(y, f[:, 0] if self.n_scores == 1 else f)
        return self.factor * float(np.average(values, weights=w))

    def begin(self, y, f, w):
        """(2) and the curvatures, a row for each score."""
        if self.adaptive:
            delta = lower_quantile(np.abs(y - f[:, 0]), w, self.alpha)
            self.loss = losses.huber(max(delta, np.finfo(float).tiny))
        g, h = self.loss.derivatives(y, f[:, 0] if self.n_scores == 1 else f)
        shape = (len(f), self.n_scores)
        return -g.reshape(shape).T, h.reshape(shape).T

    def leaves(self, tree, leaf, y, f, r, h, w):
        """γ of every node: (3), (5) or (6) at the leaves, the mean of r elsewhere."""
        values = tree.value[:, 0, 0].copy()
        if self.loss is losses.squared:
            return values
        at = tree.children_left == LEAF
        if self.newton:
            above = np.bincount(leaf, w * r, minlength=len(values))[at]
            below = np.bincount(leaf, w * h, minlength=len(values))[at]
            share = (self.n_scores - 1) / self.n_scores if self.n_scores > 1 else 1.0
            curved = below > TINY
            values[at] = np.where(curved, share * above / np.where(curved, below, 1.0), 0.0)
            return values
        order = np.argsort(leaf, kind="stable")
        order = order[w[order] != 0.0]
        starts = np.searchsorted(leaf[order], np.flatnonzero(at))
        for j, rows in zip(np.flatnonzero(at), np.split(order, starts[1:]), strict=True):
            values[j] = self.best_step(y[rows], f[rows], w[rows])
        return values

    def best_step(self, y, f, w):
        """(3) in one leaf, or (6)."""
        if self.adaptive:
            middle, delta = lower_quantile(y - f, w, 0.5), self.loss.parameter
            clipped = np.clip(y - f - middle, -delta, delta)
            return middle + np.average(clipped, weights=w)
        if isinstance(self.loss.minimiser, best.Quantile):
            return lower_quantile(y - f, w, self.loss.minimiser.q)
        return best.bisection(lambda y, step: self.loss.gradient(y, f + step), y, w)


def lower_quantile(y, w, q):
    """The least y with at least a share q of the weight at or below it."""
    order = np.argsort(y)
    upto = np.cumsum(w[order])
    return float(y[order[min(np.searchsorted(upto, q * upto[-1]), len(y) - 1)]])


def fit_stage(columns, y, f, w, objective, rate, options, seeds, fit_tree=None):
    """One stage: a tree and its γ for each score, on threads; f moves in place (4)."""
    residuals, curvatures = objective.begin(y, f, w)
    weight = None if (w == 1.0).all() else w

    def fit(k):
        r, h = np.ascontiguousarray(residuals[k]), np.ascontiguousarray(curvatures[k])
        if fit_tree is None:
            tree, leaf = grow(columns, r, weight, seed=seeds[k], **options)
        else:
            tree, leaf = fit_tree(r, weight, seeds[k])
        absent = np.flatnonzero(leaf < 0)
        if len(absent):
            leaf[absent] = tree.apply(columns.X[:, absent].T)
        values = objective.leaves(tree, leaf, y, f[:, k].copy(), r, h, w)
        f[:, k] += rate * values[leaf]
        gain = tree.impurity * tree.weighted_n_node_samples
        gain = gain[0] - gain[tree.children_left == LEAF].sum()
        tree.value = values.reshape(-1, 1, 1)
        return tree, gain

    return run(fit, range(objective.n_scores), n_jobs=None if columns.X.size > WORTH else 1)


@kernel
def sample(draws, size, chosen):
    """Mark `size` rows, every set of that many being as likely."""
    n, taken = len(draws), 0
    for i in range(n):
        chosen[i] = draws[i] * (n - i) < size - taken
        taken += chosen[i]


def describe(trees, rate, loss, validation_loss):
    """The Stage that a recording keeps."""
    tree = trees[0][0]
    leaf = tree.children_left == LEAF
    return Stage(
        loss,
        validation_loss,
        np.array([gain for _, gain in trees]),
        tree.feature,
        tree.threshold,
        np.where(leaf, rate * tree.value[:, 0, 0], 0.0),
    )
