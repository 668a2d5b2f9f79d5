r"""Iterative imputation: every column with gaps is predicted from the others, in turn

    start from column means;   repeat for every column j:                                      (4)
        fit a regression of x_j on the other columns, to the rows that have x_j
        replace the gaps of x_j by its predictions

until no value moves by more than `tol` times the largest value known. With draws from the
predictive distribution instead of predictions, the rounds are a Gibbs sampler of the gaps.

The default regression is the Bayesian ridge of `_evidence.py`. All of its fits share one matrix of
products XᵀX: filling one column anew changes one row and column of it, and the rows with a gap are
subtracted. A round costs O(m p²) per column with m gaps, instead of O(n p²).

References
----------
van Buuren, Groothuis-Oudshoorn: mice: multivariate imputation by chained equations in R. Journal of
Statistical Software 45 (2011), 1–67.
"""

import warnings
from contextlib import nullcontext
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
    _raise_for_params,
    is_scalar_nan,
)
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import say, speaks
from mlreplica.core.validation import FLOATS, validate_data

from ._evidence import RidgeFit, RowSums, truncated_normal
from ._gaps import gaps_of, is_plain_with_nan, refuse_other_types
from ._imputer import Imputer
from ._middle import fill_nan
from ._simple import SimpleImputer
from ._steps import ImputerTriplet, draw_gaps, packed, replay
from ._turns import chances_of, limits_of, order_of

MOVING = "[IterativeImputer] Early stopping criterion not reached."


class IterativeImputer(Imputer):
    """Fill gaps by regressions of every column on the others, round by round (4).

    Parameters
    ----------
    estimator : estimator or None, default=None
        The regression. None: a Bayesian ridge. With `sample_posterior` it must return standard
        deviations, `predict(X, return_std=True)`.
    missing_values : number, NaN, default=nan
        What marks a gap.
    sample_posterior : bool, default=False
        Draw values from the predictive distribution instead of its mean.
    max_iter : int, default=10
        The most rounds.
    tol : float, default=1e-3
        Stop when no value moves by more than this share of the largest known one.
    n_nearest_features : int or None, default=None
        Predict from so many columns, drawn by their correlation; None for all.
    initial_strategy : {"mean", "median", "most_frequent", "constant"}, default="mean"
        How gaps are filled at first.
    fill_value : str or number, default=None
        The constant of that strategy.
    imputation_order : {"ascending", "descending", "roman", "arabic", "random"}, default="ascending"
        Columns from few gaps to many, from many to few, from left to right, from right to left, or
        at random in each round.
    skip_complete : bool, default=False
        Do not learn to predict columns without gaps; new rows with gaps there get the first guess.
    min_value, max_value : float or array-like of shape (n_features,), default=-inf, inf
        Limits of filled values.
    verbose : int, default=0
        Above 0, write a line per round on standard output.
    random_state : int, RandomState or None, default=None
        Of draws, of nearest columns and of a random order.
    add_indicator : bool, default=False
        Add columns that say where gaps were.
    keep_empty_features : bool, default=False
        Keep columns that had no value in `fit`.

    Attributes
    ----------
    initial_imputer_ : SimpleImputer
        What fills gaps at first.
    imputation_sequence_ : list of (feat_idx, neighbor_feat_idx, estimator)
        The steps of all rounds.
    n_iter_ : int
        Rounds done.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_features_with_missing_ : int
        Columns that are predicted.
    indicator_ : MissingIndicator or None
        Says where gaps were.
    random_state_ : RandomState
        The source of random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.impute import IterativeImputer
    >>> X = [[1, 2], [3, 6], [4, 8], [np.nan, 3], [7, np.nan]]
    >>> IterativeImputer(random_state=0).fit(X).transform([[np.nan, 2], [6, np.nan]]).round(1)
    array([[ 1., 2.],
           [ 6., 12.]])
    """

    card = Card(
        page="imputation",
        checks="filled",
        input="rows",
        use="gaps in tables whose columns depend on each other",
        good="keeps relations between columns; several draws give honest standard errors",
        bad="the default sees straight relations only; assumes gaps depend on what is known",
        time="O(n p² + Σ m_j p² + p⁴) per round, m_j gaps of column j",
        memory="O(n p)",
        rescaling="helps: one precision for all weights",
        missing="filled",
        instead="SimpleImputer for a few gaps; KNNImputer for rows that come in kinds",
    )
    _parameter_constraints: dict = {
        **Imputer._parameter_constraints,
        "estimator": [None, HasMethods(["fit", "predict"])],
        "sample_posterior": ["boolean"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_nearest_features": [None, Interval(Integral, 1, None, closed="left")],
        "initial_strategy": [StrOptions({"mean", "median", "most_frequent", "constant"})],
        "fill_value": "no_validation",
        "imputation_order": [StrOptions({"ascending", "descending", "roman", "arabic", "random"})],
        "skip_complete": ["boolean"],
        "min_value": [None, Interval(Real, None, None, closed="both"), "array-like"],
        "max_value": [None, Interval(Real, None, None, closed="both"), "array-like"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        missing_values: Any = np.nan,
        sample_posterior=False,
        max_iter=10,
        tol=1e-3,
        n_nearest_features=None,
        initial_strategy="mean",
        fill_value=None,
        imputation_order="ascending",
        skip_complete=False,
        min_value: Any = -np.inf,
        max_value: Any = np.inf,
        verbose=0,
        random_state=None,
        add_indicator=False,
        keep_empty_features=False,
    ):
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.estimator = estimator
        self.sample_posterior = sample_posterior
        self.max_iter = max_iter
        self.tol = tol
        self.n_nearest_features = n_nearest_features
        self.initial_strategy = initial_strategy
        self.fill_value = fill_value
        self.imputation_order = imputation_order
        self.skip_complete = skip_complete
        self.min_value = min_value
        self.max_value = max_value
        self.verbose = verbose
        self.random_state = random_state

    def _start(self, X, *, reset):
        """X, the first guess, the gaps to fill, and all gaps."""
        if not reset and is_plain_with_nan(self, X, reset=False) and not self._empty.any():
            guess, gaps = np.empty_like(X), np.isnan(X)
            values = self.initial_imputer_.statistics_
            if values.dtype == np.float64 and not fill_nan(X, values, guess):
                return X, guess, gaps, gaps
        X = validate_data(
            self,
            X,
            dtype=FLOATS,
            reset=reset,
            ensure_all_finite="allow-nan" if is_scalar_nan(self.missing_values) else True,
        )
        refuse_other_types(X, self.missing_values)
        all_gaps = gaps_of(X, self.missing_values)
        if reset:
            self._empty = all_gaps.all(axis=0)
            self.initial_imputer_ = SimpleImputer(
                missing_values=self.missing_values,
                strategy=self.initial_strategy,
                fill_value=self.fill_value,
                keep_empty_features=self.keep_empty_features,
            ).set_output(transform="default")
            self.initial_imputer_.fit(X)
        with warnings.catch_warnings():
            if not reset:
                warnings.simplefilter("ignore", UserWarning)  # said once, in fit
            guess = self.initial_imputer_.transform(X)
        gaps = all_gaps.copy()
        if self.keep_empty_features:
            gaps[:, self._empty] = False
            known = X.copy()
            known[:, self._empty] = guess[:, self._empty]
        else:
            gaps, known = gaps[:, ~self._empty], X[:, ~self._empty]
        return known, np.ascontiguousarray(guess), gaps, all_gaps

    def _order(self, gaps):
        """The columns to predict, in their order."""
        return order_of(gaps, self.imputation_order, self.skip_complete, self.random_state_)

    def _others(self, p, j, chances):
        """The columns, of p, from which column j is predicted."""
        if chances is None:
            return np.delete(np.arange(p), j)
        return self.random_state_.choice(p, self.n_nearest_features, replace=False, p=chances[:, j])

    @_fit_context(prefer_skip_nested_validation=False)  # the regression may be any
    def fit_transform(self, X, y=None, **params):
        """Learn the regressions, and fill the gaps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with gaps.
        y : Ignored
            Not used, present by convention.
        **params : dict
            What the regression's `fit` takes, if metadata are routed.

        Returns
        -------
        X : ndarray of shape (n_samples, n_output_features)
            The rows, filled.
        """
        _raise_for_params(params, self, "fit")
        routed = process_routing(self, "fit", **params).estimator.fit if params else {}
        self.random_state_ = getattr(self, "random_state_", check_random_state(self.random_state))
        X, filled, gaps, all_gaps = self._start(X, reset=True)
        self._learn_marks(all_gaps, all_gaps)
        self._steps, self.n_iter_, p = [], 0, filled.shape[1]
        self._low, self._high = limits_of(self.min_value, self.max_value, self._kept())
        if not np.all(self._high > self._low):
            raise ValueError("One (or more) features have min_value >= max_value.")
        order = self._order(gaps)
        self.n_features_with_missing_ = len(order)
        if self.max_iter == 0 or gaps.all() or p == 1:
            self._pack()
            return self._with_marks(filled, all_gaps, all_gaps)
        work = filled.astype(np.float64) if self.estimator is None else filled
        size = self.tol * np.max(np.abs(X[~gaps]))
        small = work.size * p < 1 << 23  # threads of BLAS would cost more than they save
        with one_blas_thread() if small and self.estimator is None else nullcontext():
            rests = self._go_round(work, gaps, order, size, routed)
        if not rests and not self.sample_posterior:
            warnings.warn(MOVING, ConvergenceWarning, stacklevel=2)
        self._pack()
        filled = work.astype(filled.dtype, copy=False)
        filled[~gaps] = X[~gaps]
        return self._with_marks(filled, all_gaps, all_gaps)

    def _go_round(self, work, gaps, order, size, params):
        """Rounds of (4), in place, until no value moves by `size`; return whether that came."""
        chances = chances_of(work, self.n_nearest_features)
        sums = RowSums(work) if self.estimator is None else None
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            if self.imputation_order == "random":
                order = self._order(gaps)
            before = work.copy()
            for j in order:
                others = self._others(len(gaps[0]), j, chances)
                self._steps.append(self._step(work, sums, gaps, int(j), others, params))
            if sums is not None:
                sums.refresh()
            moved = np.abs(work - before).max()
            if speaks(self):
                say(self, f"Round {self.n_iter_}, largest change {moved:.3g}, limit {size:.3g}")
            if not self.sample_posterior and moved < size:
                return True
        return False

    def _step(self, work, sums, gaps, j, others, params):
        """Fit column j and fill its gaps; return the step for new rows."""
        gap = gaps[:, j]
        rows = np.flatnonzero(gap)
        if sums is not None:
            fitted = sums.regress(gap, j, others)
            if len(rows):
                sums.update(rows, j, self._values(fitted, work[np.ix_(rows, others)], j))
            return j, others, tuple(fitted)
        model = clone(self.estimator)
        if hasattr(model, "random_state"):
            model.random_state = self.random_state_
        columns = work[:, others]
        model.fit(columns[~gap], work[~gap, j], **params)
        if len(rows):
            work[rows, j] = self._values(model, columns[rows], j)
        return j, others, model

    def _values(self, model, X, j):
        """What fills the gaps of column j in rows with the other columns X."""
        low, high = self._low[j], self._high[j]
        if not self.sample_posterior:
            return np.clip(model.predict(X), low, high)
        mean, deviation = model.predict(X, return_std=True)
        values = np.clip(mean, low, high).astype(np.float64)
        inside = (deviation > 0) & (mean >= low) & (mean <= high)
        if inside.any():
            values[inside] = truncated_normal(
                mean[inside], deviation[inside], low, high, self.random_state_
            )
        return values

    def _pack(self):
        """Lay out the steps of the default regression for `replay`."""
        plain = self.estimator is None and not self.sample_posterior
        self._packed_steps = packed(self._steps, len(self._low)) if plain else None

    @property
    def imputation_sequence_(self):
        """The steps of all rounds: column, columns it is predicted from, fitted regression."""
        return [
            ImputerTriplet(j, others, RidgeFit(*model) if isinstance(model, tuple) else model)
            for j, others, model in self._steps
        ]

    def fit(self, X, y=None, **fit_params):
        """Learn the regressions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with gaps.
        y : Ignored
            Not used, present by convention.
        **fit_params : dict
            What the regression's `fit` takes, if metadata are routed.

        Returns
        -------
        self : IterativeImputer
        """
        self.fit_transform(X, **fit_params)
        return self

    def transform(self, X):
        """Fill the gaps of new rows by the steps that were learned.

        With `sample_posterior` every call draws anew.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with gaps.

        Returns
        -------
        X : ndarray of shape (n_samples, n_output_features)
            The rows, filled.
        """
        if "n_iter_" not in vars(self):
            check_is_fitted(self)
        X, filled, gaps, all_gaps = self._start(X, reset=False)
        if self.n_iter_ and not gaps.all():
            dtype = filled.dtype
            if self._packed_steps is not None:
                filled = filled.astype(np.float64, copy=False)
                rows = np.flatnonzero(gaps.any(axis=1))
                some = filled[rows]
                replay(some, gaps[rows], *self._packed_steps, self._low, self._high)
                filled[rows] = some
            else:
                for j, others, model in self.imputation_sequence_:
                    rows = np.flatnonzero(gaps[:, j])
                    if len(rows):
                        filled[rows, j] = self._values(model, filled[np.ix_(rows, others)], j)
            filled = filled.astype(dtype, copy=False)
            filled[~gaps] = X[~gaps]
        return self._with_marks(filled, all_gaps, all_gaps)

    def draw_imputations(self, X, n_draws=5):
        """Fill the gaps several times, each time from its own chain of draws.

        In every step σ², weights, offset and noise are drawn from their posterior, so that tables
        differ as much as the gaps leave open; `pool_estimates` combines what is computed from them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with gaps; the regressions are learned from them, by Bayesian ridge.
        n_draws : int, default=5
            How many tables.

        Returns
        -------
        tables : ndarray of shape (n_draws, n_samples, n_output_features)
            The filled tables, without marks of gaps.
        """
        self._validate_params()
        if self.estimator is not None:
            raise ValueError("draws need the default estimator, whose posterior is known.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.random_state_ = check_random_state(self.random_state)
        X, guess, gaps, _ = self._start(X, reset=True)
        low, high = limits_of(self.min_value, self.max_value, self._kept())
        order, chances = self._order(gaps), chances_of(guess, self.n_nearest_features)
        order = order[gaps[:, order].any(axis=0)]
        others = partial(self._others, len(low), chances=chances)
        tables = np.repeat(guess[None].astype(np.float64), n_draws, axis=0)
        for table in tables:
            draw_gaps(table, gaps, order, others, low, high, self.max_iter, rng)
        tables[:, ~gaps] = X[~gaps]
        return tables

    def _kept(self):
        return self.keep_empty_features | ~self._empty

    def get_metadata_routing(self):
        """Return how metadata reach the regression.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)
