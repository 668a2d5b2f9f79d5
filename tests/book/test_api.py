"""The API reference in a browser: the names on a page are those of the object."""

import inspect
import re
from importlib import import_module

import pytest

import mlreplica

pytestmark = pytest.mark.book

PUBLIC = [
    (module, name)
    for module in mlreplica.__all__
    for name in import_module(f"mlreplica.{module}").__all__
    if inspect.isclass(thing := getattr(import_module(f"mlreplica.{module}"), name))
    and thing.__module__.startswith("mlreplica")
]
NAMES = """() => Object.fromEntries([...document.querySelectorAll(".fields")].map((box) => [
  box.querySelector(".rubric").innerText,
  [...box.querySelectorAll(":scope > dl > dt code")].map((code) => code.innerText),
]))"""
FAULTS = ".problematic, .system-message, .katex-error, .fields ol, .fields dt a.reference.internal"


def told(cls, title):
    """The names in a section of a docstring: unindented lines up to a colon, if there is one."""
    text = inspect.getdoc(cls) or ""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = found[1].replace("\\\n", "").splitlines() if found else []
    entries = [line.partition(" : ")[0] for line in lines if line[:1].strip()]
    return [name.strip() for entry in entries for name in entry.split(",")]


@pytest.mark.parametrize("module", sorted({module for module, _ in PUBLIC}))
def test_names_are_those_of_the_object(visit, site, module):
    page = visit(f"api/{module}.html").page
    for name in [name for home, name in PUBLIC if home == module]:
        cls = getattr(import_module(f"mlreplica.{module}"), name)
        page.goto((site / "api" / f"{module}.{name}.html").as_uri())
        shown = page.evaluate(NAMES)
        assert page.locator("h1").inner_text().strip("¶#") == name
        assert page.locator(FAULTS).count() == 0, name
        for title in ("Parameters", "Attributes"):
            assert shown.get(title, []) == told(cls, title), name
        if "Parameters" in shown and cls.__init__ is not object.__init__:
            taken = set(inspect.signature(cls).parameters)
            assert {n.lstrip("*") for n in shown["Parameters"]} <= taken, name


def test_a_module_is_a_table_with_one_line_each(visit):
    page = visit("api/linear_model.html").page
    rows = page.locator("table.names tr")
    assert rows.count() == len(import_module("mlreplica.linear_model").__all__)
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    page.locator("table.names a", has_text="ElasticNet").first.click()
    assert page.url.endswith("api/linear_model.ElasticNet.html#mlreplica.linear_model.ElasticNet")


def test_formulas_of_docstrings_are_whole(visit):
    page = visit("api/linear_model.ElasticNet.html").page
    assert page.locator(".sig + dd .katex").count() >= 1
    assert "\\" not in page.locator("dl.py.class > dd").first.inner_text()


def test_mentions_lead_to_the_reference(visit):
    """Code that is the name of a class is a link, on every page that says it."""
    page = visit("lasso.html").page
    assert page.locator("article p a[href*='api/linear_model.Lasso']").count() >= 1
