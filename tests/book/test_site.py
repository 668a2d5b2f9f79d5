"""The site as a whole: size, what it tells machines, equations and code, scripts."""

import gzip
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.book


def test_size(site):
    """The whole within 15 MB as a server sends it, a page without its longer recordings in 1.5."""
    files = [path for path in site.rglob("*") if path.is_file() and ".doctrees" not in path.parts]
    packed = {".html", ".js", ".css", ".svg", ".json", ".xml", ".py", ".inv", ".txt"}
    sent = sum(
        len(gzip.compress(path.read_bytes(), 6)) if path.suffix in packed else path.stat().st_size
        for path in files
    )
    assert sent < 15e6
    assert {str(path) for path in site.rglob("*.html") if path.stat().st_size > 1.5e6} == set()


def test_no_page_tells_of_the_machine_it_was_built_on(site):
    """No path, and no warning printed by a cell."""
    here = str(Path(__file__).parents[2])
    for path in site.rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        assert not re.search(f"{re.escape(here)}|site-packages|class=.output stderr", html), path


def test_sitemap_feed_and_previews(site):
    places = [node.text for node in ElementTree.parse(site / "sitemap.xml").iter() if node.text]
    assert {place.rsplit("/", 1)[1] for place in places} > {"index.html", "perceptron.html"}
    feed = ElementTree.parse(site / "feed.xml")
    assert [item.findtext("title") for item in feed.iter("item")][-1] == "mlreplica 0.1.0"
    html = (site / "perceptron.html").read_text(encoding="utf-8")
    described = re.search(r'<meta property="og:description" content="([^"]+)"', html)
    assert len(described[1]) > 40
    assert "@misc{mlreplica-perceptron," in html
    assert (site / "_static" / "card.png").stat().st_size > 10_000


def test_every_player_has_the_python_of_its_run(site):
    """Each script compiles and names nothing that is not there; one of them runs."""
    playing = {p.stem for p in site.glob("*.html") if 'class="player"' in p.read_text("utf-8")}
    scripts = {path.stem: path for path in (site / "_static" / "runs").glob("*.py")}
    assert playing <= set(scripts)
    for path in scripts.values():
        compile(path.read_text(encoding="utf-8"), path.name, "exec")
    subprocess.run([sys.executable, "-W", "error", scripts["perceptron"]], check=True)


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_equations_and_code_light_up_together(visit, way):
    page = visit("perceptron.html").page
    line = page.locator("figure.source .citing:has(.cites)").last
    equation = page.locator(line.locator(".cites").first.get_attribute("href"))
    for source, target in ((line.locator(".cites").first, equation), (equation, line)):
        at = source if way == "hover" else source.locator("xpath=descendant-or-self::a").first
        at.hover() if way == "hover" else at.focus()
        assert "lit" in target.get_attribute("class").split()
        page.mouse.move(0, 0)
        page.evaluate("document.activeElement.blur()")
        assert "lit" not in target.get_attribute("class").split()


def test_the_player_shows_the_source_of_its_line(visit):
    player = visit("perceptron.html").page.locator(".player").first
    player.press("Home")
    player.press("ArrowRight")
    assert "(3)" in player.locator(".algorithm-line.current").inner_text()
    assert "add_scaled(w, s[i], X[i])" in player.locator(".quote").inner_text()
