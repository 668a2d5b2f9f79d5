"""A function as a transformer, for pipelines"""

import warnings

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    StrOptions,
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
    _fit_context,
    _safe_indexing,
)
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import validate_data


def identity(X):
    """X itself."""
    return X


def frame_kind(X):
    """'pandas', 'polars' or None, without importing either."""
    kind = type(X)
    library = kind.__module__.partition(".")[0]
    return library if kind.__name__ == "DataFrame" and library in ("pandas", "polars") else None


class FunctionTransformer(TransformerMixin, BaseEstimator):
    """Apply a function to the rows.

    Parameters
    ----------
    func : callable or None, default=None
        Takes X and returns what `transform` returns; None for X itself.
    inverse_func : callable or None, default=None
        The same for `inverse_transform`.
    validate : bool, default=False
        Turn X into a matrix of finite numbers first.
    accept_sparse : bool, default=False
        With `validate`: let sparse rows pass.
    check_inverse : bool, default=True
        Warn in `fit` if `inverse_func` does not undo `func` on some of the rows.
    feature_names_out : callable, "one-to-one" or None, default=None
        Names of the columns that come out: those of X, or f(self, names).
    kw_args, inv_kw_args : dict or None, default=None
        More arguments of `func` and `inverse_func`.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.preprocessing import FunctionTransformer
    >>> FunctionTransformer(np.log1p).fit_transform(np.array([[0.0, 1.0]]))
    array([[0.        , 0.69314718]])
    """

    card = Card(
        page="binning-splines",
        checks="only_columns",
        input="rows",
        use="a step of your own in a pipeline, as a logarithm",
        good="any function",
        bad="a model with a function of yours is not saved to a file",
        time="that of the function",
        memory="that of the function",
        rescaling="as the function needs it",
        missing="passed on to the function",
        instead="PowerTransformer, which finds the power by itself",
    )
    _parameter_constraints: dict = {
        "func": [callable, None],
        "inverse_func": [callable, None],
        "validate": ["boolean"],
        "accept_sparse": ["boolean"],
        "check_inverse": ["boolean"],
        "feature_names_out": [callable, StrOptions({"one-to-one"}), None],
        "kw_args": [dict, None],
        "inv_kw_args": [dict, None],
    }

    def __init__(
        self,
        func=None,
        inverse_func=None,
        *,
        validate=False,
        accept_sparse=False,
        check_inverse=True,
        feature_names_out=None,
        kw_args=None,
        inv_kw_args=None,
    ):
        self.func = func
        self.inverse_func = inverse_func
        self.validate = validate
        self.accept_sparse = accept_sparse
        self.check_inverse = check_inverse
        self.feature_names_out = feature_names_out
        self.kw_args = kw_args
        self.inv_kw_args = inv_kw_args

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = not self.validate
        tags.requires_fit = False
        tags.input_tags.allow_nan = not self.validate
        tags.input_tags.sparse = not self.validate or self.accept_sparse
        return tags

    def __sklearn_is_fitted__(self):
        """Nothing is learned."""
        return True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Only look at X: nothing is learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or anything that `func` takes if not validated.
        y : None
            Ignored.

        Returns
        -------
        self : FunctionTransformer
        """
        X = self._checked(X, reset=True)
        if self.check_inverse and self.func is not None and self.inverse_func is not None:
            self._compare_round_trip(X)
        return self

    def _checked(self, X, reset):
        """X as `func` takes it, with its columns counted in `fit`."""
        if self.validate:
            return validate_data(self, X, accept_sparse=self.accept_sparse, reset=reset)
        if reset:
            _check_n_features(self, X, reset=reset)
            _check_feature_names(self, X, reset=reset)
        return X

    def _compare_round_trip(self, X):
        """Warn if some of the rows do not come back."""
        some = _safe_indexing(X, slice(None, None, max(1, X.shape[0] // 100)))
        back = self.inverse_transform(self.transform(some))
        kinds = [X.dtype] if hasattr(X, "dtype") else X.dtypes
        if not all(map(is_number, kinds)):
            raise ValueError(
                "'check_inverse' is only supported when all the elements in `X` is numerical."
            )
        if not same(some, back):
            warnings.warn(
                "The provided functions are not strictly inverse of each other. If you are sure "
                "you want to proceed regardless, set 'check_inverse=False'.",
                UserWarning,
                stacklevel=2,
            )

    def transform(self, X):
        """Apply the function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or anything that `func` takes if not validated.

        Returns
        -------
        Z : array-like
            What `func` returns.
        """
        X = self._checked(X, reset=False)
        out = (self.func or identity)(X, **(self.kw_args or {}))
        output = getattr(self, "_sklearn_output_config", {}).get("transform")
        if output is None:
            output = get_config()["transform_output"]
        if hasattr(out, "columns") and self.feature_names_out is not None:
            return self._with_names(X, out, output)
        framed = output in ("pandas", "polars")
        if framed and self.feature_names_out is None and frame_kind(out) != output:
            warnings.warn(
                f"When `set_output` is configured to be '{output}', `func` should return a "
                f"{output} DataFrame to follow the `set_output` API, or `feature_names_out` should "
                "be defined.",
                stacklevel=2,
            )
        return out

    def _with_names(self, X, out, output):
        """A frame with the promised names; raise if it has neither these nor those of X."""
        found, promised = list(out.columns), list(self.get_feature_names_out())
        if found == promised:
            return out
        if hasattr(X, "columns") and found == list(X.columns):
            if frame_kind(out) == "polars":
                return out.rename(dict(zip(found, promised, strict=True)))
            return out.set_axis(promised, axis=1)
        if output not in ("pandas", "polars"):
            raise ValueError(
                "The output generated by `func` have different column names than the ones provided "
                f"by `get_feature_names_out`. Got output with columns names: {found} and "
                f"`get_feature_names_out` returned: {promised}. The column names can be overridden "
                "by setting `set_output(transform='pandas')` or `set_output(transform='polars')`."
            )
        return out

    def inverse_transform(self, X):
        """Apply the inverse function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Transformed rows.

        Returns
        -------
        X : array-like
            What `inverse_func` returns.
        """
        if self.validate:
            X = check_array(X, accept_sparse=self.accept_sparse)
        return (self.inverse_func or identity)(X, **(self.inv_kw_args or {}))

    @available_if(lambda self: self.feature_names_out is not None)
    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
        """
        if hasattr(self, "n_features_in_") or input_features is not None:
            input_features = _check_feature_names_in(self, input_features)
        if self.feature_names_out == "one-to-one":
            names = input_features
        elif callable(self.feature_names_out):
            names = self.feature_names_out(self, input_features)
        else:
            raise ValueError(
                f"feature_names_out={self.feature_names_out!r} is invalid. It must either be "
                '"one-to-one" or a callable of this transformer and the names of the columns.'
            )
        return np.asarray(names, dtype=object)

    def set_output(self, *, transform=None):
        """Choose the kind of frame that `transform` returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            None leaves the choice as it was.

        Returns
        -------
        self : FunctionTransformer
        """
        if not hasattr(self, "_sklearn_output_config"):
            self._sklearn_output_config = {}
        if transform is not None:
            self._sklearn_output_config["transform"] = transform
        return self


def is_number(kind):
    """Whether a dtype of NumPy, pandas or polars holds numbers."""
    if hasattr(kind, "is_numeric"):
        return kind.is_numeric()
    try:
        return np.issubdtype(kind, np.number)
    except TypeError:  # of pandas alone
        return bool(getattr(kind, "_is_numeric", False))


def same(X, Z):
    """Whether two matrices, frames or sparse matrices hold the same numbers but for rounding."""
    if is_sparse(X):
        X, Z = X.toarray(), Z.toarray() if is_sparse(Z) else Z
    X, Z = np.asarray(X, dtype=float), np.asarray(Z, dtype=float)
    return X.shape == Z.shape and np.allclose(X, Z, rtol=1e-7, atol=0.0, equal_nan=True)
