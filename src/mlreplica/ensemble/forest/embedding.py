r"""Random trees as an embedding: a row is the list of the leaves it falls into

A tree that draws both the column and the threshold of every split looks at no target: it divides
the rows at random into boxes, small ones where rows are dense. With L_t leaves in tree t, a row
becomes

    φ(x) ∈ {0, 1}^L,    L = Σ_t L_t,    φ(x)_l = 1  if x falls into leaf l                    (4)

with exactly one 1 per tree. The inner product φ(x)ᵀφ(x') counts the trees in which two rows share a
leaf, so T⁻¹φ(x)ᵀφ(x') estimates a similarity that depends on ranks more than on units, and linear
models on φ are additive in boxes.

The grower is that of extra trees, which wants a target to know when a node needs no split: here a
number per distinct row, so that a node with copies of one row is a leaf.

Moosmann, Triggs, Jurie, Fast discriminative visual codebooks using randomized clustering forests
(2006).
"""

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica import tree
from mlreplica.core.card import LEARNED, UNSCALED, Card
from mlreplica.core.compat import _align_api_if_sparse, _check_feature_names_in, _num_samples
from mlreplica.core.growth.tree import LEAF
from mlreplica.preprocessing import OneHotEncoder

from .base import Forest

PARAMETERS = (
    "n_estimators", "max_depth", "min_samples_split", "min_samples_leaf",
    "min_weight_fraction_leaf", "max_leaf_nodes", "min_impurity_decrease", "n_jobs",
    "random_state", "verbose", "warm_start",
)  # fmt: skip


def numbered_rows(X, rng):
    """A number for every distinct row: where its random projection comes in their order."""
    projected = (np.nan_to_num(X) * rng.uniform(1.0, 2.0, X.shape[1])).sum(axis=1)
    return np.unique(projected, return_inverse=True)[1].astype(np.float64)


class RandomTreesEmbedding(TransformerMixin, Forest):
    """The leaves of totally random trees as sparse columns: (4).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int, default=5
        Most splits between the root and a leaf; None for no limit. A tree has at most
        2 ** max_depth leaves.
    min_samples_split : int or float, default=2
        Fewest rows of a node that is split; a float for a share of all.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf; a float for a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight in a leaf.
    max_leaf_nodes : int, default=None
        Most leaves.
    min_impurity_decrease : float, default=0.0
        What a split must gain.
    sparse_output : bool, default=True
        Return a sparse matrix in CSR.
    n_jobs : int, default=None
        Threads; None for all. The trees do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws columns and thresholds.
    verbose : int, default=0
        Above 0, write how many trees were grown, and the seconds, on standard output.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
        The trees, as estimators.
    one_hot_encoder_ : OneHotEncoder
        What makes the columns from the leaves that `apply` returns.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much each column lowers the impurity of random targets: about the same.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_outputs_ : int
        Always 1: the trees have one random target.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import RandomTreesEmbedding
    >>> X, _ = load_iris(return_X_y=True)
    >>> boxes = RandomTreesEmbedding(n_estimators=10, max_depth=2, random_state=0).fit_transform(X)
    >>> boxes.shape[0], int(boxes.sum(axis=1).max())
    (150, 10)
    """

    card = Card(
        page="random-forest",
        checks="forest",
        input="rows",
        use="rows as sparse columns of zeros and ones, for linear models and similarities",
        good="fast; no target needed; follows the density of the rows; any units",
        bad="many columns; random boxes know nothing of the question",
        time="O(n) per level and tree",
        memory="O(n p), all nodes, and one number per row and tree",
        rescaling=UNSCALED,
        missing=LEARNED,
        instead="Nystroem or RBFSampler for smooth similarities, SplineTransformer for curves",
    )

    criterion, max_features, ccp_alpha, monotonic_cst = "squared_error", 1, 0.0, None
    bootstrap, oob_score, max_samples = False, False, None
    _splitter = "random"
    _tree_class = staticmethod(lambda: tree.ExtraTreeRegressor)
    _parameter_constraints: dict = {
        name: rule
        for source in (Forest, tree.DecisionTreeRegressor)
        for name, rule in source._parameter_constraints.items()
        if name in PARAMETERS
    } | {"sparse_output": ["boolean"]}

    def __init__(
        self,
        n_estimators=100,
        *,
        max_depth: int | None = 5,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        sparse_output=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self._keep(locals())

    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        y : None
            Above 0, write how many trees were grown, and the seconds, on standard output.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: one of weight 0 makes no box, and leaves have a least weight.

        Returns
        -------
        self : RandomTreesEmbedding
            The fitted trees.
        """
        return super().fit(X, np.zeros(_num_samples(X)), sample_weight)

    def _encoded(self, y, _):
        """The place of targets, and no weights."""
        return y, None

    def _grow(self, X, y, seeds):
        """Trees for numbered rows."""
        y = numbered_rows(X, check_random_state(self.random_state))
        return super()._grow(X, y[:, None], seeds)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Grow the trees, and embed the same rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Above 0, write how many trees were grown, and the seconds, on standard output.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        csr_matrix or ndarray of shape (n_samples, n_leaves)
            (4) of every row.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def transform(self, X):
        """Embed rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        csr_matrix or ndarray of shape (n_samples, n_leaves)
            (4) of every row.
        """
        check_is_fitted(self)
        leaves = self.apply(X)
        n, T = leaves.shape
        is_leaf = [grown.children_left == LEAF for grown in self._trees]
        starts = np.cumsum([0, *map(len, is_leaf)])[:-1]
        columns = (np.cumsum(np.concatenate(is_leaf)) - 1)[leaves + starts]
        shape = n, self._n_features_out
        if self.sparse_output:
            ones, indptr = np.ones(n * T), np.arange(0, n * T + 1, T)
            return _align_api_if_sparse(sp.csr_array((ones, columns.ravel(), indptr), shape=shape))
        out = np.zeros(shape)
        out[np.arange(n)[:, None], columns] = 1.0
        return out

    def _leaves(self):
        """The numbers of the leaves of each tree."""
        return [np.flatnonzero(grown.children_left == LEAF) for grown in self._trees]

    @property
    def _n_features_out(self):
        """L"""
        return sum(map(len, self._leaves()))

    @property
    def one_hot_encoder_(self):
        """What makes (4) from the leaves that `apply` returns."""
        if not hasattr(self, "_trees"):
            raise AttributeError(f"This {type(self).__name__} has no attribute 'one_hot_encoder_'")
        leaves = self._leaves()
        encoder = OneHotEncoder(categories=leaves, sparse_output=self.sparse_output)
        return encoder.fit([[found[0] for found in leaves]])

    def get_feature_names_out(self, input_features=None):
        """Names of the new columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Checked against the names that `fit` saw.

        Returns
        -------
        ndarray of str
            "randomtreesembedding_{tree}_{leaf}", with the leaf's number among all nodes.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        names = [f"randomtreesembedding_{t}_{l}" for t, ls in enumerate(self._leaves()) for l in ls]
        return np.array(names, dtype=object)
