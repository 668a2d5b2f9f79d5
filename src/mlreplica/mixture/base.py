"""What both mixtures share: starts, the loop of EM, predictions, draws"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.cluster import KMeans, kmeans_plusplus
from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import FLOATS, ValidatedOnce, new_rows, validate_data

from .em import (
    Bells,
    CollapseError,
    Moments,
    covariances_of,
    expectations,
    precision_triangles,
    weighted_log_densities,
)
from .missing import expectations_with_gaps, log_densities_with_gaps, matrices
from .starts import hard_moments, mean_of_known, soft_moments

WHOLE = {"full": 1, "tied": 2, "diag": 0, "spherical": 0}
MENDS = 10  # restarts of components before a fit is given up


class MixtureState(NamedTuple):
    """What a `Trace` records once per step of EM."""

    weights: Any
    means: Any
    covariances: Any
    lower_bound: float  # before the step: mean log-likelihood, or the variational bound
    change: float
    attributes: dict[str, Any]  # the fitted attributes after the step


def require_shape(values, shape, name):
    """Raise unless an array has this shape."""
    if values.shape != shape:
        raise ValueError(
            f"The parameter '{name}' should have the shape of {shape}, but got {values.shape}"
        )


class Mixture(CallbackSupport, DensityMixin, ValidatedOnce, BaseEstimator):
    """A density Σ_k π_k N(μ_k, Σ_k), fitted by EM."""

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(WHOLE))],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions({"kmeans", "random", "random_from_data", "k-means++"})],
        "missing": [StrOptions({"error", "marginalise"})],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
    }

    def fit(self, X, y=None, sample_weight=None):
        """Fit by EM from `n_init` starts and keep the best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            May have NaN if `missing="marginalise"`.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is a row twice, 0 is no row.

        Returns
        -------
        self : the estimator
        """
        self.fit_predict(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and return the most likely component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X, w = self._rows(X, sample_weight)
        self._check_start(X, w)
        warm = self.warm_start and hasattr(self, "converged_")
        random, best, self._mended = check_random_state(self.random_state), None, 0
        for _ in range(1 if warm else self.n_init):
            start = self._attributes() if warm else self._start(X, w, random)
            found = self._run(X, w, start, self.lower_bound_ if warm else -np.inf)
            if best is None or found["lower_bound_"] > best["lower_bound_"]:
                best = found
        vars(self).update(self._published(best, X.dtype))
        self._say_if_unfinished()
        return self._log_joint(X).argmax(axis=1)

    def _say_if_unfinished(self):
        """Warn if EM ended before it converged."""
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, "
                "or increase max_iter, tol, or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _rows(self, X, sample_weight):
        """X and the weights, checked; rows of weight 0 and of nothing but gaps say nothing."""
        gaps = self.missing == "marginalise"
        X = validate_data(
            self,
            X,
            dtype=FLOATS,
            order="C",
            ensure_min_samples=2,
            ensure_all_finite="allow-nan" if gaps else True,
        )
        if X.shape[0] < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {X.shape[0]}"
            )
        w = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if gaps:
            unknown = (np.isnan(X) | (w == 0)[:, None]).all(axis=0)
            if unknown.any():
                raise ValueError(f"Column {int(unknown.argmax())} of X has no known value.")
        size = max(abs(float(np.nanmax(X))), abs(float(np.nanmin(X))))
        if size > 1e140:
            raise ValueError(
                f"X has entries up to {size:.1e}, whose squares overflow; scale X, for instance by "
                "StandardScaler."
            )
        return X, w

    def _labels_of_start(self, X, w, random):
        """Labels of rows to start from, −1 for none; or responsibilities (n, K)."""
        n, K = len(X), self.n_components
        if self.init_params == "random":
            R = random.uniform(size=(n, K))
            return R / R.sum(axis=1)[:, None]
        if self.init_params == "kmeans":
            return KMeans(K, n_init=1, random_state=random).fit(X, sample_weight=w).labels_
        labels = np.full(n, -1)
        if self.init_params == "random_from_data":
            share = None if (w == w[0]).all() else w / w.sum()
            labels[random.choice(n, size=K, replace=False, p=share)] = np.arange(K)
        else:
            labels[kmeans_plusplus(X, K, sample_weight=w, random_state=random)[1]] = np.arange(K)
        return labels

    def _first_moments(self, X, w, random):
        """Means, and moments about them, of a start."""
        whole, gaps = WHOLE[self.covariance_type], np.isnan(X)
        if gaps.any():
            X, whole = np.where(gaps, mean_of_known(X, w), X).astype(X.dtype), min(whole, 1)
        start = self._labels_of_start(X, w, random)
        if start.ndim == 2:
            mu, moments = soft_moments(X, w[:, None] * start, whole)
        else:
            mu, moments = hard_moments(X, w, start, self.n_components, whole)
        return mu, moments

    def _prepare(self, X, w):
        """What every step needs: an origin near the mean and, if tied, Σ w x xᵀ about it."""
        self._gaps = bool(self.missing == "marginalise" and np.isnan(X).any())
        if self._gaps:
            return np.nanmean(X, axis=0), None
        origin = w @ X / w.sum()
        if self.covariance_type != "tied":
            return origin, None
        T = np.zeros((X.shape[1], X.shape[1]))
        for first in range(0, len(X), 4096):
            D = X[first : first + 4096] - origin
            T += (w[first : first + 4096, None] * D).T @ D
        return origin, T

    def _moments(self, X, w, attributes):
        """The E-step: moments about the means of `attributes`."""
        log_weights, mu = self._log_weights(attributes), attributes["means_"]
        kind, (K, p) = self.covariance_type, mu.shape
        if self._gaps:
            S = matrices(attributes["covariances_"], kind, K, p)
            found = expectations_with_gaps(X, w, mu, S, log_weights)
            if kind in ("diag", "spherical"):
                diagonal = np.einsum("kii->ki", found.second)[:, None]
                found = found._replace(second=diagonal)
        else:
            bells = Bells.of(mu, attributes["precisions_cholesky_"], kind)
            found = expectations(X, w, bells, log_weights, WHOLE[kind])
        return found

    def _covariances(self, moments: Moments, mu: Any, mu_old: Any, origin: Any, T: Any) -> Any:
        """Σ of every component, or of all, from moments about the old means."""
        if self.covariance_type == "tied" and T is None:  # rows with gaps
            delta = moments.first / moments.N[:, None]
            outer = (moments.N[:, None] * delta).T @ delta
            S = (moments.second.sum(axis=0) - outer) / moments.N.sum()
            return S + self.reg_covar * np.eye(len(S))
        return covariances_of(moments, mu - origin, self.covariance_type, self.reg_covar, T)

    def _first_covariances(self, X, w, mu, moments):
        """Σ of a start. Its rows may be few, and for tied covariances still all are added up."""
        origin, T = self._prepare(X, w)
        if T is not None:
            origin, T = 0.0, T + w.sum() * np.outer(origin, origin)
        return self._covariances(moments, mu, mu, origin, T)

    def _steps(self, X, w, start, bound) -> Iterator[MixtureState]:
        """Yield a state once per step of EM, indefinitely."""
        attributes, prepared = start, self._prepare(X, w)
        while True:
            moments = self._moments(X, w, attributes)
            moments = moments._replace(N=moments.N + 10 * np.finfo(float).eps)
            mu = attributes["means_"] + moments.first / moments.N[:, None]
            S = self._covariances(moments, mu, attributes["means_"], *prepared)
            try:
                attributes = self._maximised(moments.N, mu, S)
            except CollapseError as error:
                mu, S = self._mend(X, w, attributes, mu, S, error)
                attributes = self._maximised(moments.N, mu, S)
            old, bound = bound, self._bound(moments, w.sum(), attributes)
            yield MixtureState(
                attributes.get("weights_"),
                attributes["means_"],
                attributes["covariances_"],
                bound,
                abs(bound - old),
                attributes,
            )

    def _mend(self, X, w, attributes, mu, S, error):
        """Restart collapsed components at the rows that fit worst, with the spread of all rows."""
        self._mended += 1
        kind = self.covariance_type
        if kind == "tied" or self._mended > MENDS or self._gaps:
            raise error
        mean = w @ X / w.sum()
        D = X - mean
        whole = (w[:, None] * D).T @ D / w.sum() + self.reg_covar * np.eye(len(mean))
        pooled = {"full": whole, "diag": np.diag(whole), "spherical": np.trace(whole) / len(mean)}
        try:
            precision_triangles(np.stack([pooled[kind]]), kind)
        except CollapseError:
            raise error from None
        fit = np.where(w > 0, self._log_joint(X, attributes).max(axis=1), np.inf)
        rows = np.argsort(fit)[: len(error.components)]
        mu, S = mu.copy(), S.copy()
        for k, i in zip(error.components, rows, strict=True):
            mu[k], S[k] = X[i], pooled[kind]
        warnings.warn(
            f"Components {error.components.tolist()} collapsed onto too few rows and were "
            f"restarted at rows {rows.tolist()}; use fewer components or a larger reg_covar.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return mu, S

    def _run(self, X, w, start, bound):
        """The attributes found from one start."""
        if self.max_iter == 0:
            return start | {"lower_bound_": bound, "lower_bounds_": [], "converged_": False}
        bounds: list[float] = []

        def watched():
            for state in self._steps(X, w, start, bound):
                bounds.append(state.lower_bound)
                yield state

        def publish(state):
            so_far = {"lower_bound_": bounds[-1], "lower_bounds_": [*bounds], "converged_": False}
            return self._published(state.attributes | so_far, X.dtype)

        tol = float(np.nextafter(self.tol, -np.inf))  # the change must be smaller than tol
        state = iterate(
            self,
            watched(),
            max_iter=self.max_iter,
            tol=tol,
            watch="change",
            unit="steps",
            advice=None,
            publish=publish,
            verbose=self.verbose and self.verbose_interval,
        )
        return state.attributes | {
            "lower_bound_": state.lower_bound,
            "lower_bounds_": bounds,
            "converged_": bool(state.change < self.tol),
            "n_iter_": self.n_iter_,
        }

    def _published(self, attributes, dtype):
        """Attributes as users see them, with the precisions."""
        found = dict(attributes)
        found.setdefault("n_iter_", 0)
        U = found["precisions_cholesky_"]
        if self.covariance_type == "full":
            found["precisions_"] = U @ U.transpose(0, 2, 1)
        elif self.covariance_type == "tied":
            found["precisions_"] = U @ U.T
        else:
            found["precisions_"] = U**2
        return {
            name: value.astype(dtype, copy=False) if isinstance(value, np.ndarray) else value
            for name, value in found.items()
        }

    def _log_joint(self, X, attributes=None):
        """log π_k + log N(x | μ_k, Σ_k), (n, K)"""
        known = attributes or vars(self)
        log_weights = self._log_weights(known)
        mu = known["means_"]
        if self.missing == "marginalise" and np.isnan(X).any():
            S = matrices(known["covariances_"], self.covariance_type, *mu.shape)
            return log_densities_with_gaps(X, mu, S, log_weights)
        bells = Bells.of(mu, known["precisions_cholesky_"], self.covariance_type)
        return weighted_log_densities(X, bells, log_weights)

    def _new_rows(self, X):
        """Rows to predict, checked."""
        if self.missing == "error":
            return np.ascontiguousarray(new_rows(self, X))
        check_is_fitted(self)
        return validate_data(
            self, X, reset=False, dtype=FLOATS, order="C", ensure_all_finite="allow-nan"
        )

    def score_samples(self, X):
        """The logarithm of the density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_prob : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.logaddexp.reduce(self._log_joint(self._new_rows(X)), axis=1)

    def score(self, X, y=None):
        """The mean of `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        log_likelihood : float
        """
        return float(self.score_samples(X).mean())

    def predict(self, X):
        """The most likely component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._log_joint(self._new_rows(X)).argmax(axis=1)

    def predict_proba(self, X):
        """The responsibilities (2) of the components for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        resp : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        joint = self._log_joint(self._new_rows(X))
        return np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])

    def sample(self, n_samples=1):
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            The component of each row.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one "
                "sample."
            )
        random, (K, p) = check_random_state(self.random_state), self.means_.shape
        weights = self.weights_.astype(np.float64)
        counts = random.multinomial(n_samples, weights / weights.sum())
        rows = []
        for k, count in enumerate(counts):
            if self.covariance_type in ("full", "tied"):
                S = self.covariances_[k] if self.covariance_type == "full" else self.covariances_
                rows.append(random.multivariate_normal(self.means_[k], S, int(count)))
            else:
                noise = random.standard_normal(size=(count, p))
                rows.append(self.means_[k] + noise * np.sqrt(self.covariances_[k]))
        return np.vstack(rows), np.repeat(np.arange(K), counts)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "marginalise"
        return tags
