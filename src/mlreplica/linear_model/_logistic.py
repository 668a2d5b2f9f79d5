r"""Logistic regression: the problem that every solver of it takes and the state that it yields

With weights s_i > 0 of the rows, Σ s_i = 1, and scores f_i = W x_i + b,

    minimise over W, b:   P(W, b) = Σ s_i L(y_i, f_i) + l1 ‖W‖₁ + l2/2 ‖W‖²                  (1)

    L(y, f) = log(1 + e^{−yf}),  y ∈ {−1, +1}, f ∈ ℝ        (two classes: one row W, K = 1)
    L(y, f) = log Σ_k e^{f_k} − f_y,  y ∈ {0 … K−1}, f ∈ ℝ^K

scikit-learn's C is in l1 = ρ/(C S) and l2 = (1 − ρ)/(C S), S the sum of the weights as given and
ρ its `l1_ratio`: its objective is (1) times C S.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Problem(NamedTuple):
    """What (1) is made of; nothing in it changes while a solver runs."""

    X: Any  # (n, p): float64 array, C or F contiguous, or CSR/CSC with float64 data
    y: np.ndarray  # (n,): −1.0 or +1.0 if K = 1, otherwise int64 codes 0 … K − 1
    s: np.ndarray  # (n,): float64, > 0, sums to one
    l1: float
    l2: float
    intercept: bool  # whether b is free (never penalised); otherwise b = 0
    K: int  # rows of W: 1 for two classes, otherwise the number of classes
    n_jobs: int | None = None


class State(NamedTuple):
    """Where a solver is."""

    W: np.ndarray  # (K, p)
    b: np.ndarray  # (K,)
    objective: float
    gap: float  # an upper bound on P(W, b) − min P
    residual: float = np.inf  # what the solvers of smooth problems stop by
