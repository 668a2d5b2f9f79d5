r"""Power transformations: the exponent that makes a column most nearly normal

Box–Cox for x > 0 and Yeo–Johnson for any x, with L = log x and L = log(1 + |x|),

    ψ(x) = (e^(λL) − 1) / λ                                                                   (3)
    ψ(x) = (e^(λL) − 1) / λ   for x ≥ 0,       −(e^((2−λ)L) − 1) / (2 − λ)   for x < 0        (4)

and ±L in the limit where the divisor is 0. If ψ(x) is normal, the density of x has the factor
ψ'(x) = e^((λ−1)L), or e^((λ−1)·sign(x)·L). With the best mean and variance for each λ put in, the
log-likelihood of n values is, but for a constant,

    ℓ(λ) = −(n/2) log var ψ + (λ − 1) Σ L_i        or      … + (λ − 1) Σ sign(x_i) L_i        (5)

Dividing x by its geometric mean makes Σ L_i = 0 in Box–Cox, so the second term goes. L does not
depend on λ: each λ that Brent's search tries costs one exponential per value.

References
----------
Box, Cox: An analysis of transformations. J. Royal Statistical Society B 26 (1964), 211–252.
Yeo, Johnson: A new family of power transformations. Biometrika 87 (2000), 954–959.
"""

import warnings

import numpy as np
from scipy.optimize import brent
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import StrOptions, _fit_context, validate_params
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.exp import exp64
from mlreplica.core.rows.walk import steps
from mlreplica.core.validation import ValidatedOnce

from ._columns import BLOCK, ColumnMoments, finite_variance, rows_to_fit, rows_to_map, weights_of
from ._order import LEAST, columns_of
from ._standard import StandardScaler, is_constant, rows_to_map_back

TOP = 600.0  # exponents beyond are brought down together: variances only change by a factor
LIMIT = 1e-12  # divisors below count as 0


def power(L, lam, down, out):
    """out ← (e^(λL) − 1) e^(−down) / λ, or L in the limit."""
    if abs(lam) < LIMIT:
        np.multiply(L, np.exp(-down), out=out)
        return
    np.multiply(L, lam, out=out)
    if down == 0.0 and max(-out.min(initial=0), out.max(initial=0)) < 0.5:
        np.expm1(out, out=out)  # the 1 would take digits with it
    else:
        if down:
            out -= down
        exp64(out)
        out -= np.exp(-down)
    out /= lam


def log_likelihood(lam, up, below, slope, weight, work):
    """ℓ(λ) / n of (5) from L of x ≥ 0 (`up`), L of x < 0 (`below`) and the mean of ±L (`slope`)."""
    m = len(up)
    top = max(lam * (up.max(initial=0) if lam > 0 else up.min(initial=0)), 0.0)
    top = max(top, (2 - lam) * below.max(initial=0))
    down = max(0.0, top - TOP)
    power(up, lam, down, work[:m])
    if len(below):
        power(below, 2 - lam, down, work[m:])
        np.negative(work[m:], out=work[m:])
    mean = work.mean() if weight is None else weight @ work
    work -= mean
    var = work @ work / len(work) if weight is None else weight @ (work * work)
    if not var > 0.0:
        return -np.inf
    return -0.5 * np.log(var) - down + (lam - 1) * slope


def best_lambda(x, weight, method):
    """The λ that maximises (5) over the values of one column."""
    if weight is not None:
        x, weight = x[weight > 0], weight[weight > 0] / weight.sum()
    if method == "box-cox":
        L = np.log(x)
        L -= L.mean() if weight is None else weight @ L
        up, below, slope = L, L[:0], 0.0
    else:
        low = x < 0
        up, below = np.log1p(x[~low]), np.log1p(-x[low])
        if weight is None:
            slope = (up.sum() - below.sum()) / len(x)
        else:
            weight = np.concatenate([weight[~low], weight[low]])
            slope = weight @ np.concatenate([up, -below])
    work = np.empty(len(x))
    minus = lambda lam: -log_likelihood(float(lam), up, below, slope, weight, work)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return newton_step(minus, float(brent(minus, brack=(-2, 2), tol=1e-5)))


def newton_step(f, x, h=1e-3):
    """x − f'(x) / f''(x) by differences of fourth order: ten digits from five."""
    a, b, c, d, e = (f(x + k * h) for k in (-2, -1, 0, 1, 2))
    slope, bend = (8 * (d - b) - (e - a)) / (12 * h), (d - 2 * c + b) / h**2
    step = slope / bend if bend > 0 else 0.0
    return x - step if abs(step) < h else x


@np.errstate(invalid="ignore", over="ignore", divide="ignore")
def box_cox(x, lam):
    """(3)"""
    L = np.log(x)
    return L if abs(lam) < LIMIT else np.expm1(lam * L) / lam


@np.errstate(invalid="ignore", over="ignore", divide="ignore")
def box_cox_inverse(z, lam):
    """x of (3)"""
    return np.exp(z) if abs(lam) < LIMIT else np.exp(np.log1p(lam * z) / lam)


@np.errstate(invalid="ignore", over="ignore", divide="ignore")
def yeo_johnson(x, lam):
    """(4)"""
    low = x < 0
    L = np.log1p(np.abs(x))
    a = np.where(low, 2 - lam, lam)
    z = np.where(np.abs(a) < LIMIT, L, np.expm1(a * L) / a)
    return np.where(low, -z, z)


@np.errstate(invalid="ignore", over="ignore", divide="ignore")
def yeo_johnson_inverse(z, lam):
    """x of (4)"""
    low = z < 0
    a = np.where(low, 2 - lam, lam)
    size = np.abs(z)
    x = np.expm1(np.where(np.abs(a) < LIMIT, size, np.log1p(a * size) / a))
    return np.where(low, -x, x)


class PowerTransformer(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns raised to the power that makes them most nearly normal: (3) or (4).

    Parameters
    ----------
    method : {"yeo-johnson", "box-cox"}, default="yeo-johnson"
        Formula (4) for any values, (3) for positive ones.
    standardize : bool, default=True
        Then bring the result to mean 0 and variance 1.
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.

    Attributes
    ----------
    lambdas_ : ndarray of shape (n_features,)
        λ of each column; 1, which changes nothing, for a constant column.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import PowerTransformer
    >>> model = PowerTransformer().fit([[1.0, 2.0], [3.0, 2.0], [4.0, 5.0]])
    >>> model.lambdas_.round(3)
    array([ 1.387, -3.101])
    """

    card = Card(
        page="scaling",
        checks="powers",
        input="rows",
        use="skewed columns, as incomes and counts, before a linear model",
        good="one parameter per column, by maximum likelihood; has an inverse",
        bad="cannot help a column with two humps or heavy tails on both sides",
        time="O(n p) per λ that is tried, some fifteen",
        memory="O(n p), for logarithms by columns",
        rescaling="this is it; Yeo–Johnson depends on where 0 is",
        missing="left out of the statistics, and kept",
        instead="QuantileTransformer, or a logarithm by FunctionTransformer",
    )
    _parameter_constraints: dict = {
        "method": [StrOptions({"yeo-johnson", "box-cox"})],
        "standardize": ["boolean"],
        "copy": ["boolean"],
    }

    def __init__(self, method="yeo-johnson", *, standardize=True, copy=True):
        self.method = method
        self.standardize = standardize
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = self.method == "box-cox"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Find λ of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        self : PowerTransformer
        """
        self._fit(X, sample_weight, transform=False)
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Find λ of every column, and transform the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
        """
        return self._fit(X, sample_weight, transform=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, sample_weight, transform):
        """Fit, and return the rows as they are used for the scale or asked for."""
        X = rows_to_fit(self, X)
        self._refuse_nonpositive(X)
        weight = weights_of(sample_weight, X)
        moments = ColumnMoments.of(X, weight)
        with np.errstate(invalid="ignore"):
            constant = is_constant(finite_variance(self, moments), moments.mean, moments.n)
        columns = columns_of(X)
        complete = weight is None and np.all(moments.n == len(X))
        missing = not complete and bool(np.isnan(X).any())

        def find(j):
            x, w = columns[j], weight
            if missing:
                there = ~np.isnan(x)
                x, w = x[there], None if w is None else w[there]
            if not len(x):
                raise ValueError("Column must not be all nan.")
            return 1.0 if constant[j] else best_lambda(x, w, self.method)

        p = X.shape[1]
        found = map(find, range(p)) if X.size < LEAST else run(find, range(p))
        self.lambdas_ = np.array(list(found), dtype=np.float64)
        if not (self.standardize or transform):
            return None
        Z = self._mapped(X, copy=self.copy or not transform)
        if self.standardize:
            self._scaler = StandardScaler(copy=False).set_output(transform="default")
            self._scaler.fit(Z, sample_weight=weight)
            if transform:
                Z = self._scaler.transform(Z)
        return Z

    def _refuse_nonpositive(self, X):
        if self.method == "box-cox" and np.fmin.reduce(X, axis=None) <= 0:
            raise ValueError(
                "The Box-Cox transformation can only be applied to strictly positive data; use "
                "method='yeo-johnson', which takes any."
            )

    def _mapped(self, X, copy, inverse=False):
        """Every column through (3) or (4), or back."""
        f = {
            ("box-cox", False): box_cox,
            ("box-cox", True): box_cox_inverse,
            ("yeo-johnson", False): yeo_johnson,
            ("yeo-johnson", True): yeo_johnson_inverse,
        }[self.method, inverse]
        out = X if not copy and X.flags.writeable else np.empty_like(X)

        def part(rows):
            for s in steps(rows, max(1, BLOCK)):
                for j, lam in enumerate(self.lambdas_):
                    out[s, j] = f(X[s, j].astype(np.float64), lam)

        run(part, split(len(X), n_threads(), least=1 + LEAST // X.shape[1]))
        return out

    def transform(self, X):
        """Transform rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
        """
        X = rows_to_map(self, X)
        self._refuse_nonpositive(X)
        Z = self._mapped(X, self.copy)
        return self._scaler.transform(Z) if self.standardize else Z

    def inverse_transform(self, X):
        """Return to the units of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Transformed rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        Z = rows_to_map_back(self, X)
        if self.standardize:
            Z = self._scaler.inverse_transform(Z, copy=self.copy)
        before = np.isnan(Z).sum(axis=0)
        X = self._mapped(Z, self.copy, inverse=True)
        for j in np.flatnonzero(np.isnan(X).sum(axis=0) > before):
            warnings.warn(
                f"Some values in column {j} of the inverse-transformed data are NaN: no value is "
                f"mapped to them by lambda = {self.lambdas_[j]:.3g}. Look for extreme values in "
                "the column, or scale it before.",
                stacklevel=2,
            )
        return X


@validate_params({"X": ["array-like"]}, prefer_skip_nested_validation=False)
def power_transform(X, method="yeo-johnson", *, standardize=True, copy=True):
    """Make columns most nearly normal, without a model to use on other rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    method : {"yeo-johnson", "box-cox"}, default="yeo-johnson"
        For any values, or for positive ones.
    standardize : bool, default=True
        Then bring the result to mean 0 and variance 1.
    copy : bool, default=True
        Leave X as it is.

    Returns
    -------
    Z : ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> from mlreplica.preprocessing import power_transform
    >>> power_transform([[1.0, 2.0], [3.0, 2.0], [4.0, 5.0]], method="box-cox").round(3)
    array([[-1.333, -0.707],
           [ 0.257, -0.707],
           [ 1.076,  1.414]])
    """
    return PowerTransformer(method, standardize=standardize, copy=copy).fit_transform(X)
