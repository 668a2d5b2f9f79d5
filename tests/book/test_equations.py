"""Every numbered equation is evaluated by a check of its page; the others are listed here."""

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
PARTS = re.findall(
    r"^:caption: [IV]+\. .*?^```$",
    (BOOK / "index.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
PAGES = re.findall(r"^[a-z-]+$", "\n".join(PARTS), re.MULTILINE)
LABEL = re.compile(r"^\$\$ \(([a-z-]+-(\d+[a-z]?))\)$", re.MULTILINE)
CHECK = re.compile(r"^def check_identities\(.*?^```$", re.MULTILINE | re.DOTALL)
CANNOT = {
    "smo-16": "draws at random: no two sides",
    "split-2b": "an order of growth",
    "adaboost-10": "holds up to a constant that is not known",
    "choosing-k-4": "a definition",
    "calibration-1": "a definition",
    "imputation-4": "a procedure",
    "target-leakage-1": "a definition",
    "which-model-when-1": "a definition",
}


@pytest.mark.parametrize("page", PAGES)
def test_every_equation_is_named_by_a_check(page):
    """A comment `# (4a)` stands beside the assert that evaluates equation (4a)."""
    text = (BOOK / f"{page}.md").read_text(encoding="utf-8")
    comments = " ".join(re.findall("#.*", "\n".join(CHECK.findall(text))))
    named = set(re.findall(r"\((\d+[a-z]?)\)", comments))
    missing = [label for label, number in LABEL.findall(text) if number not in named]
    assert [label for label in missing if label not in CANNOT] == []


def test_the_parts_are_found():
    """The list of pages is not empty by mistake."""
    assert len(PAGES) > 100
    assert {"perceptron", "adaboost", "searching-settings"} <= set(PAGES)
