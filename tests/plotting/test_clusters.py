"""Displays of clusters, of trees of joins, and of numbers of clusters"""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlreplica.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans, choose_k
from mlreplica.mixture import GaussianMixture
from mlreplica.plotting import ChooseKDisplay, ClusterDisplay, DendrogramDisplay

mpl.use("Agg")
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) + 9, [[30.0, -30.0, 0.0]]])


def test_rows_stand_in_the_plane_of_two_components():
    display = ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X)
    U = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert_allclose(np.abs(display.Z), np.abs(U[0][:, :2] * U[1][:2]), atol=1e-9)
    assert display.centers.shape == (2, 2)
    assert display.ax_.get_xlabel() == "first component"


def test_noise_is_grey_and_crossed():
    display = ClusterDisplay.from_estimator(DBSCAN(eps=4.0).fit(X), X)
    (noise,) = (line for line in display.ax_.lines if line.get_label() == "noise")
    assert_array_equal(noise.get_xydata(), display.Z[[40]])


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_mixture_has_ellipses(kind):
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X[:40, :2])
    display = ClusterDisplay.from_estimator(model, X[:40, :2])
    assert display.covariances.shape == (2, 2, 2)
    outer = display.ax_.lines[1].get_xydata() - model.means_[0]
    P = np.linalg.inv(display.covariances[0])
    assert_allclose(np.einsum("ij,jk,ik->i", outer, P, outer), 4.0, rtol=1e-6)


def test_brackets_are_joins():
    model = AgglomerativeClustering(3, compute_distances=True).fit(X)
    display = DendrogramDisplay.from_estimator(model, n_shown=50)
    joins = [line for line in display.ax_.lines if len(line.get_xdata()) == 4]
    assert_allclose([line.get_ydata()[1] for line in joins], model.distances_, rtol=1e-12)
    assert model.distances_[-3] < display.cut < model.distances_[-2]
    few = DendrogramDisplay.from_estimator(HDBSCAN().fit(X), n_shown=5)
    assert len([line for line in few.ax_.lines if len(line.get_xdata()) == 4]) == 5
    sizes = [text.get_text() for text in few.ax_.get_xticklabels()]
    assert sum(int(t[1:-1]) if t.startswith("(") else 1 for t in sizes) == 41
    with pytest.raises(ValueError, match="compute_distances"):
        DendrogramDisplay.from_estimator(AgglomerativeClustering().fit(X))


def test_the_chosen_number_is_marked():
    found = choose_k(X[:40], ks=range(1, 5), random_state=0)
    display = ChooseKDisplay(found).plot()
    assert display.ax_.lines[-1].get_xdata()[0] == found.k == 2
