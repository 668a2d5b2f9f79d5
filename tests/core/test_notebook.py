"""What notebooks show of fitted models: facts from attributes, curves from what was recorded"""

import pickle
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.linear_model import Ridge as TheirRidge

from mlreplica.callbacks import Trace
from mlreplica.cluster import DBSCAN
from mlreplica.core.notebook import curves, facts, sparkline
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.linear_model import Lasso, Perceptron
from mlreplica.model_selection import GridSearchCV
from mlreplica.svm import SVC
from mlreplica.tree import DecisionTreeClassifier


@pytest.fixture
def lasso():
    X, y = load_diabetes(return_X_y=True)
    return Lasso(alpha=0.1).set_callbacks(Trace()).fit(X, y)


def test_facts_are_the_attributes(lasso):
    found = facts(lasso)
    assert found["features"] == "10"
    assert found["iterations"] == str(lasso.n_iter_)
    assert found["weights that are not zero"] == f"{np.count_nonzero(lasso.coef_)} of 10"
    assert f"at most {lasso.certificate_:.1e} above" in found["certificate"]


def test_facts_of_other_kinds():
    X, y = load_iris(return_X_y=True)
    svc = facts(SVC().fit(X, y))
    assert svc["classes"] == "3"
    assert int(svc["support vectors"]) == len(SVC().fit(X, y).support_)
    assert facts(DecisionTreeClassifier(max_depth=2).fit(X, y))["tree"] == "3 leaves, depth 2"
    clusters = facts(DBSCAN(eps=0.6).fit(X))
    assert clusters["clusters"] == "2"
    assert clusters["noise"].endswith(" of 150 rows")
    search = facts(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}).fit(X, y))
    assert search["best"].endswith(" with max_depth=1")


def test_curves_are_what_a_trace_recorded(lasso):
    (trace,) = lasso._skl_callbacks
    found = curves(lasso)
    assert found["gap"].tolist() == trace.scalars()["gap"]
    assert "step" not in found
    X, y = load_iris(return_X_y=True)
    assert curves(Perceptron().fit(X, y == 0)) == {}


@pytest.mark.parametrize("which", ["_repr_html_", "_repr_mimebundle_"])
def test_notebooks_show_them_below_the_diagram(lasso, which):
    shown = getattr(lasso, which)()
    shown = shown if which == "_repr_html_" else shown["text/html"]
    diagram, _, table = shown.partition("<table class='mlreplica-fit'>")
    assert "sk-top-container" in diagram
    names = [row[0].text for row in ElementTree.fromstring(f"<table>{table}").iter("tr")]
    assert names[:3] == ["features", "iterations", "weights that are not zero"]
    assert "gap" in names


def test_what_is_not_fitted_and_what_is_not_ours_is_left_alone():
    assert "mlreplica-fit" not in Lasso()._repr_html_()
    assert "mlreplica-fit" not in TheirRidge().fit([[0.0], [1.0]], [0.0, 1.0])._repr_html_()


def test_a_class_derived_by_a_user_and_a_pickle_show_them(lasso):
    class Mine(Lasso):
        pass

    model = Mine().fit([[0.0], [1.0]], [0.0, 9.0])
    assert "mlreplica-fit" in model._repr_html_()
    assert "mlreplica-fit" in pickle.loads(pickle.dumps(lasso))._repr_html_()


def heights(values):
    svg = sparkline(np.array(values, dtype=float)).partition("points='")[2].partition("'")[0]
    return [float(point.split(",")[1]) for point in svg.split()]


def test_a_curve_falls_when_the_numbers_do():
    assert heights([3.0, 2.0, 1.0]) == [3.0, 14.0, 25.0]
    assert heights([1.0, 1.0]) == [25.0, 25.0]
    assert heights([1e4, 1e2, 1.0]) == [3.0, 14.0, 25.0]  # a log scale
    assert len(heights(np.arange(10_000))) == 80
