"""Paths: the lasso and the elastic net at one α, or at many of them, each from the one before"""

import warnings
from collections import deque
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from mlreplica.core.compat import (
    Hidden,
    Interval,
    StrOptions,
    validate_params,
)
from mlreplica.core.validation import FLOATS

from .coordinate_descent import coordinate_descent, duality_gap, largest, subgradient_descent
from .problem import LassoProblem, checked_gram
from .working_set import SHARP, violators, working_sets

AHEAD = 8  # α solved before all columns are asked
CLOSE = 0.9  # a column joins before it is asked, if its |g| will be this part of α


class PathPoint(NamedTuple):
    """One point of a path."""

    w: np.ndarray
    gap: float
    steps: int


def descent(problem, k, alpha, beta, w, *, tol, max_iter, positive, solver="auto", rng=None):
    """Yield the State of target k at one α until its gap is small or max_iter steps are done.

    Plain sweeps must also have come to rest, as in scikit-learn: no weight moves by more than
    tol·max|w|. They also take over where the others end too early, too large or ill-conditioned.
    """
    y, enough, before = problem.y[k], tolerance(problem, k, tol), 0
    if solver == "auto" and rng is None and (alpha > 0.0 or problem.whole):
        options = {"positive": positive, "enough": enough}
        work, large = problem.working_set(k), None
        work.full = np.count_nonzero(w) > problem.most
        if not work.full:
            for state in working_sets(work, alpha, beta, w, **options, most=max_iter):
                yield state
            before, unsure = state.sweeps, work.blur()
        if work.full and before < max_iter and (large := problem.large_set(k, w)):
            for state in large.states(alpha, beta, **options, most=max_iter - before):
                yield state._replace(sweeps=before + state.sweeps)
            before, unsure = before + state.sweeps, large.blur()
        full = work.full and not large
        if before >= max_iter or not (full or state.gap > max(enough, 2.0 * unsure)):
            return
    if solver == "subgradient":
        states = subgradient_descent(problem.A, y, alpha, beta, w, positive=positive)
    else:
        states = coordinate_descent(problem.A, y, alpha, beta, w, positive=positive, rng=rng)
    w_old = w.copy()
    for state in states:
        yield state._replace(sweeps=before + state.sweeps)
        step, w_old = np.abs(state.w - w_old).max(initial=0.0), state.w.copy()
        done = state.gap <= enough and step <= tol * np.abs(state.w).max(initial=0.0)
        if done or before + state.sweeps >= max_iter:
            return


def follow(problem, k, penalties, w, *, tol, max_iter, positive):
    """Yield the PathPoint of every (α, β) in turn, the largest first, starting from w."""
    work, enough, done = problem.working_set(k), tolerance(problem, k, tol), 0
    if np.count_nonzero(w) <= problem.most:
        work.start(w)
        way = look_over if problem.whole else look_ahead
        for point in way(problem, k, work, penalties, enough, max_iter, positive):
            yield point
            done += 1
        w = work.everywhere()
    large = problem.large_set(k, w) if done < len(penalties) else None
    for alpha, beta in penalties[done:]:
        if large:
            states = large.states(alpha, beta, positive=positive, enough=enough, most=max_iter)
        else:
            options = {"tol": tol, "max_iter": max_iter, "positive": positive}
            states = descent(problem, k, alpha, beta, w, solver="cd", **options)
        state = last(states)
        yield PathPoint(w.copy(), state.gap, state.sweeps)


def look_over(problem, k, work, penalties, enough, max_iter, positive):
    """`follow` where G is known for all columns."""
    for alpha, beta in penalties:
        steps = work.solve(alpha, beta, positive, SHARP * enough, max_iter, patience=0)
        work.refresh()
        yield PathPoint(work.w.copy(), work.gap(alpha, beta, positive)[1] + work.blur(), steps)


def look_ahead(problem, k, work, penalties, enough, max_iter, positive):
    """`follow` where columns are asked by the block, as `working_set.py` explains.

    It ends early where G would become too large.
    """
    y, n, size, done = problem.y[k], problem.y.shape[1], 1, 0
    known = [(None, problem.c[k])]  # (α, u) at the last points
    spent = np.zeros(len(penalties), dtype=int)
    while done < len(penalties):
        block = penalties[done : done + size]
        ask = candidates(known, work, block[-1][0], positive)
        if len(work.W) + len(ask) > problem.most:
            return
        work.add(ask)
        trials = []
        for i, (alpha, beta) in enumerate(block, start=done):
            spent[i] += work.solve(alpha, beta, positive, SHARP * enough, max_iter, patience=0)
            trials.append((work.w.copy(), work.u.copy(), work.residual()))
        U = problem.A.gradient(np.array([r for _, _, r in trials]))
        first = done
        for (alpha, beta), (w_W, u_W, r), u in zip(block, trials, U, strict=True):
            w = np.zeros(len(u))
            w[work.W] = w_W
            gap, *_ = duality_gap(r @ r / n, r @ y / n, u, w, alpha, beta, positive)
            new = violators(u - beta * w, work.W, alpha, positive, max(50, work.support()))
            if gap > enough and len(new) and spent[done] < max_iter:
                work.w, work.u = w_W, u_W  # back to the first point that failed
                work.add(new)
                break
            yield PathPoint(w, gap, int(spent[done]))
            known = [*known, (alpha, u)][-2:]
            done += 1
        size = min(AHEAD, 2 * size) if done - first == len(block) else max(1, done - first)


def candidates(known, work, alpha, positive):
    """The columns that may be needed at α, by (13) of `working_set.py`."""
    (before, u_old), (last, u) = known[0], known[-1]
    if before is not None and before > last:
        u = u + (u - u_old) * ((last - alpha) / (before - last))
    return violators(u, work.W, CLOSE * alpha, positive, max(50, work.support()))


def last(states):
    """Drive a solver to its end; the last State."""
    return deque(states, maxlen=1).pop()


def tolerance(problem, k, tol):
    """The gap to reach: tol·‖y‖²/n, but not less than rounding lets one see."""
    return max(tol, 4e-16) * float(problem.size[k]) if tol > 0.0 else 0.0


def alpha_grid(problem, k, l1_ratio, eps, count, positive):
    """α_max, from which on w = 0, down to eps·α_max in equal ratios."""
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    return geometric(largest(problem.c[k], positive) / l1_ratio, eps, count)


def geometric(top, eps, count):
    """`count` numbers from `top` down to eps·top in equal ratios."""
    if top <= np.finfo(float).resolution:
        return np.full(count, np.finfo(float).resolution)
    return np.geomspace(top, top * eps, num=count)


def points(problem, k, alphas, l1_ratio, w, *, tol, max_iter, positive, rng=None):
    """Yield the PathPoint of every α for `l1_ratio`; warn of those that did not converge."""
    penalties = [(float(a) * l1_ratio, float(a) * (1.0 - l1_ratio)) for a in alphas]
    options = {"tol": tol, "max_iter": max_iter, "positive": positive}
    together = [a for a, _ in penalties if a > 0.0] if rng is None else []
    enough = tolerance(problem, k, tol)
    found = follow(problem, k, penalties[: len(together)], w, **options)
    for i in range(len(penalties)):
        point = next(found) if i < len(together) else PathPoint(w, np.inf, 0)
        if point.gap > enough and point.steps < max_iter:
            # no L1 penalty, random order, or G has too few digits for this gap
            w = point.w
            state = last(descent(problem, k, *penalties[i], w, rng=rng, **options))
            point = PathPoint(w.copy(), state.gap, state.sweeps)
        w = point.w.copy()
        if point.gap > enough:
            warn_of(point.gap, enough, penalties[i][0])
        yield point


def warn_of(gap, enough, alpha):
    """Say that the gap is not what was asked for."""
    message = (
        "Objective did not converge. You might want to increase the number of iterations, check "
        "the scale of the features or consider increasing regularisation. Duality gap: "
        f"{gap:.3e}, tolerance: {enough:.3e}"
    )
    if alpha < np.finfo(float).eps:
        message += (
            "\nLinear regression models with a zero l1 penalization strength are more efficiently "
            "fitted using one of the solvers implemented in Ridge/RidgeCV instead."
        )
    warnings.warn(message, ConvergenceWarning, stacklevel=4)


PATH = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like", "sparse matrix"],
    "eps": [Interval(Real, 0, None, closed="neither")],
    "n_alphas": [Interval(Integral, 1, None, closed="left"), Hidden(StrOptions({"deprecated"}))],
    "alphas": [
        Interval(Integral, 1, None, closed="left"),
        "array-like",
        None,
        Hidden(StrOptions({"warn"})),
    ],
    "precompute": [StrOptions({"auto"}), "boolean", "array-like"],
    "Xy": ["array-like", None],
    "copy_X": ["boolean"],
    "coef_init": ["array-like", None],
    "verbose": ["verbose"],
    "return_n_iter": ["boolean"],
    "positive": ["boolean"],
}


@validate_params(
    {**PATH, "l1_ratio": [Interval(Real, 0, 1, closed="both")], "check_input": ["boolean"]},
    prefer_skip_nested_validation=True,
)
def enet_path(
    X,
    y,
    *,
    l1_ratio=0.5,
    eps=1e-3,
    n_alphas="deprecated",
    alphas="warn",
    precompute="auto",
    Xy=None,
    copy_X=True,
    coef_init=None,
    verbose=False,
    return_n_iter=False,
    positive=False,
    check_input=True,
    **params,
):
    """The elastic net at many α, without an intercept.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; centre X and y first where an intercept is wanted.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets. With two dimensions this is the multi-task problem, whose penalty groups the
        weights of a column over all targets. That is another model than the one of this module, and
        without an estimator here, so the call is handed on to scikit-learn as it is.
    l1_ratio : float, default=0.5
        Share of the L1 penalty, from 0 to 1.
    eps : float, default=1e-3
        The smallest α, as a part of the largest, if `alphas` is a number.
    n_alphas : int
        Deprecated as in scikit-learn: pass the number as `alphas`.
    alphas : int or array-like, default=100
        The values of α, or how many. They are taken from the largest to the smallest.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        Whether to work on the whole Gram matrix, or this matrix.
    Xy : array-like of shape (n_features,), default=None
        Without effect: Xᵀy costs nothing beside the path.
    copy_X : bool, default=True
        Without effect: X is never written to.
    coef_init : array-like of shape (n_features,), default=None
        Where to start.
    verbose : bool or int, default=False
        Without effect.
    return_n_iter : bool, default=False
        Whether to return `n_iters`.
    positive : bool, default=False
        Ask for w ≥ 0.
    check_input : bool, default=True
        Without effect: the checks cost nothing beside the path.
    **params
        tol (1e-4), max_iter (1000), selection ("cyclic"), random_state, sample_weight, and as
        scikit-learn passes them on X_offset, X_scale and do_screening.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
    coefs : ndarray of shape (n_features, n_alphas)
    dual_gaps : ndarray of shape (n_alphas,)
        Each an upper bound on the distance of the objective from its minimum.
    n_iters : list of int
        Sweeps and Newton steps; only with `return_n_iter`.

    Examples
    --------
    >>> from mlreplica.linear_model import enet_path
    >>> X, y = [[-1.0, 2.0], [0.0, -1.0], [1.0, -1.0]], [-1.0, 0.0, 1.0]
    >>> alphas, coefs, gaps = enet_path(X, y, alphas=[0.5, 0.1])
    >>> coefs.round(3)
    array([[ 0.176,  0.67 ],
           [-0.255, -0.137]])
    """
    alphas = asked_alphas(alphas, n_alphas)
    if np.ndim(y) == 2:
        from sklearn.linear_model import enet_path as multi_task

        return multi_task(
            X,
            y,
            l1_ratio=l1_ratio,
            eps=eps,
            alphas=alphas,
            precompute=precompute,
            Xy=Xy,
            copy_X=copy_X,
            coef_init=coef_init,
            verbose=verbose,
            return_n_iter=return_n_iter,
            positive=positive,
            check_input=check_input,
            **params,
        )
    offset, _, s = (params.pop(name, None) for name in ("X_offset", "X_scale", "sample_weight"))
    tol, max_iter = params.pop("tol", 1e-4), params.pop("max_iter", 1000)
    seed, selection = params.pop("random_state", None), params.pop("selection", "cyclic")
    params.pop("do_screening", None)
    if params:
        raise ValueError("Unexpected parameters in params", params.keys())
    if selection not in ("random", "cyclic"):
        raise ValueError("selection should be either random or cyclic.")
    X = check_array(X, accept_sparse="csc", dtype=FLOATS, ensure_all_finite=False)
    y = check_array(y, dtype=np.float64, ensure_2d=False)
    centre = sp.issparse(X) and offset is not None
    s = s if sp.issparse(X) else None  # a dense X already carries its weights
    gram = checked_gram(precompute, X, s, False)
    problem = LassoProblem(X, y[:, None], s, centre, gram)
    if isinstance(alphas, Integral):
        alphas = alpha_grid(problem, 0, l1_ratio, eps, alphas, positive)
    alphas = np.sort(alphas)[::-1]
    w = np.zeros(X.shape[1])
    if coef_init is not None:
        w[:] = coef_init
    rng = check_random_state(seed) if selection == "random" else None
    options = {"tol": tol, "max_iter": max_iter, "positive": positive, "rng": rng}
    coefs, gaps, steps = np.empty((len(w), len(alphas)), X.dtype), np.empty(len(alphas)), []
    with problem.threads_of_blas():
        for i, point in enumerate(points(problem, 0, alphas, l1_ratio, w, **options)):
            coefs[:, i], gaps[i] = point.w, point.gap
            if X.dtype != np.float64:  # of what rounding has made of w
                penalty = alphas[i] * l1_ratio, alphas[i] * (1.0 - l1_ratio)
                rise = problem.value(0, coefs[:, i], *penalty) - problem.value(0, point.w, *penalty)
                gaps[i] += max(rise, 0.0)
            steps.append(point.steps)
    return (alphas, coefs, gaps, steps) if return_n_iter else (alphas, coefs, gaps)


@validate_params(PATH, prefer_skip_nested_validation=True)
def lasso_path(
    X,
    y,
    *,
    eps=1e-3,
    n_alphas="deprecated",
    alphas="warn",
    precompute="auto",
    Xy=None,
    copy_X=True,
    coef_init=None,
    verbose=False,
    return_n_iter=False,
    positive=False,
    **params,
):
    """The lasso at many α, without an intercept: `enet_path` with ``l1_ratio=1``.

    Parameters
    ----------
    X, y, eps, n_alphas, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, positive
        As in :func:`enet_path`.
    **params
        As in :func:`enet_path`.

    Returns
    -------
    alphas, coefs, dual_gaps, n_iters
        As in :func:`enet_path`.

    Examples
    --------
    >>> from mlreplica.linear_model import lasso_path
    >>> X, y = [[-1.0, 2.0], [0.0, -1.0], [1.0, -1.0]], [-1.0, 0.0, 1.0]
    >>> alphas, coefs, gaps = lasso_path(X, y, alphas=[0.5, 0.1])
    >>> coefs.round(3)
    array([[ 0.  ,  0.7 ],
           [-0.25, -0.1 ]])
    """
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        alphas=asked_alphas(alphas, n_alphas),
        precompute=precompute,
        Xy=Xy,
        copy_X=copy_X,
        coef_init=coef_init,
        verbose=verbose,
        return_n_iter=return_n_iter,
        positive=positive,
        **params,
    )


def asked_alphas(alphas, n_alphas):
    """The values of α or their number, from the new parameter and the old one."""
    number = 100
    if not isinstance(n_alphas, str):
        warnings.warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an "
            "integer value which removes the need to pass 'n_alphas'. The default value of "
            "'alphas' will change from None to 100 in 1.11. Pass an explicit value to 'alphas' and "
            "leave 'n_alphas' to its default value to silence this warning.",
            FutureWarning,
            stacklevel=3,
        )
        number = n_alphas
    if alphas is None:
        warnings.warn(
            "'alphas=None' is deprecated and will be removed in 1.11, at which point the default "
            "value will be set to 100. Set 'alphas=100' to silence this warning.",
            FutureWarning,
            stacklevel=3,
        )
    return number if alphas is None or isinstance(alphas, str) else alphas
