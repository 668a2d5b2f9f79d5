"""The HTML that the command line writes, in a real browser: the report and the step-through."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from mlreplica.cli.app import app

pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with a report for each task and a recorded fit, in place of the book."""
    folder, rng = tmp_path_factory.mktemp("cli"), np.random.default_rng(0)
    n = 150
    x, k = rng.standard_normal(n), rng.integers(0, 3, n)
    y = x + k + 0.3 * rng.standard_normal(n)
    table = {"a rather long name of a column": x, "kind": np.array(["a", "b", "<c>"])[k]}
    pl.DataFrame({**table, "y": y}).write_csv(folder / "numbers.csv")
    pl.DataFrame({**table, "y": np.where(y > 1, "yes", "no")}).write_csv(folder / "classes.csv")
    for task, model in (("numbers", "Ridge"), ("classes", "LogisticRegression")):
        words = ["compare", str(folder / f"{task}.csv"), "--model", model]
        result = CliRunner().invoke(app, [*words, "--report", str(folder / f"{task}.html")])
        assert result.exit_code == 0, result.output
    words = ["watch", "Perceptron", "-o", str(folder / "watch.html"), "--no-open"]
    assert CliRunner().invoke(app, words).exit_code == 0
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


def test_a_recorded_fit_can_be_stepped_through(visit):
    page = visit("watch.html").page
    before = page.locator(".where").inner_text()
    page.locator(".player").press("ArrowRight")
    assert page.locator(".where").inner_text() != before
