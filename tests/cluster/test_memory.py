"""Memory: the data are held once, and what is held besides grows with the rows, never with n²"""

import tracemalloc

import numpy as np
import pytest

from mlreplica.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, BisectingKMeans, KMeans
from mlreplica.mixture import BayesianGaussianMixture, GaussianMixture


def extra(model, X):
    """The most that a fit held besides X, in sizes of X."""
    model.fit(X[:2000])  # compiled by now, trees for more than a few rows too
    tracemalloc.start()
    try:
        model.fit(X)
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("model", "columns", "most"),
    [
        (KMeans(5, random_state=0, max_iter=5), 20, 0.6),
        (GaussianMixture(3, max_iter=3, random_state=0), 20, 0.6),  # less than X: it is not copied
        (BisectingKMeans(4, random_state=0, max_iter=5), 20, 1.1),  # a copy of the cluster divided
        (GaussianMixture(1, max_iter=3, init_params="random"), 20, 0.9),  # one group of all rows
        (BayesianGaussianMixture(n_components=3, max_iter=3, random_state=0), 20, 0.6),
        (AgglomerativeClustering(3), 3, 10.0),  # Ward: sums and sizes of 2n clusters
        (AgglomerativeClustering(3, linkage="single"), 3, 6.0),
        (DBSCAN(eps=100.0), 3, 8.0),  # all rows are neighbours of all
        (HDBSCAN(), 3, 40.0),  # the m nearest rows of each
    ],
    ids=lambda value: repr(value).split(",")[0],
)
@pytest.mark.filterwarnings("ignore")
def test_memory_is_linear_in_the_rows(model, columns, most):
    rng = np.random.default_rng(0)
    few, many = (extra(model, rng.normal(size=(n, columns))) for n in (8000, 16000))
    assert few < most
    assert many < 1.1 * few
