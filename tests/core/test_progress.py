"""Bars of running fits: in a terminal, in a file, in a notebook, and from other processes"""

import pickle
import re

import IPython
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mlreplica.callbacks import ProgressBar, Trace
from mlreplica.core import progress
from mlreplica.core.progress import Bar, Board, Notebook, Terminal
from mlreplica.linear_model import Lasso
from mlreplica.preprocessing import StandardScaler


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    return X, X @ [1.0, -2.0, 0.0, 0.0, 0.5] + rng.normal(size=40)


def test_a_file_gets_the_last_line_only(rows, capsys):
    model = Lasso(alpha=0.1).set_callbacks(ProgressBar()).fit(*rows)
    line = capsys.readouterr().err
    assert re.fullmatch(r"Lasso +█{20}  \d+   \d+\.\d s   objective [\d.]+, gap .*\n", line)
    assert model._skl_callbacks[0].listeners == {}


def test_a_terminal_writes_over_its_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PAUSE", -1.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    board = Board()
    board.hear(("begin", (0,), "Search", 4))
    board.hear(("begin", (0, 0), "Lasso #1", None))
    board.hear(("end", (0, 0, 0), "gap 0.5", None))
    board.hear(("end", (0, 0), "", None))
    board.hear(("end", (0,), "", None))
    board.hear(("close", (), "", None))
    first, *others = capsys.readouterr().err.split("\x1b[J")
    assert re.fullmatch(r"Search +░{20}  0/4   0\.\d s\n\x1b\[1A", first)
    assert re.fullmatch(r"Search.*0/4.*\n  Lasso #1 .*  0   0\.\d s\n\x1b\[2A", others[0])
    assert "1   0.0 s   gap 0.5\n" in others[1]
    assert re.fullmatch(r"Search +█{5}░{15}  1/4   0\.\d s\n\x1b\[1A", others[2])
    assert re.fullmatch(r"Search +█{20}  1   0\.\d s\n", others[-1])


def test_a_notebook_replaces_its_output(rows, monkeypatch):
    pages = []

    class Handle:
        def update(self, page):
            pages.append(page.data)

    def display(page, display_id):
        assert display_id
        pages.append(page.data)
        return Handle()

    class Shell:
        kernel = None

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(IPython, "get_ipython", Shell)
    Lasso(alpha=0.1).set_callbacks(ProgressBar()).fit(*rows)
    assert len(pages) >= 2
    assert "<progress value='0.000' max='1'>" in pages[0]
    assert "<progress value='1.000' max='1'>" in pages[-1]
    assert "gap " in pages[-1]


def test_what_is_drawn_on(monkeypatch):
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    assert isinstance(progress.screen(), Terminal)
    monkeypatch.setattr(IPython, "get_ipython", type("Shell", (), {"kernel": 1}))
    assert isinstance(progress.screen(), Notebook)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_hears_of_every_fit(rows, monkeypatch, n_jobs, capsys):
    heard, hear = [], Board.hear

    def listen(self, news):
        heard.append(news[:3])
        hear(self, news)

    monkeypatch.setattr(Board, "hear", listen)
    search = GridSearchCV(Lasso(), {"alpha": [0.1, 1.0]}, cv=3, n_jobs=n_jobs)
    search.set_callbacks(ProgressBar()).fit(*rows)
    fits = {path for event, path, name in heard if event == "begin" and name.startswith("Lasso")}
    assert len(fits) == 2 * 3 + 1
    assert {path for event, path, _ in heard if event == "end"} >= fits
    assert capsys.readouterr().err.startswith("GridSearchCV ")


def test_depth_zero_shows_the_outermost_alone(rows, capsys):
    model = make_pipeline(StandardScaler(), Lasso(alpha=0.1))
    model.set_callbacks(ProgressBar(max_propagation_depth=0)).fit(*rows)
    assert re.fullmatch(r"Pipeline +█{20}  \d+   \d+\.\d s\n", capsys.readouterr().err)


def test_a_fit_that_fails_closes_its_board(rows):
    class Breaks(Trace):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("broken.")

    bar = ProgressBar()
    with pytest.raises(RuntimeError, match="broken"):
        Lasso().set_callbacks(bar, Breaks()).fit(*rows)
    assert bar.listeners == {}


def test_it_can_be_pickled_and_cloned(rows):
    model = Lasso(alpha=0.1).set_callbacks(ProgressBar(2))
    assert pickle.loads(pickle.dumps(model))._skl_callbacks[0].max_propagation_depth == 2
    clone(model).fit(*rows)


@pytest.mark.parametrize(
    ("bar", "share", "text"),
    [
        (Bar("a", 4, done=1), 0.25, "1/4   0.0 s"),
        (Bar("a", 4, done=9), 1.0, "9/4   0.0 s"),
        (Bar("a", None, done=9), 0.0, "9   0.0 s"),
        (Bar("a", 4, done=1, ended=True), 1.0, "1   0.0 s"),
    ],
)
def test_how_much_has_ended(bar, share, text):
    assert bar.share() == share
    assert bar.counted() == text
