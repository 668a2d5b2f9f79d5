import json
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import check_is_fitted, validate_data

from mlreplica.callbacks import EarlyStopping, Snapshot, Trace
from mlreplica.core.iterate import CallbackSupport, iterate


class State(NamedTuple):
    w: np.ndarray
    gap: float


def halve(w, until=0):
    """A solver whose gap halves at every step; w changes in place."""
    gap = 1.0
    while gap > until:
        gap /= 2
        w += gap
        yield State(w, gap)


class Halving(CallbackSupport, RegressorMixin, BaseEstimator):
    """Predicts Σ 2⁻ᵏ: 1/2, 3/4, 7/8 … after 1, 2, 3 steps."""

    def __init__(self, tol=1e-3, max_iter=50, interrupt_at=None, keep=True):
        self.tol, self.max_iter, self.interrupt_at, self.keep = tol, max_iter, interrupt_at, keep

    def solver(self):
        steps = halve(np.zeros(1))
        while self.interrupt_at is None or self.interrupt_at > 0:
            yield next(steps)
            self.interrupt_at = self.interrupt_at and self.interrupt_at - 1
        raise KeyboardInterrupt

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        publish = (lambda s: {"coef_": s.w.copy()}) if self.keep else None
        state = iterate(
            self, self.solver(), max_iter=self.max_iter, tol=self.tol, publish=publish, X=X, y=y
        )
        self.coef_ = state.w
        return self

    def predict(self, X):
        check_is_fitted(self)
        return np.full(len(X), self.coef_[0])


X, y = np.arange(12.0).reshape(6, 2), np.ones(6)


def test_stops_as_soon_as_the_watched_number_is_small():
    model = Halving(tol=2**-5).fit(X, y)
    assert model.n_iter_ == 5
    assert model.predict(X)[0] == 1 - 2**-5


def test_a_solver_that_ends_by_itself_has_converged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = iterate(Halving(), halve(np.zeros(1), until=0.1), max_iter=99, tol=None)
    assert state.gap == 1 / 16


def test_a_spent_budget_warns_with_the_number_and_advice():
    match = r"gap 1\.2e-01 > 1\.0e-03 after 3 epochs; raise max_iter\."
    with pytest.warns(ConvergenceWarning, match=match):
        model = Halving(max_iter=3).fit(X, y)
    assert model.n_iter_ == 3


def test_verbose_writes_a_line_per_state_and_why_it_ended(capsys):
    estimator, closed = Halving(), []

    def solver():
        try:
            yield from halve(np.zeros(1), until=0.1)
        finally:
            closed.append(True)

    iterate(estimator, solver(), max_iter=9, tol=0.25, verbose=1)
    assert closed == [True]
    assert capsys.readouterr().out.splitlines() == [
        "[Halving] Initialization complete",
        "[Halving] Iteration 1, gap 0.5",
        "[Halving] Iteration 2, gap 0.25",
        "[Halving] Converged (small change): gap 0.25 within tolerance 0.25 after 2 epochs",
    ]
    iterate(estimator, solver(), max_iter=9, verbose=3, reasons=("", "no more halves"))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "[Halving] Iteration 1, gap 0.5",
        "[Halving] Iteration 3, gap 0.125",
        "[Halving] Converged (no more halves) after 4 epochs",
    ]
    iterate(estimator, solver(), max_iter=9)
    assert capsys.readouterr().out == ""


def test_an_interrupted_fit_keeps_the_last_state_and_raises_again():
    model = Halving(interrupt_at=2)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        model.fit(X, y)
    assert model.predict(X)[0] == 0.75
    assert model.n_iter_ == 2
    assert interrupt.value.__notes__ == [
        "fit was interrupted; the estimator is as it was after 2 epochs."
    ]


@pytest.mark.parametrize("model", [Halving(interrupt_at=0), Halving(interrupt_at=2, keep=False)])
def test_an_interrupted_fit_without_a_valid_state_stays_unfitted(model):
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_callbacks_are_torn_down_when_fit_fails():
    class Probe(Trace):
        ended = False

        def teardown(self, estimator, context):
            self.ended = True

    probe = Probe()
    with pytest.raises(KeyboardInterrupt):
        Halving(interrupt_at=2, keep=False).set_callbacks(probe).fit(X, y)
    assert probe.ended
    assert len(probe.states) == 2


def test_trace_records_copies_of_every_state():
    trace = Trace()
    model = Halving(tol=0.1).set_callbacks(trace).fit(X, y)
    assert [s["step"] for s in trace.states] == list(range(1, model.n_iter_ + 1))
    assert [s["w"][0] for s in trace.states] == [0.5, 0.75, 0.875, 0.9375]
    assert trace.to_frame()["gap"].tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16]
    assert "w" not in trace.to_frame()


def test_trace_to_json_holds_the_same_numbers(tmp_path):
    trace = Trace()
    Halving(tol=0.1).set_callbacks(trace).fit(X, y)
    text = trace.to_json(tmp_path / "trace.json")
    assert json.loads(text) == json.loads((tmp_path / "trace.json").read_text())
    assert json.loads(text)[1] == {"step": 2, "w": [0.75], "gap": 0.25}


def test_trace_to_json_is_strict_json():
    class Odd(NamedTuple):
        a: float
        b: np.ndarray
        c: str
        d: bool
        e: int

    trace = Trace()
    model = Halving().set_callbacks(trace)
    iterate(model, iter([Odd(np.nan, np.array([1 / 3, np.inf]), "x", True, 7)]), max_iter=2)
    (state,) = json.loads(trace.to_json(digits=3), parse_constant=pytest.fail)
    assert state == {"step": 1, "a": None, "b": [0.333, None], "c": "x", "d": True, "e": 7}


def test_trace_keeps_what_is_asked_for():
    trace = Trace(every=2, fields=["gap"])
    Halving(tol=0.1).set_callbacks(trace).fit(X, y)
    assert trace.states == [{"step": 1, "gap": 0.5}, {"step": 3, "gap": 0.125}]


def test_trace_plots_its_curves():
    import matplotlib

    matplotlib.use("agg")
    trace = Trace()
    Halving(tol=0.1).set_callbacks(trace).fit(X, y)
    axes = trace.plot()
    assert axes.get_yscale() == "log"
    assert axes.lines[0].get_ydata().tolist() == [0.5, 0.25, 0.125, 0.0625]


def test_an_empty_trace_is_empty():
    assert Trace().states == []
    assert Trace().to_json() == "[]"


def test_two_fits_do_not_mix():
    trace = Trace()
    Halving(tol=0.1).set_callbacks(trace).fit(X, y)
    Halving(tol=0.3).set_callbacks(trace).fit(X, y)
    assert [len(states) for states in trace.runs.values()] == [4, 2]
    assert len(trace.states) == 2


def test_early_stopping_on_a_field():
    class Rising(NamedTuple):
        loss: float

    losses = [5, 4, 4.5, 3.9, 6, 6, 6, 6, 6]
    stopper = EarlyStopping("loss", patience=3)
    model = Halving().set_callbacks(stopper)
    state = iterate(model, map(Rising, losses), max_iter=99)
    assert (model.n_iter_, state.loss) == (7, 6)
    assert (stopper.best_step, stopper.best_value) == (4, 3.9)


def test_early_stopping_on_held_out_data():
    target = np.array([0.75, 0.8, 0.7])  # the score is best after two steps
    stopper = EarlyStopping(X_val=X[:3], y_val=target, scoring="neg_mean_squared_error", patience=4)
    model = Halving(tol=1e-9).set_callbacks(stopper).fit(X, y)
    assert model.n_iter_ == 6
    assert stopper.best_step == 2
    assert stopper.best_estimator.predict(X)[0] == 0.75


def test_early_stopping_needs_one_thing_to_watch():
    with pytest.raises(ValueError, match="either monitor=FIELD or X_val="):
        Halving().set_callbacks(EarlyStopping()).fit(X, y)


def test_snapshots_predict_as_if_fit_had_stopped_there():
    snapshot = Snapshot(every=2, last=2)
    Halving(tol=2**-7).set_callbacks(snapshot).fit(X, y)
    assert {k: m.predict(X)[0] for k, m in snapshot.models.items()} == {4: 1 - 2**-4, 6: 1 - 2**-6}
    assert not any(name.startswith("_skl") for name in vars(snapshot.models[4]))


def test_scikit_learns_scoring_monitor_sees_every_state():
    monitor = ScoringMonitor(scoring="neg_mean_squared_error")
    model = Halving(tol=0.1).set_callbacks(monitor).fit(X, y)
    scores = [row["neg_mean_squared_error"] for row in monitor.get_logs().data][1:]
    assert scores == [-(0.5**2), -(0.25**2), -(0.125**2), -(0.0625**2)]
    assert model.n_iter_ == 4


def test_scikit_learns_progress_bar_runs(capsys):
    Halving(tol=0.1).set_callbacks(ProgressBar()).fit(X, y)
    assert "Halving" in capsys.readouterr().out


def test_callbacks_survive_clone_and_grid_search():
    trace = Trace()
    model = Halving().set_callbacks(trace)
    clone(model).fit(X, y)
    assert len(trace.runs) == 1
    search = GridSearchCV(model, {"tol": [0.1, 0.01]}, cv=2).fit(X, y)
    assert len(trace.runs) == 1 + 2 * 2 + 1
    assert search.best_estimator_.n_iter_ == len(trace.states)
