"""Every page in a real browser: no error, no network, readable by all, on a phone too."""

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
SITE = BOOK / "_build" / "html"
AXE = BOOK / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = BOOK / "_build" / "screenshots"

# index.html is always there, so that a book that was not built fails and is not skipped.
# What lies in _static is an example that a page links to, with tests of its own.
FOUND = {str(path.relative_to(SITE)) for path in SITE.rglob("*.html")}
PAGES = sorted({"index.html"} | {name for name in FOUND if not name.startswith("_static/")})
WRITTEN = [name for name in PAGES if not name.startswith(("_source/", "api/"))]
GENERATED = sorted({str(Path(name).parent) for name in PAGES} - {"."})

pytestmark = pytest.mark.book

PROSE = """() => {
  const copy = (document.querySelector("article") ?? document.body).cloneNode(true);
  copy.querySelectorAll(".katex, code, pre, script, svg").forEach((node) => node.remove());
  return copy.textContent;
}"""

# The theme hides what sticks out of the page and scrolls what sticks out of the content.
STICKS_OUT = """["html", ".content"].map((name) => document.querySelector(name)).filter(Boolean)
    .map((node) => node.scrollWidth - node.clientWidth)"""

FORMULAS_SCROLL = """() => [...document.querySelectorAll(".math.equation .formula")]
    .filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.textContent)"""

# A wide table scrolls in its frame: nothing is cut off, but a reader on a phone sees half of it.
TABLES_SCROLL = """[...document.querySelectorAll("article .table-wrapper")]
    .filter((frame) => frame.scrollWidth > frame.clientWidth)
    .map((frame) => frame.textContent.trim().slice(0, 60))"""

AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False}  # file:// forbids to preload
COLOUR_RULES = ["color-contrast", "link-in-text-block"]

# Opens every fold and leaves of what is there a thousand times what axe can judge. A drawn formula
# has the colour of the text around it: a box of its size stays. A plain span, as a token of code,
# looks like the one before whose ancestors have the same classes: its text stays. 5 times faster.
THIN = """() => {
  document.querySelectorAll("details").forEach((node) => (node.open = true));
  const formulas = [...document.querySelectorAll(".katex-html")];
  const boxes = formulas.map((node) => node.getBoundingClientRect());
  formulas.forEach((node, k) => {
    node.replaceChildren();
    node.style.cssText = `display: inline-block; width: ${boxes[k].width}px;
      height: ${boxes[k].height}px`;
  });
  const seen = new Set();
  for (const node of document.querySelectorAll("article :is(span, em, code)")) {
    if (node.childElementCount || node.attributes.length > 1 || !node.textContent) continue;
    let looks = "";
    for (let at = node; at; at = at.parentElement) looks += `${at.tagName} ${at.className} / `;
    if (seen.has(looks)) node.replaceWith(node.textContent);
    seen.add(looks);
  }
  (document.querySelector("article") ?? document.body).normalize();
}"""


# What moved while the page was loading, as a share of the window; scrolling does not count.
MOVED = """() => new Promise((done) => {
  let moved = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => (moved += entry.value)))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(moved), 60);
})"""


def check_load(opened):
    """It loaded without an error or the network, and its formulas are drawn."""
    page = opened.page
    assert opened.faults == []
    assert opened.outside() == []
    assert page.title()
    assert page.locator(".katex-error").count() == 0
    assert page.locator(".math").count() == page.locator(".math:has(.katex)").count()
    assert re.findall(r"\$|\\[a-zA-Z]+", page.evaluate(PROSE)) == []


def check_width(page, width):
    """Nothing sticks out to the right."""
    page.set_viewport_size({"width": width, "height": 900})
    assert not any(page.evaluate(STICKS_OUT))


def take_picture(page, name, width, scheme):
    """The upper end of the page, for the eye of the author: book/_build/screenshots."""
    page.set_viewport_size({"width": width, "height": 3_000})
    page.emulate_media(color_scheme=scheme)
    path = SHOTS / f"{name.removesuffix('.html')}-{width}-{scheme}.jpeg"
    page.screenshot(path=path, type="jpeg", quality=85)
    assert path.stat().st_size > 5_000


def check_accessible(page):
    """axe finds no serious fault, with every fold open; what depends on colours, in dark too."""
    page.evaluate(THIN)
    page.add_script_tag(path=AXE)
    faults = []
    for scheme, rules in (("light", {}), ("dark", {"runOnly": COLOUR_RULES})):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("(options) => axe.run(document, options)", AXE_OPTIONS | rules)
        faults += [
            (scheme, fault["id"], node["target"], node["failureSummary"])
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]
    assert faults == []


@pytest.mark.parametrize("name", WRITTEN)
def test_page(visit, name):
    """It loads, fits a screen and a phone, and axe has nothing to say."""
    opened = visit(name)
    assert opened.page.evaluate(MOVED) < 0.02
    check_load(opened)
    for width, scheme in ((390, "dark"), (1280, "light")):
        check_width(opened.page, width)
        assert width > 390 or opened.page.evaluate(TABLES_SCROLL) == []
        assert width < 1280 or opened.page.evaluate(FORMULAS_SCROLL) == []
        take_picture(opened.page, name, width, scheme)
    check_accessible(opened.page)
    assert opened.faults == []


@pytest.mark.parametrize("folder", GENERATED)
def test_generated_pages(visit, site, folder):
    """As many as there are modules, one after the other in one window."""
    opened = visit("index.html")
    for path in sorted((site / folder).glob("*.html")):
        opened.goto(path.as_uri())
        check_load(opened)
        check_width(opened.page, 390)


@pytest.mark.parametrize(
    "name", ["_source/mlreplica/callbacks.html", "api/svm.html", "api/svm.SVC.html"]
)
def test_generated_pages_are_accessible(visit, name):
    """All come from one template: one of them speaks for the others."""
    check_accessible(visit(name).page)


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
