"""Finding one's way: the sidebar, the order of pages, what is on a page, the box of facts."""

import re
from pathlib import Path

import pytest

from mlreplica.discovery import cards

BOOK = Path(__file__).parents[2] / "book"
TREES = re.findall(
    r"^```\{toctree\}\n:hidden:\n:caption: ([^\n]*)\n\n(.*?)^```",
    (BOOK / "index.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
PARTS = {pages.split()[0]: pages.split() for _, pages in TREES if pages.startswith("part-")}

pytestmark = pytest.mark.book


@pytest.mark.parametrize("part", PARTS)
def test_next_follows_the_order_of_the_introduction(site, part):
    """The table of an introduction names the pages of its part as the contents have them."""
    text = (BOOK / f"{part}.md").read_text(encoding="utf-8")
    table = re.search(r"^\| read \|.*?(?=^$)", text, re.MULTILINE | re.DOTALL)[0]
    first_column = [row.split("|")[1] for row in table.splitlines()]
    read = [page for cell in first_column for page in re.findall(r"\((\S+)\.md\)", cell)]
    assert [page for page in read if page in PARTS[part]] == PARTS[part][1:]
    for here, there in zip(PARTS[part], PARTS[part][1:], strict=False):
        html = (site / f"{here}.html").read_text(encoding="utf-8")
        assert re.search(r'class="next-page" href="([^"]+)"', html)[1] == f"{there}.html"


@pytest.mark.parametrize("name", ["ensembles-compared.html", "api/svm.SVC.html"])
def test_the_sidebar_shows_where_the_page_is(visit, name):
    page = visit(name).page
    current = page.locator(".sidebar-tree a.current")
    assert current.count() == 1
    list_, link = page.locator(".sidebar-scroll").bounding_box(), current.bounding_box()
    assert list_["y"] <= link["y"] <= list_["y"] + list_["height"] - link["height"]
    assert page.locator(".sidebar-tree details[open]").count() == 1  # the others are folded
    page.locator(".sidebar-tree details:not([open]) summary").first.click()
    assert page.locator(".sidebar-tree details[open]").count() == 2


def test_the_headings_are_in_sight_on_a_laptop(visit):
    page = visit("lasso.html", width=1280).page
    box = page.locator(".toc-drawer").bounding_box()
    content = page.locator(".content").bounding_box()
    assert content["x"] + content["width"] <= box["x"] + 1
    assert box["x"] + box["width"] <= 1280
    page.mouse.wheel(0, 3000)
    page.mouse.wheel(0, -300)
    assert not page.locator(".back-to-top").is_visible()
    assert page.locator("a.to-top").count() == 1


def test_every_model_has_its_facts_on_top(visit, site):
    opened = visit("index.html")
    for name in sorted({card.page for card in cards()}):
        opened.page.goto((site / f"{name}.html").as_uri())
        box = opened.page.locator(".facts").first
        titles = box.locator("td:first-child").all_inner_texts()
        assert titles[0] == "Class", name
        assert {"Use it for", "Advantages", "Time", "Rescaling", "Alternatives"} <= set(titles)
        assert box.bounding_box()["y"] < opened.page.locator("h2").first.bounding_box()["y"], name
        assert box.locator("a[href*='api/']").count() >= 1, name


def test_the_first_page_says_how_to_begin(visit):
    page = visit("index.html").page
    assert "pip install mlreplica" in page.locator("article").inner_text()
    lines = page.locator("div.cell_input pre").first.inner_text().strip().splitlines()
    assert 8 <= len([line for line in lines if line.strip()]) <= 12
    assert page.locator(".player").count() == 1


ALGORITHMS = [
    path.stem
    for path in sorted(BOOK.glob("*.md"))
    if "```{algorithm}" in path.read_text(encoding="utf-8") and path.stem != "WRITING"
]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_page_on_an_algorithm_is_complete(name):
    """Common mistakes, and a race or the reason why there is none."""
    text = (BOOK / f"{name}.md").read_text(encoding="utf-8")
    assert re.search(r"^\*\*Common mistakes\.?\*\*\n\n(?:[*-] .+\n){3,}", text, re.MULTILINE)
    assert "```{race}" in text or re.search(r"\braced?\b", text)


def test_boxes_of_facts_stand_on_top():
    """The box stands between the title and the first words of a page."""
    for path in BOOK.glob("*.md"):
        text = path.read_text(encoding="utf-8").partition("\n## ")[0]
        if "```{facts}" in text and path.stem != "WRITING":
            assert re.search(r"^# [^\n]*\n\n```\{facts\}", text, re.MULTILINE), path
