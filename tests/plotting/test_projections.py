"""Displays of components, columns, covariances and boundaries of classes"""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlreplica.covariance import MinCovDet
from mlreplica.datasets import load_iris
from mlreplica.decomposition import PCA
from mlreplica.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from mlreplica.plotting import (
    BiplotDisplay,
    CovarianceEllipseDisplay,
    DecisionBoundaryDisplay,
    ScreeDisplay,
)

mpl.use("Agg")
X, y = load_iris(return_X_y=True)


def test_bars_are_shares_and_the_line_is_their_sum():
    model = PCA().fit(X)
    ax = ScreeDisplay.from_estimator(model).ax_
    assert_allclose([bar.get_height() for bar in ax.patches], model.explained_variance_ratio_)
    assert_allclose(ax.lines[0].get_ydata()[-1], 1.0)


def test_a_biplot_has_every_row_and_column():
    model = PCA(2, standardize=True).fit(X)
    display = BiplotDisplay.from_estimator(model, X, y, feature_names=["a", "b", "c", "d"])
    drawn = np.vstack([dots.get_offsets() for dots in display.ax_.collections])
    assert_allclose(np.sort(drawn, axis=0), np.sort(model.transform(X), axis=0))
    assert [text.get_text() for text in display.ax_.texts if text.get_text()] == list("abcd")
    with pytest.raises(ValueError, match="two components"):
        BiplotDisplay.from_estimator(PCA(1).fit(X), X)
    flat = np.ones((5, 3))
    assert np.isfinite(BiplotDisplay.from_estimator(PCA(2).fit(flat), flat).ax_.get_xlim()).all()


@pytest.mark.parametrize(
    "model",
    [
        MinCovDet(random_state=0),
        LinearDiscriminantAnalysis(store_covariance=True),
        QuadraticDiscriminantAnalysis(store_covariance=True),
    ],
)
def test_every_point_of_an_ellipse_has_its_distance(model):
    model.fit(X[:, 2:], y)
    display = CovarianceEllipseDisplay.from_estimator(model, levels=(1.5, 2.5))
    lines = iter(display.ax_.lines)
    for m, C in zip(display.means, display.covariances, strict=True):
        for level in (1.5, 2.5):
            d = next(lines).get_xydata() - m
            distances = np.einsum("ij,ij->i", d @ np.linalg.inv(C), d)
            assert_allclose(np.sqrt(distances), level, rtol=1e-8)
    assert next(lines, None) is None


def test_ellipses_need_two_columns_and_a_covariance():
    with pytest.raises(ValueError, match="two columns"):
        CovarianceEllipseDisplay.from_estimator(MinCovDet(random_state=0).fit(X))
    with pytest.raises(ValueError, match="store_covariance"):
        CovarianceEllipseDisplay.from_estimator(LinearDiscriminantAnalysis().fit(X[:, :2], y))


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_regions_of_discriminants_are_what_they_predict(kind):
    model = kind().fit(X[:, 2:], y)
    display = DecisionBoundaryDisplay.from_estimator(model, X[:, 2:], y)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert_array_equal(display.response.ravel(), model.predict(grid))
