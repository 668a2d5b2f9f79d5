"""Displays of contributions: what is drawn is what was explained"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.inspection import explain
from mlreplica.plotting import BeeswarmDisplay, ContributionDependenceDisplay, WaterfallDisplay
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.fixture(scope="module")
def found():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return explain(DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y), X[:60])


def test_waterfall_ends_at_the_answer(found):
    display = WaterfallDisplay.from_explanation(found, row=7, most=3)
    bars = display.ax_.patches
    assert len(bars) == 4  # three columns and the rest
    assert_allclose(sum(bar.get_width() for bar in bars) + display.base, found.answers[7])
    top = bars[-1]
    assert_allclose(top.get_x() + top.get_width(), found.answers[7])
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[0] == "7 other columns"
    largest = np.argmax(np.abs(found.values[7]))
    assert labels[-1].startswith(found.feature_names[largest])


def test_beeswarm_has_a_dot_per_row_and_the_most_important_column_on_top(found):
    display = BeeswarmDisplay.from_explanation(found, most=4)
    dots = display.ax_.collections
    assert [len(d.get_offsets()) for d in dots] == [60] * 4
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names[::-1] == list(found.importance())[:4]
    heights = dots[3].get_offsets()[:, 1] - 3
    assert np.abs(heights).max() <= 0.5


def test_dependence_draws_one_column(found):
    display = ContributionDependenceDisplay.from_explanation(found, "bmi")
    j = found.feature_names.index("bmi")
    assert_allclose(
        display.ax_.collections[0].get_offsets(), np.c_[found.data, found.values][:, [j, j + 10]]
    )
    with pytest.raises(ValueError, match="feature must be one of age"):
        ContributionDependenceDisplay.from_explanation(found, "weight")


def test_one_of_several_outputs_is_chosen():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    several = explain(model, X)
    display = WaterfallDisplay.from_explanation(several, 0, output=2)
    assert_allclose(
        display.base + display.contributions.sum(), model.predict_proba(X)[0, 2], atol=1e-12
    )
    with pytest.raises(ValueError, match="output must be one of 0 to 2"):
        BeeswarmDisplay.from_explanation(several)
    with pytest.raises(ValueError, match="not interactions"):
        WaterfallDisplay.from_explanation(explain(model, X[:3], interactions=True), output=0)
