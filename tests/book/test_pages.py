"""Every page in a real browser: no error, no network, readable by all, on a phone too."""

import itertools
import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
SITE = BOOK / "_build" / "html"
AXE = BOOK / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = BOOK / "_build" / "screenshots"

# index.html is always there, so that a book that was not built fails and is not skipped.
PAGES = sorted({"index.html"} | {str(path.relative_to(SITE)) for path in SITE.rglob("*.html")})
WRITTEN = [name for name in PAGES if not name.startswith("_source/")]

pytestmark = pytest.mark.book

PROSE = """() => {
  const copy = document.querySelector("article").cloneNode(true);
  copy.querySelectorAll(".katex, code, pre, script, svg").forEach((node) => node.remove());
  return copy.textContent;
}"""

# A formula has the colour of the text around it; its thousands of nodes would take axe a minute.
RUN_AXE = "axe.run({exclude: [['.katex-html']]}, {resultTypes: ['violations']})"


@pytest.mark.parametrize("name", PAGES)
def test_page(visit, name):
    """It loads without an error or the network, its formulas are drawn, and it fits a phone."""
    opened = visit(name)
    page = opened.page
    assert opened.faults == []
    assert opened.outside() == []
    assert page.title()
    assert page.locator(".katex-error").count() == 0
    assert page.locator(".math").count() == page.locator(".math:has(.katex)").count()
    assert re.findall(r"\$|\\[a-zA-Z]+", page.evaluate(PROSE)) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", [*WRITTEN, "_source/mlreplica/callbacks.html"])
def test_accessible(visit, name):
    """axe finds no serious fault, in light and in dark, with every fold open."""
    page = visit(name).page
    page.evaluate("document.querySelectorAll('details').forEach((node) => (node.open = true))")
    page.add_script_tag(path=AXE)
    faults = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(RUN_AXE)
        faults += [
            (scheme, fault["id"], node["target"], node["failureSummary"])
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]
    assert faults == []


@pytest.mark.parametrize("name", WRITTEN)
def test_screenshots(visit, name):
    """Pictures for the eye of the author: book/_build/screenshots."""
    page = visit(name).page
    for width, scheme in itertools.product((1280, 390), ("light", "dark")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        high = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": min(high, 12_000)})
        path = SHOTS / f"{name.removesuffix('.html').replace('/', '-')}-{width}-{scheme}.png"
        page.screenshot(path=path)
        assert path.stat().st_size > 5_000


def test_both_schemes_have_their_own_paper(visit):
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = (visit("index.html", scheme=scheme).page for scheme in ("light", "dark"))
    assert light.evaluate(paper) != dark.evaluate(paper)


def test_search_finds_a_page(visit):
    opened = visit("search.html?q=notation")
    opened.page.wait_for_selector("#search-results li a")
    hits = opened.page.locator("#search-results li a").all_inner_texts()
    assert "Notation" in hits
    assert opened.faults == []
    assert opened.outside() == []


def test_no_tab_stop_without_scrolling(visit):
    page = visit("notation.html").page
    assert page.locator(".formula[tabindex], pre[tabindex]").count() == 0
