r"""Deviances: how far a mean is from what was seen, if variances grow like powers of the mean

A distribution of the Tweedie family has Var y = φ μᵖ. Twice the distance of its log-likelihood from
the best possible one, in units of φ, is the deviance of y from the mean μ,

    d(y, μ) = 2 ( y^{2−p} / ((1−p)(2−p)) − y μ^{1−p} / (1−p) + μ^{2−p} / (2−p) )          (1)

with the limits

    p = 0, normal:    (y − μ)²
    p = 1, Poisson:   2 (y log(y/μ) − y + μ)
    p = 2, gamma:     2 (log(μ/y) + y/μ − 1)                                                (2)

For p < 0 the first term of (1) is that of max(y, 0). There is no distribution for 0 < p < 1.

Jørgensen, The theory of dispersion models (1997).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy


def deviances(y: Any, mean: Any, power: float) -> Any:
    """d(y, μ) of (1) and (2), one per entry.

    >>> deviances(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 1.0).round(4)
    array([0.    , 0.7726])
    """
    p = float(power)
    if p == 0.0:
        return (y - mean) ** 2
    if p == 1.0:
        return 2.0 * (xlogy(y, y / mean) - y + mean)
    if p == 2.0:
        return 2.0 * (np.log(mean / y) + y / mean - 1.0)
    own = np.power(np.maximum(y, 0.0) if p < 0 else y, 2.0 - p) / ((1.0 - p) * (2.0 - p))
    cross = y * np.power(mean, 1.0 - p) / (1.0 - p)
    return 2.0 * (own - cross + np.power(mean, 2.0 - p) / (2.0 - p))
