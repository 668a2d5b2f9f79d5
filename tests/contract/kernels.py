"""What every kernel must satisfy, ours or a user's: `satisfy(K)` runs all of it."""

import copy
import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from mlreplica.kernels import Kernel

COLUMNS = 3
matrices = arrays(
    float,
    st.tuples(st.integers(1, 8), st.just(COLUMNS)),
    elements=st.floats(-3.0, 3.0, width=32),
)


def symmetric_and_positive_semidefinite(K):
    """A Gram matrix has no negative eigenvalue beyond rounding."""

    @settings(deadline=None, max_examples=40)
    @given(X=matrices)
    def property_(X):
        G = K(X)
        np.testing.assert_allclose(G, G.T, rtol=1e-12, atol=1e-12 * np.abs(G).max())
        assert np.linalg.eigvalsh(G).min() >= -1e-12 * len(G) * np.abs(G).max()

    property_()


def entries_belong_to_their_rows(K):
    """K(X, Y) has K(x_i, y_j) at (i, j), its diagonal is `diag`, and `out` is filled."""

    @settings(deadline=None, max_examples=25)
    @given(X=matrices, Y=matrices)
    def property_(X, Y):
        G = K(X, Y)
        close = {"rtol": 1e-9, "atol": 1e-12 * (1.0 + np.abs(G).max())}
        for i in range(len(X)):
            for j in range(len(Y)):
                np.testing.assert_allclose(K(X[i : i + 1], Y[j : j + 1])[0, 0], G[i, j], **close)
        np.testing.assert_allclose(K(Y, X), G.T, **close)
        np.testing.assert_allclose(np.diag(K(X)), K.diag(X), rtol=1e-14)
        np.testing.assert_allclose(np.diag(K(X, X.copy())), K.diag(X), **close)
        out = np.full((len(X), len(Y)), np.nan)
        assert K.block(X, Y, out=out) is out
        np.testing.assert_allclose(out, G, **close)

    property_()


def feature_map_is_a_root(K):
    """K(X, Y) = φ(X) φ(Y)ᵀ."""

    @settings(deadline=None, max_examples=25)
    @given(X=matrices, Y=matrices)
    def property_(X, Y):
        G = K(X, Y)
        product = K.feature_map(X) @ K.feature_map(Y).T
        np.testing.assert_allclose(product, G, rtol=1e-10, atol=1e-11 * (1.0 + np.abs(G).max()))

    property_()


def is_a_value(K):
    """Equal and of equal hash after copying and pickling; unchanged by scikit-learn's clone."""
    for twin in (pickle.loads(pickle.dumps(K)), copy.deepcopy(K)):
        assert twin == K
        assert hash(twin) == hash(K)
        assert repr(twin) == repr(K)
    assert clone(KernelRidge(kernel=K)).kernel == K


def satisfy(K: Kernel, finite: bool = False) -> None:
    """Raise if K breaks the contract of a kernel (`finite`: it has a feature map)."""
    symmetric_and_positive_semidefinite(K)
    entries_belong_to_their_rows(K)
    is_a_value(K)
    if finite:
        feature_map_is_a_root(K)
