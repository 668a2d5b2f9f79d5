"""The built site and a real browser; whatever is missing fails."""

import shutil
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "book" / "_build" / "html"

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def site():
    assert (SITE / "index.html").exists(), "the book is not built; run `make book`"
    return SITE


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    names = ("chromium-headless-shell", "chromium", "chromium-browser")  # the first is the lightest
    chromium = next(filter(None, map(shutil.which, names)), None)
    assert chromium, "these tests need Chromium on the path"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A page open in the browser, and everything that went wrong since."""

    def __init__(self, page):
        self.page, self.faults, self.requests = page, [], []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("requestfailed", lambda request: self.faults.append(f"failed: {request.url}"))
        page.on("request", lambda request: self.requests.append(request.url))

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def goto(self, url):
        """Open it and wait until it is drawn; a font still on its way to the old page counts as
        a failed request, so wait for that too."""
        self._wait_for_fonts()
        self.page.goto(url)
        self._wait_for_fonts()
        self.page.wait_for_selector("html:not(.loading)", state="attached")

    def _wait_for_fonts(self):
        self.page.evaluate("document.fonts.ready.then(() => null)")

    def outside(self):
        """Requests that left the machine."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
def visit(browser, site):
    """visit("index.html", width=390, scheme="dark") opens a page and waits until it is drawn."""
    contexts = []

    def open_page(
        name, *, width=1280, height=900, scheme="light", motion="no-preference", touch=False
    ):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion=motion,
            has_touch=touch,
        )
        contexts.append(context)
        visit = Visit(context.new_page())
        visit.goto((site / name.partition("?")[0]).as_uri() + "".join(name.partition("?")[1:]))
        return visit

    yield open_page
    for context in contexts:
        context.close()
