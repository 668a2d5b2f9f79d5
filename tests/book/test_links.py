"""Every link inside the book leads to a page that is there and to an address on it."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest

SITE = Path(__file__).parents[2] / "book" / "_build" / "html"

pytestmark = pytest.mark.book


class Addresses(HTMLParser):
    """The ids of a page and where it points to."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.doubled = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        for name in {found.get("id"), found.get("name") if tag == "a" else None} - {None}:
            if name in self.ids:
                self.doubled.append(name)
            self.ids.add(name)
        self.links += [found[key] for key in ("href", "src") if key in found]


@pytest.fixture(scope="module")
def pages(site):
    found = {path: Addresses(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(found) > 5
    return found


def test_links_resolve(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if urlparse(link).scheme or link.startswith("//"):
                continue
            there, fragment = urldefrag(link)
            target = (path.parent / unquote(urlparse(there).path)).resolve() if there else path
            ids = pages[target].ids if target in pages else {unquote(fragment)}
            if not target.is_file() or (fragment and unquote(fragment) not in ids):
                broken.append((path.name, link))
    assert broken == []


def test_links_out_are_https(pages):
    """A link may leave the book; a script, style or picture may not, which test_pages watches."""
    schemes = {urlparse(link).scheme for page in pages.values() for link in page.links}
    assert schemes <= {"", "https", "data"}


def test_an_address_is_there_once(pages):
    assert {path.name: page.doubled for path, page in pages.items() if page.doubled} == {}


def test_every_doi_is_a_link(site):
    bare = {
        path.name: found
        for path in site.glob("*.html")
        if (found := re.findall(r"(?<!>)doi:10\.\S{1,40}", path.read_text(encoding="utf-8")))
    }
    assert bare == {}
