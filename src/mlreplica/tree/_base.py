"""What the four trees share: parameters, validation, growth and the walk of new rows"""

from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import Bunch, metadata_routing
from sklearn.utils.validation import assert_all_finite, check_array, check_is_fitted

from mlreplica.core.compat import (
    Interval,
    RealNotInt,
    StrOptions,
    _check_n_features,
    _check_sample_weight,
)
from mlreplica.core.formulas.draws import seeded
from mlreplica.core.growth.grow import Columns, grow
from mlreplica.core.growth.options import columns_drawn, least_rows, monotonic_signs
from mlreplica.core.growth.pruning import prune, pruning_path
from mlreplica.core.inputs import Inputs
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import FLOATS, ValidatedOnce, is_plain, validate_data

SEEDS = 2**31 - 1


def first_draw(random_state):
    """The seed of the kernel, as scikit-learn draws it."""
    return seeded(random_state).randint(0, SEEDS)


class BaseTree(CallbackSupport, MultiOutputMixin, ValidatedOnce, BaseEstimator):
    """A tree in the making; see the four classes."""

    __metadata_request__predict = {"check_input": metadata_routing.UNUSED}
    _inputs = None  # how categories are numbered; None without any

    _parameter_constraints: dict = {
        "splitter": [StrOptions({"best", "random"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "random_state": ["random_state"],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
        "monotonic_cst": ["array-like", None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    }

    def _read(self, X, y):
        """X dense and finite or missing, categories by their numbers; y as given."""
        if self._inputs is not None:
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but it is None.")
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
            return self._finite(self._inputs.rows(self, X, reset=True)), y
        if is_plain(X, y, "biuf", contiguous=False):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        X_options = {"dtype": FLOATS, "accept_sparse": "csc", "ensure_all_finite": False}
        y_options = {"ensure_2d": False, "dtype": None}
        X, y = validate_data(self, X, y, validate_separately=(X_options, y_options))
        if issparse(X):
            assert_all_finite(X.data, estimator_name=type(self).__name__, input_name="X")
            return X.toarray(), y
        return self._finite(X), y

    def _finite(self, X):
        """X, once it is known that it has no infinity."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = X.sum()
        if not np.isfinite(total):
            name = type(self).__name__
            assert_all_finite(X, allow_nan=True, estimator_name=name, input_name="X")
        return X

    def _find_categories(self, X):
        """Which columns of X are categorical, and how their categories are numbered."""
        self._inputs, self.is_categorical_ = None, None
        if self.categorical_features is None:
            return
        inputs = Inputs(self, X, unknown=-1)
        if inputs.categorical is not None:
            self._inputs, self.is_categorical_ = inputs, inputs.categorical

    def _grow(self, X, y, weight, n_classes=None):
        """Grow and prune; y is (n, outputs)."""
        n, p = X.shape
        if len(y) != n:
            raise ValueError(f"Number of labels={len(y)} does not match number of samples={n}")
        self.max_features_ = columns_drawn(self.max_features, p)
        total = n if weight is None else weight.sum()
        signs = monotonic_signs(self.monotonic_cst, p, self.n_outputs_, n_classes)
        if signs is not None and self._inputs is not None and signs[self.is_categorical_].any():
            raise ValueError("Categorical features cannot have monotonic constraints.")
        self.tree_, _ = grow(
            Columns(X, self.is_categorical_),
            y[:, 0] if y.shape[1] == 1 else y,
            weight,
            criterion=self.criterion,
            n_classes=n_classes,
            splitter=self.splitter,
            max_depth=self.max_depth,
            **least_rows(self.min_samples_split, self.min_samples_leaf, n),
            min_weight_leaf=self.min_weight_fraction_leaf * total,
            max_features=self.max_features_,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            monotonic_cst=signs,
            seed=first_draw(self.random_state),
        )
        if self.ccp_alpha > 0.0:
            self.tree_ = prune(self.tree_, self.ccp_alpha)
        if getattr(self, "_skl_callbacks", None):
            from ._watch import watch

            nodes = watch(self.tree_, X, y, weight, self.criterion, self.is_categorical_)
            iterate(self, nodes, max_iter=self.tree_.node_count, unit="nodes", advice=None)
        return self

    def _weights(self, sample_weight, X):
        """Weights as float64, none of them negative, or None."""
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must have a positive entry; all are zero.")
        return weight

    def _rows(self, X, check_input):
        """New rows: dense, with the columns seen in fit."""
        check_is_fitted(self)
        if self._inputs is not None:
            X = self._finite(self._inputs.rows(self, X, reset=False))
        elif not check_input:
            _check_n_features(self, X, reset=False)
        elif not (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.shape[1] == self.n_features_in_
            and len(X)
            and not hasattr(self, "feature_names_in_")
            and np.isfinite(X.sum())
        ):
            finite = True if issparse(X) else "allow-nan"
            X = validate_data(
                self, X, dtype=FLOATS, accept_sparse="csr", reset=False, ensure_all_finite=finite
            )
        return X

    def apply(self, X, check_input=True):
        """The leaf that each row ends in.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        check_input : bool, default=True
            False skips the validation of X.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Numbers of nodes of `tree_`.
        """
        X = self._rows(X, check_input)
        return self.tree_.apply(X)

    def decision_path(self, X, check_input=True):
        """The nodes that each row comes by.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        check_input : bool, default=True
            False skips the validation of X.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row comes by.
        """
        X = self._rows(X, check_input)
        return self.tree_.decision_path(X)

    def get_depth(self):
        """The depth of the tree: the longest way from the root to a leaf.

        Returns
        -------
        depth : int
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self):
        """How many leaves the tree has.

        Returns
        -------
        n_leaves : int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """The penalties at which minimal cost-complexity pruning removes the next branch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        path : Bunch
            `ccp_alphas`, ascending, and `impurities`, the leaves' impurity at each of them.
        """
        model = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight)
        alphas, impurities = pruning_path(model.tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    @property
    def feature_importances_(self):
        """How much each feature lowers the impurity, of all 1."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def _repr_mimebundle_(self, **options):
        """Notebooks show a fitted tree that is not too large as a drawing, below the diagram."""
        output = super()._repr_mimebundle_(**options)
        if "text/html" in output and hasattr(self, "tree_") and self.tree_.max_depth <= 5:
            from ._svg import draw

            output["text/html"] += draw(self)
        return output

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
