"""The HTML that the command line writes, in a real browser: the report and the step-through."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from mlreplica.cli import report
from mlreplica.cli.app import app

pytestmark = pytest.mark.book

SCROLLED = """[...document.querySelectorAll(".scroll, pre")]
    .filter(box => box.scrollWidth > box.clientWidth)
    .map(box => `${box.innerText.slice(0, 60)}: ${box.scrollWidth} > ${box.clientWidth}`)"""
OUTSIDE = """[...document.querySelectorAll("figure svg text")]
    .filter(text => {
        const [a, b] = [text, text.closest("svg")].map(part => part.getBoundingClientRect());
        return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1
            || a.bottom > b.bottom + 1;
    })
    .map(text => text.textContent)"""


CROWDED = {  # a row of the leaderboard at its widest
    "model": "HistGradientBoostingClassifier",
    "baseline": False,
    "cut": True,
    "error": "",
    "note": "cut: 100,000 rows, 2 folds; not converged in 1 of 2 folds",
    "score": 123.4567,
    "sd": 12.34567,
    "fit_seconds": 123.4,
    "predict_seconds": 1.234e-5,
    "certificate": 1e-4,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with a report for each task and a recorded fit, in place of the book."""
    folder, rng = tmp_path_factory.mktemp("cli"), np.random.default_rng(0)
    n = 150
    x, k = rng.standard_normal(n), rng.integers(0, 4, n)
    y = x + k + 0.3 * rng.standard_normal(n)
    kinds = np.array(["a", "Trondheim, in the north", "<c>", "none_of_the_others_at_all"])
    table = {
        "a rather long name of a column": x,
        "monthly_income_before_taxes_in_euro": np.exp(10 + x),
        "kind": kinds[k],
        "opened": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
        "row_id": np.arange(n),
    }
    pl.DataFrame({**table, "y": y}).write_csv(folder / "numbers.csv")
    pl.DataFrame({**table, "y": kinds[np.digitize(y, [0, 1, 3])]}).write_csv(folder / "classes.csv")

    def run(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output

    def crowded(path, table, result, *args):
        row = CROWDED | {"metrics": dict.fromkeys(result["leaderboard"][0]["metrics"], 123.4567)}
        write_report(path, table, result | {"leaderboard": [*result["leaderboard"], row]}, *args)

    write_report = report.write_report
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "write_report", crowded)
        for task, model in (("numbers", "Ridge"), ("classes", "LogisticRegression")):
            file = folder / f"{task}.csv"
            words = "--model", model, "--seconds", 600  # enough on a busy machine
            run("compare", file, *words, "--report", folder / f"{task}.html")
    run("watch", "Perceptron", "-o", folder / "watch.html", "--no-open")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["numbers.html", "classes.html", "watch.html"])
def test_pages_are_drawn_without_a_fault(visit, name, width, scheme):
    seen = visit(name, width=width, scheme=scheme)
    page = seen.page
    assert not seen.faults
    assert not seen.outside()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").count() >= 2
    ink, paper = page.evaluate(
        "['color', 'backgroundColor'].map(k => getComputedStyle(document.body)[k])"
        ".map(c => c.match(/[\\d.]+/g).slice(0, 3).reduce((a, v) => a + +v, 0))"
    )
    if name != "watch.html":
        assert (ink < paper) == (scheme == "light")
        for figure in page.locator("figure svg").all():
            box = figure.bounding_box()
            assert box["width"] > 200
            assert box["x"] + box["width"] <= width
    assert len(page.screenshot(full_page=True)) > 10_000


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["numbers.html", "classes.html"])
def test_nothing_in_a_report_is_cut_off(visit, name, width):
    page = visit(name, width=width).page
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert page.locator(".scroll").count()
    assert page.evaluate(SCROLLED) == []
    assert page.evaluate(OUTSIDE) == []


def test_a_recorded_fit_can_be_stepped_through(visit):
    page = visit("watch.html").page
    before = page.locator(".where").inner_text()
    page.locator(".player").press("ArrowRight")
    assert page.locator(".where").inner_text() != before
