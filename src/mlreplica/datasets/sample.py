"""What every generator with a known truth returns, and the points that its integrals use"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc


class Sample(NamedTuple):
    """Data with the truth that made it: `X, y, truth = make_…(…)`."""

    X: np.ndarray
    y: np.ndarray
    truth: Any


def normal_points(m, d):
    """2^m points of R^d, spread evenly under the standard normal: the same ones at every call."""
    u = qmc.Sobol(d, scramble=False).random_base2(m)  # multiples of 2^−m, 0 among them
    return ndtri(u + 0.5 ** (m + 1))
