"""Displays: what they compute is what the model says, and it is drawn so that grey suffices"""

import builtins
import subprocess
import sys
from importlib import import_module
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlreplica import ensemble, linear_model, plotting, svm, tree
from mlreplica.callbacks import Trace
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.inspection import permutation_importance

X, y = load_iris(return_X_y=True)
X2 = X[:, 2:]
D, t = load_diabetes(return_X_y=True)


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a screen, and leave no figure behind."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"backend": "agg"}):
        plt.switch_backend("agg")
        yield plt
        plt.close("all")


def looks(ax):
    """The curves that a legend names, as (dash, marker)."""
    return [(str(line._unscaled_dash_pattern), line.get_marker()) for line in ax.get_lines()]


def test_palette_is_safe_for_the_colour_blind():
    """Six colours stay apart for each kind of colour blindness (Viénot's matrices, linear RGB)."""

    def linear(name):
        code = plotting.PALETTE[name]
        c = np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)

    colours = [linear(name) for name in ("blue", "orange", "green", "purple", "gold", "sky")]
    protan = [[0.112, 0.888, 0.0], [0.112, 0.888, 0.0], [0.004, -0.004, 1.0]]
    deutan = [[0.293, 0.707, 0.0], [0.293, 0.707, 0.0], [-0.021, 0.021, 1.0]]
    paper = linear("paper").mean()
    for matrix in (np.eye(3), protan, deutan):
        seen = np.cbrt(np.clip(np.array(matrix) @ np.transpose(colours), 0, 1)).T
        apart = np.linalg.norm(seen[:, None] - seen, axis=2)
        assert apart[np.triu_indices(6, 1)].min() > 0.05
    for name in ("blue", "orange", "green", "purple", "gold", "ink", "muted"):  # WCAG, for graphics
        luminance = np.dot([0.2126, 0.7152, 0.0722], linear(name))
        assert (paper + 0.05) / (luminance + 0.05) > 3.0


def test_curves_differ_without_colour():
    from mlreplica.plotting._style import line

    dashes = [str(line(k)["linestyle"]) for k in range(6)]
    assert len(set(dashes)) == 6
    assert line(6)["color"] == line(0)["color"]
    assert line(6)["linestyle"] != line(0)["linestyle"]


def test_the_house_style_works_and_stays_in_its_context(no_window):
    before = dict(mpl.rcParams)
    with no_window.rc_context(plotting.style()):
        assert mpl.rcParams["axes.grid"]
    plotting.DecisionBoundaryDisplay.from_estimator(svm.SVC().fit(X2, y), X2, y, grid_resolution=9)
    assert dict(mpl.rcParams) == before


# ------------------------------------------------------------------------------------- boundaries


@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame, pl.DataFrame], ids=str)
def test_regions_are_predictions(frame):
    names = {"a": X[:, 0], "b": X[:, 1], "length": X[:, 2], "width": X[:, 3]}
    rows = X if frame is np.asarray else frame(names)
    labels = np.array(["se", "ve", "vi"])[y]
    model = tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels)
    columns = (2, 3) if frame is np.asarray else ("length", "width")
    display = plotting.DecisionBoundaryDisplay.from_estimator(
        model, rows, labels, columns=columns, grid_resolution=15
    )
    at = np.tile(np.median(X, axis=0), (225, 1))
    at[:, 2], at[:, 3] = display.xx0.ravel(), display.xx1.ravel()
    grid = at if frame is np.asarray else frame(dict(zip(names, at.T, strict=True)))
    assert_array_equal(model.classes_[display.response.ravel()], model.predict(grid))
    assert display.ax_.get_xlabel() == ("$x_{3}$" if frame is np.asarray else "length")
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["se", "ve", "vi"]
    hatched = display.ax_.collections[1].hatches
    assert len(set(hatched)) == 3


def test_levels_of_a_regression_and_inliers():
    model = linear_model.Ridge().fit(D[:, [2, 8]], t)
    display = plotting.DecisionBoundaryDisplay.from_estimator(
        model, D[:, [2, 8]], t, grid_resolution=12
    )
    expected = model.predict(np.column_stack([display.xx0.ravel(), display.xx1.ravel()]))
    assert_allclose(display.response.ravel(), expected)
    assert display.classes is None
    display = plotting.DecisionBoundaryDisplay.from_estimator(
        ensemble.IsolationForest(n_estimators=5, random_state=0).fit(X2), X2, grid_resolution=9
    )
    assert display.classes == ["outlier", "inlier"]
    again = plotting.DecisionBoundaryDisplay.from_predictions(
        display.xx0, display.xx1, display.response, classes=["o", "i"]
    )
    assert again.ax_ is not display.ax_


@pytest.mark.parametrize(
    "model", [svm.SVC(kernel="linear"), svm.LinearSVC(), linear_model.Perceptron()]
)
def test_margins(model):
    rows, target = X2[:100], y[:100]
    model.fit(rows, target)
    display = plotting.MarginDisplay.from_estimator(model, rows, target, grid_resolution=11)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert_allclose(display.score.ravel(), model.decision_function(grid))
    if hasattr(model, "support_vectors_"):
        assert_array_equal(display.support, model.support_vectors_)
    else:
        z = np.where(target == 1, 1, -1) * model.decision_function(rows)
        assert len(display.support) == (z <= 1 + 1e-6).sum()


def test_one_class_margin():
    model = svm.OneClassSVM(nu=0.1).fit(X2)
    display = plotting.MarginDisplay.from_estimator(model, X2, grid_resolution=9)
    assert display.levels == (0.0,)
    assert len(display.support) == len(model.support_)


# ------------------------------------------------------------------------------ paths and curves


def test_lasso_path_begins_at_nothing():
    frame = pd.DataFrame(D, columns=[f"c{j}" for j in range(10)])
    display = plotting.CoefficientPathDisplay.from_estimator(linear_model.Lasso(), frame, t)
    assert not display.coefs[:, -1].any()
    assert display.coefs[:, -2].any()
    expected = linear_model.Lasso(alpha=display.values[30]).fit(D, t).coef_
    assert_allclose(display.coefs[:, 30], expected, rtol=1e-6, atol=1e-6)
    left, right = display.ax_.get_xlim()
    assert left > right
    texts = display.ax_.get_legend().get_texts()
    assert len(texts) == 6
    assert {text.get_text() for text in texts} < set(frame.columns)
    assert len(set(looks(display.ax_)[4:10])) == 6
    known = plotting.CoefficientPathDisplay.from_path(display.values, display.coefs)
    assert_array_equal(known.coefs, display.coefs)


def test_path_of_a_classifier():
    display = plotting.CoefficientPathDisplay.from_estimator(
        linear_model.LogisticRegression(), X[:100], y[:100], param_range=[0.1, 1.0]
    )
    assert display.param_name == "C"
    assert display.coefs.shape == (4, 2)


def test_convergence():
    trace = Trace()
    model = linear_model.LogisticRegression(solver="saga", max_iter=200, random_state=0)
    model.set_callbacks(trace).fit(X, y)
    display = plotting.ConvergenceDisplay.from_trace(trace)
    gap, objective = display.ax_.get_lines()
    above = np.array(trace.scalars()["objective"])
    shown = objective.get_ydata()
    assert_allclose(shown, (above - above.min())[above > above.min()])
    assert (shown <= gap.get_ydata()[: len(shown)] + 1e-12).all()  # the certificate is one
    assert display.ax_.get_yscale() == "log"
    same = plotting.ConvergenceDisplay.from_estimator(model, X, y)
    assert_allclose(same.curves["gap"], display.curves["gap"])
    boosted = ensemble.GradientBoostingRegressor(n_estimators=5, n_iter_no_change=9, random_state=0)
    display = plotting.ConvergenceDisplay.from_estimator(boosted, D, t)
    assert [line.get_label() for line in display.ax_.get_lines()] == ["loss", "validation_loss"]


def test_learning_and_validation_curves(no_window):
    figure, (a, b) = no_window.subplots(1, 2)
    options = {"cv": 3, "n_jobs": 2}
    display = plotting.LearningCurveDisplay.from_estimator(
        linear_model.RidgeClassifier(), X, y, shuffle=True, random_state=0, ax=a, **options
    )
    assert display.figure_ is figure
    assert [label for _, label in looks(a)] == ["o", "s"]
    display = plotting.ValidationCurveDisplay.from_estimator(
        linear_model.Ridge(), D, t, param_name="alpha", param_range=[0.1, 1.0], ax=b,
        score_type="test", **options,
    )  # fmt: skip
    assert display.ax_ is b
    assert looks(b)[0][1] == "s"


def test_bias_and_variance():
    display = plotting.BiasVarianceDisplay.from_estimator(
        linear_model.Ridge(), D, t, n_draws=30, random_state=0
    )
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [
        "error", "variance", "noise + bias²",
    ]  # fmt: skip
    assert display.result.plot() is not None


# ----------------------------------------------------------------------------------------- models


def test_importances():
    model = linear_model.Ridge(alpha=0.1).fit(D, t)
    display = plotting.ImportanceDisplay.from_estimator(model, D, t, random_state=0, n_repeats=3)
    expected = permutation_importance(model, D, t, random_state=0, n_repeats=3)
    assert_array_equal(display.importances, expected.importances_mean)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert all(a >= b for a, b in pairwise(widths))
    display = plotting.ImportanceDisplay.from_estimator(model, most=3)
    assert len(display.ax_.patches) == 3
    assert "7 more not shown" in display.ax_.get_xlabel()
    forest = ensemble.RandomForestClassifier(3, random_state=0).fit(X, y)
    display = plotting.ImportanceDisplay.from_estimator(forest)
    assert_array_equal(display.importances, forest.feature_importances_)
    names = list("abcd")
    display = plotting.ImportanceDisplay.from_values(
        forest.feature_importances_, feature_names=names
    )
    top = names[forest.feature_importances_.argmax()]
    assert display.ax_.get_yticklabels()[0].get_text() == top


def test_trees():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ensemble.GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(frame, y)
    display = plotting.TreeDisplay.from_estimator(model, member=4)
    assert display.tree is model.estimators_[1, 1]
    texts = [text.get_text() for text in display.ax_.texts]
    assert any(text.startswith(("a", "b", "c", "d")) for text in texts)


# -------------------------------------------------------------------------------------- animation


@pytest.fixture(scope="module")
def trace():
    trace = Trace()
    linear_model.Perceptron(random_state=0).set_callbacks(trace).fit(X2[50:], y[50:])
    return trace


def test_trace_plot(trace, no_window):
    ax = trace.plot(ax=no_window.figure().gca())
    assert len(set(looks(ax))) == len(ax.get_lines()) > 1


def test_a_film_needs_nothing_but_itself(trace, tmp_path):
    film = trace.animate(tmp_path / "film.html", X=X2[50:], y=y[50:], frames=4, title="<A & B>")
    page = (tmp_path / "film.html").read_text(encoding="utf-8")
    assert page == film.to_html()
    assert len(film.frames) == 4
    assert film.labels[0] == "step 1 of 20"
    assert film.labels[-1] == "step 20 of 20"
    assert "http" not in page
    assert "<title>&lt;A &amp; B&gt;</title>" in page
    assert page.count("data:image/png;base64,") == 2
    assert all(frame.startswith(b"\x89PNG") for frame in film.frames)
    assert len(set(film.frames)) == 4


def test_a_film_as_gif(trace, tmp_path):
    from PIL import Image

    path = tmp_path / "film.gif"
    trace.animate(path, frames=3, fps=5)
    with Image.open(path) as picture:
        assert picture.n_frames == 3
        assert picture.info["duration"] == 200
    with pytest.raises(ValueError, match="a film is saved as"):
        trace.animate(tmp_path / "film.avi", frames=2)


def test_draw_your_own(trace):
    seen = []

    def draw(figure, state):
        seen.append(state["step"])
        figure.subplots().plot(state["w"][0])

    trace.animate(draw=draw, frames=2)
    assert seen == [1, 20]


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (ensemble.GradientBoostingRegressor(n_estimators=4), t),  # curves only
        (linear_model.SGDRegressor(alpha=1.0, random_state=0), t),  # weights and curves
        (tree.DecisionTreeRegressor(max_depth=2), t),  # numbers only
    ],
)
@pytest.mark.filterwarnings("ignore:.*raise max_iter")
def test_any_trace_makes_a_film(model, target):
    trace = Trace()
    model.set_callbacks(trace).fit(D, target)
    film = trace.animate(frames=2)
    assert film.frames[0] != film.frames[1]


# ----------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: plotting.DecisionBoundaryDisplay.from_estimator(
                tree.DecisionTreeClassifier().fit(X, y), X, columns=(0, 1, 2)
            ),
            ValueError,
            "two columns of X",
        ),
        (
            lambda: plotting.MarginDisplay.from_estimator(svm.SVC().fit(X, y), X, y),
            ValueError,
            "over two columns, got 4",
        ),
        (
            lambda: plotting.MarginDisplay.from_estimator(svm.SVC().fit(X2, y), X2, y),
            ValueError,
            "between two classes",
        ),
        (
            lambda: plotting.TreeDisplay.from_estimator(svm.SVC().fit(X, y)),
            TypeError,
            "SVC is no tree and has none",
        ),
        (
            lambda: plotting.ImportanceDisplay.from_estimator(svm.SVC().fit(X, y)),
            TypeError,
            "SVC has no importances: give X and y",
        ),
        (
            lambda: plotting.ConvergenceDisplay.from_estimator(
                ensemble.RandomForestClassifier(2), X, y
            ),
            TypeError,
            "fitted in one step",
        ),
        (lambda: plotting.ConvergenceDisplay.from_trace(Trace()), ValueError, "trace is empty"),
        (lambda: Trace().animate(), ValueError, "no steps, or nothing was fitted"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_extra_is_named_where_matplotlib_is_missing(monkeypatch):
    plain_import = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return plain_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'mlreplica\[plot\]'"):
        plotting.ImportanceDisplay.from_values([1.0])


def test_importing_the_chapter_imports_no_matplotlib():
    code = "import mlreplica.plotting as p, sys; p.TreeDisplay; p.Animation; p.MarginDisplay\n"
    code += "sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


REEXPORTED = [
    ("metrics", "ConfusionMatrixDisplay", {}),
    ("metrics", "RocCurveDisplay", {}),
    ("metrics", "PrecisionRecallDisplay", {}),
    ("metrics", "DetCurveDisplay", {}),
    ("metrics", "PredictionErrorDisplay", {}),
    ("calibration", "CalibrationDisplay", {}),
    ("inspection", "DecisionBoundaryDisplay", {}),
    ("model_selection", "LearningCurveDisplay", {"cv": 2}),
    (
        "model_selection",
        "ValidationCurveDisplay",
        {"cv": 2, "param_name": "alpha", "param_range": [1, 2]},
    ),
]


@pytest.mark.parametrize(("chapter", "name", "options"), REEXPORTED, ids=str)
def test_scikit_learns_displays_are_under_its_names_and_draw_our_models(chapter, name, options):
    display = getattr(import_module(f"mlreplica.{chapter}"), name)
    assert name in import_module(f"mlreplica.{chapter}").__all__
    if name in ("PredictionErrorDisplay", "LearningCurveDisplay", "ValidationCurveDisplay"):
        drawn = display.from_estimator(linear_model.Ridge(alpha=1.0).fit(D, t), D, t, **options)
    else:
        model = linear_model.LogisticRegression().fit(X2, y == 2)
        targets = () if chapter == "inspection" else (y == 2,)
        drawn = display.from_estimator(model, X2, *targets, **options)
    assert drawn.ax_.figure is drawn.figure_


def test_chapters_with_displays_leave_matplotlib_alone_until_one_is_used():
    code = (
        "import sys; from mlreplica import calibration, inspection, metrics, model_selection;"
        "metrics.RocCurveDisplay, inspection.DecisionBoundaryDisplay;"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
