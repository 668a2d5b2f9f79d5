r"""The smallest C for which a classifier with an L1 penalty uses a column at all

For labels s_i = ±1 and f = Xw + b, the minimum of

    ‖w‖₁ + C Σ_i loss(s_i f_i)                                                               (1)

is at w = 0 as long as no slope of the losses exceeds that of the penalty: C |loss′(0)| |Σ_i s_i x_ij| ≤ 1
for every column j. The slope at 0 is −2 for the squared hinge loss and −½ for the logistic loss, so

    C_min = 1 / (|loss′(0)| · max_j |Σ_i s_i x_ij|)                                          (2)

The maximum is also over the classes, each against the rest, and over the column of the intercept.
"""  # noqa: E501

from numbers import Real

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from mlreplica.core.compat import Interval, StrOptions, validate_params

SLOPE = {"squared_hinge": 2.0, "log": 0.5}  # |loss′(0)|


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "loss": [StrOptions(set(SLOPE))],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def l1_min_c(X, y, *, loss="squared_hinge", fit_intercept=True, intercept_scaling=1.0):
    """Return C_min of (2): below it, all weights of an L1-penalised classifier are zero.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their classes.
    loss : {"squared_hinge", "log"}, default="squared_hinge"
        The loss: that of `LinearSVC`, or of `LogisticRegression`.
    fit_intercept : bool, default=True
        Whether the model has an intercept, penalised like a weight.
    intercept_scaling : float, default=1.0
        The value of the column that stands for the intercept.

    Returns
    -------
    float
        C_min.

    Examples
    --------
    >>> from mlreplica.svm import l1_min_c
    >>> l1_min_c([[1.0, 0.0], [0.0, 4.0]], [0, 1])
    0.125
    """
    X = check_array(X, accept_sparse="csr")
    y = column_or_1d(y)
    check_consistent_length(X, y)
    classes, codes = np.unique(y, return_inverse=True)
    members = np.arange(len(classes))[-1 if len(classes) == 2 else 0 :, None]
    s = np.where(codes == members, 1.0, -1.0)  # a row of ±1 per class, or one for two classes
    top = np.abs(s @ X).max()
    if fit_intercept:
        top = max(top, intercept_scaling * np.abs(s.sum(axis=1)).max())
    if top == 0.0:
        raise ValueError(
            "Ill-posed l1_min_c calculation: every column has the same sum in both classes, so "
            "that all weights are zero for any C."
        )
    return float(1.0 / (SLOPE[loss] * top))
