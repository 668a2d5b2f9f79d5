"""Displays of neighbours and of prototypes"""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlreplica.neighbors import LVQClassifier, NearestCentroid, NearestNeighbors
from mlreplica.plotting import NeighboursDisplay

mpl.use("Agg")
X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [4.0, 4.0], [5.0, 4.0], [4.0, 5.0]])
Y = np.array([0, 0, 0, 1, 1, 1])


def test_every_query_is_joined_to_its_neighbours():
    search = NearestNeighbors(n_neighbors=2, radius=1.1).fit(X)
    display = NeighboursDisplay.from_estimator(search, X, queries=[[0.1, 0.1], [4.1, 4.1]])
    assert_array_equal(np.sort(display.neighbours[0])[0], 0)
    assert len(display.ax_.lines) == 2 * 2 + 1


def test_the_border_between_two_prototypes_is_drawn_half_way():
    model = NearestCentroid().fit(X, Y)
    display = NeighboursDisplay.from_estimator(model, X, Y)
    middle = model.centroids_.mean(axis=0)
    ends = [line.get_xydata() for line in display.ax_.lines]
    away = [
        abs(float(np.linalg.det(np.stack([b - a, middle - a])))) / np.linalg.norm(b - a)
        for a, b in ends
    ]
    assert min(away) < 1e-9
    lvq = LVQClassifier("lvq1", random_state=0).fit(X, Y)
    assert NeighboursDisplay.from_estimator(lvq, X, Y).prototypes.shape == (2, 2)


def test_cells_of_a_learned_metric_end_where_its_distances_are_equal():
    model = LVQClassifier("gmlvq", random_state=0).fit(X * [1.0, 5.0], Y)
    display = NeighboursDisplay.from_estimator(model, X * [1.0, 5.0], Y)
    low, high = np.transpose([display.ax_.get_xlim(), display.ax_.get_ylim()])
    inside = [p for line in display.ax_.lines for p in np.linspace(*line.get_xydata(), 2001)]
    inside = [p for p in inside if (low <= p).all() and (p <= high).all()]
    assert inside
    distances = [np.linalg.norm((p - model.prototypes_) @ model.omega_.T, axis=1) for p in inside]
    assert_allclose(*np.transpose(distances), rtol=1e-6)


def test_rows_of_three_columns_are_refused():
    with pytest.raises(ValueError, match="two columns"):
        NeighboursDisplay.from_estimator(NearestNeighbors().fit(np.eye(6)[:, :3]), np.eye(6)[:, :3])
