"""What LinearSVC and LinearSVR share: which solver, when it ends, what is refused"""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import iterate
from mlreplica.core.validation import refuse_overflow

from ._linear import FINEST
from ._linear_dcd import dual_coordinate_descent
from ._linear_newton import newton

NARROW = 1500  # columns up to which Newton's method may be the faster one
TINY = 64  # columns up to which it is, whatever n
SMALL = 1 << 22  # entries up to which a sparse X of few columns is made dense: that is faster
PRIMAL = {  # whether dual=False and dual=True are taken, by loss and penalty, as in LIBLINEAR
    ("hinge", "l2"): (False, True),
    ("squared_hinge", "l1"): (True, False),
    ("squared_hinge", "l2"): (True, True),
    ("epsilon_insensitive", "l2"): (False, True),
    ("squared_epsilon_insensitive", "l2"): (True, True),
}


def in_primal(dual, loss, penalty, X):
    """Refuse what LIBLINEAR has no solver for, in scikit-learn's words."""
    said = None
    if (loss, penalty) not in PRIMAL:
        said = f"The combination of penalty='{penalty}' and loss='{loss}' is not supported"
        dual = dual if dual != "auto" else X.shape[0] >= X.shape[1]
    elif dual != "auto" and not PRIMAL[loss, penalty][bool(dual)]:
        said = (
            f"The combination of penalty='{penalty}' and loss='{loss}' are not supported "
            f"when dual={dual}"
        )
    if said:
        raise ValueError(
            f"Unsupported set of arguments: {said}, Parameters: penalty={penalty!r}, "
            f"loss={loss!r}, dual={dual!r}"
        )


def prepared(X, y, c, solver):
    """X, y and c without the rows that weigh nothing; a small narrow sparse X dense."""
    heavy = c > 0.0
    if not heavy.all():
        if not heavy.any():
            raise ValueError("Every row has a weight of 0; nothing is left to fit.")
        X, y, c = X[heavy], y[heavy], c[heavy]
    n, p = X.shape
    if sp.issparse(X) and solver != "dcd" and p <= NARROW and n * p <= SMALL:
        X = X.toarray()
    return X, y, c


def quadratic(model, problem, rng):
    """The generator for an L2 penalty, and the tolerance it runs to.

    Newton's last step on a squared loss is exact and costs no more than the others: it is taken.
    """
    (n, p), squared = problem.X.shape, bool(problem.lam.all())
    tall = p <= TINY or (n >= (1 if squared else 4) * p and p <= NARROW)
    if model.solver == "newton" or (model.solver == "auto" and tall):
        return newton(problem), FINEST if squared else max(model.tol, FINEST)
    return dual_coordinate_descent(problem, rng), max(model.tol, FINEST)


def converge(model, solver, tol, X, y, attributes):
    """Run to the end and set `attributes(W)`, W having a row a problem, and `certificate_`."""
    most = max(model.max_iter, 1)

    def publish(state):
        return attributes(np.atleast_2d(state.w)) | {"certificate_": float(state.gap)}

    with one_blas_thread():  # products of moderate size: threads would cost more than they gain
        last = iterate(
            model, solver, max_iter=most, tol=tol, watch="error", unit="iterations", advice=None,
            publish=publish, X=X, y=y,
        )  # fmt: skip
    refuse_overflow(model, coef_=last.w)
    vars(model).update(publish(last))
    if model.n_iter_ >= model.max_iter and last.error > max(tol, model.tol):
        warnings.warn(
            "Liblinear failed to converge, increase the number of iterations. After "
            f"{model.n_iter_} of them the objective may be {last.gap:.1e} above its minimum, a "
            f"share of {last.error**2:.1e}, with {tol**2:.1e} asked for; or scale X, or lower C.",
            ConvergenceWarning,
            stacklevel=3,
        )
