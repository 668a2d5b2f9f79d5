"""The directives of the book on pages of a few lines: what they make, and what they refuse."""

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"

pytestmark = pytest.mark.book

MODULE = '''"""Doubling

    y = 2x                                     (1)
    z = 2y                                     (2a)

Costs O(1) (see f(1)).
"""

import functools


@functools.cache
def double(x):
    """Equation (1)."""
    return 2 * x  # (1), then (2a)


class Box:
    """A box."""

    def open(self):
        """Open it."""
        return self
'''


@pytest.fixture
def build(tmp_path, monkeypatch):
    """build(page) makes a site of one page and returns (its HTML, the warnings)."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    monkeypatch.syspath_prepend(BOOK / "_ext")
    monkeypatch.setattr("bookkit.source.source_pages", lambda app: ())  # the whole package's
    package = tmp_path / "package"
    package.mkdir()
    (package / "doubling.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(package)
    source = tmp_path / "source"
    source.mkdir()

    def make(page):
        (source / "page.md").write_text(page, encoding="utf-8")
        (source / "conf.py").write_text("", encoding="utf-8")
        warnings = io.StringIO()
        modules = ["algorithm", "cards", "equations", "exercise", "race", "source"]
        settings = {
            "extensions": ["myst_parser", *(f"bookkit.{name}" for name in modules)],
            "myst_enable_extensions": ["dollarmath"],
            "html_math_renderer": "katex",
            "html_theme": "basic",
            "root_doc": "page",
        }
        out = tmp_path / "out"
        with docutils_namespace():
            app = Sphinx(
                source, source, out, tmp_path / "trees", "html", settings, None, warnings, True
            )
            app.build()
        return (out / "page.html").read_text(encoding="utf-8"), warnings.getvalue()

    yield make
    for name in ("doubling", "shop"):
        sys.modules.pop(name, None)


EQUATIONS = """# Page

$$
y = 2x
$$ (page-1)

$$
z = 2y
$$ (page-2a)
"""


def test_equations_carry_the_number_of_their_label(build):
    html, warnings = build(EQUATIONS + "\nBy {eq}`page-2a`.\n")
    assert warnings == ""
    assert html.count('id="equation-page-2a"') == 1
    assert (
        '<a class="eqno" href="#equation-page-2a" aria-label="Link to equation 2a">(2a)</a>' in html
    )
    assert 'href="#equation-page-2a">(2a)</a>.' in html
    assert "katex-html" in html


def test_a_label_without_a_number_is_refused(build):
    _, warnings = build("# Page\n\n$$\nx\n$$ (page-first)\n")
    assert "must end in its number" in warnings


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("page-1", "page-2", "page-2a", "page-3"), ""),
        (("page-2", "page-1"), "equation (1) stands below page-2: the numbers of a page ascend"),
        (("page-2a", "page-2"), "equation (2) stands below page-2a"),
        (("page-1", "other-2"), "equation other-2 begins a second series: go on from page-1"),
    ],
)
def test_numbers_of_a_page_ascend(build, labels, said):
    _, warnings = build("# Page\n\n" + "".join(f"$$\nx\n$$ ({name})\n\n" for name in labels))
    assert said in warnings
    assert bool(said) == bool(warnings)


def test_a_letter_is_introduced_once(build):
    twice = "Let $s$ be a step.\n\nA sum, where $s$ is a weight, and $t$ the time."
    _, warnings = build(twice)
    assert "the letter s is introduced twice" in warnings
    _, warnings = build(twice.replace("where $s$", "where $c$"))
    assert "introduced twice" not in warnings


@pytest.mark.parametrize("left_out", [None, "Memory"])
def test_a_method_without_a_card_gives_the_same_facts(build, left_out):
    titles = "Class,Use it for,Advantages,Disadvantages,Time,Memory,Rescaling"
    titles += ",Missing values,Alternatives"
    rows = [f"{title}: a text" for title in titles.split(",") if title != left_out]
    html, warnings = build("```{facts}\n" + "\n".join(rows) + "\n```")
    assert ('class="facts' in html) == (left_out is None)
    assert ("the rows of a box of facts are" in warnings) == (left_out is not None)


def test_a_line_of_pseudocode_names_the_code_that_runs_it(build):
    page = (
        "# Page\n\n```{algorithm} Double\n:label: alg-double\n\n$y = 2x$ @ return 2 * x\n```\n\n"
        "```{source} doubling.double\n```\n"
    )
    page = EQUATIONS + page.removeprefix("# Page\n")
    html, warnings = build(page)
    assert warnings == ""
    address = re.search(r'data-runs="([^"]+)"', html)[1]
    line = next(line for line in html.splitlines() if f'id="{address}"' in line)
    assert "return" in line
    assert (
        "no source quoted on this page has the code" in build(page.replace("2 * x\n", "3 * x\n"))[1]
    )


def test_a_formula_katex_cannot_read_is_refused(build):
    _, warnings = build("# Page\n\n$\\nonsense{x}$\n")
    assert "nonsense" in warnings
    assert "page.md:3" in warnings


def test_source_and_equations_link_both_ways(build):
    html, warnings = build(EQUATIONS + "\n```{source} doubling.double\n```\n")
    assert warnings == ""
    assert '<a class="cites" href="#equation-page-2a" title="Equation 2a">(2a)</a>' in html
    assert 'in code: <a href="#source-doubling-double-12"><code>double</code></a>' in html
    assert "src/doubling.py, lines 12–15" in html  # with its decorator
    assert "_source/doubling.html#L12" in html
    cited = [line for line in html.splitlines() if '<span class="citing">' in line]
    assert [re.sub("<[^>]*>", "", line).strip() for line in cited] == [
        '14    """Equation (1)."""',
        "15    return 2 * x  # (1), then (2a)",
    ]


def test_source_of_a_docstring_links_only_what_is_a_number(build):
    html, warnings = build(EQUATIONS + "\n```{source} doubling\n:docstring:\n```\n")
    assert warnings == ""
    assert html.count('class="cites"') == 2
    assert "f(1)" in html


def test_source_citing_a_missing_equation_is_refused(build):
    _, warnings = build("# Page\n\n$$\ny\n$$ (page-1)\n\n```{source} doubling.double\n```\n")
    assert "double cites (2a), but there is no equation page-2a" in warnings


def test_source_links_to_another_prefix(build):
    page = (
        EQUATIONS.replace("page-", "other-")
        + "\n```{source} doubling.double\n:equations: other\n```\n"
    )
    html, warnings = build(page)
    assert warnings == ""
    assert 'href="#equation-other-1" title' in html


def test_source_of_a_method(build):
    html, _ = build("# Page\n\n```{source} doubling.Box.open\n```\n")
    assert "lines 21–23" in html


def test_source_that_a_module_hands_on(build, tmp_path):
    (tmp_path / "package" / "shop.py").write_text("from doubling import double, Box\n", "utf-8")
    html, warnings = build(EQUATIONS + "\n```{source} shop.Box\n:docstring:\n```\n")
    assert warnings == ""
    assert "src/doubling.py, lines 19–19" in html


def test_source_that_is_not_there_is_refused(build):
    _, warnings = build("# Page\n\n```{source} doubling.treble\n```\n")
    assert "'doubling.treble' is not defined there; defined are: double, Box" in warnings


def test_algorithm_numbers_its_lines(build):
    page = (
        "# Page\n\n```{algorithm} Search\n:label: alg-search\n\ninput: $x$\nrepeat\n"
        "    if $x > 0$ then # found\n        return $x$\nuntil done\n```\n\n{ref}`alg-search`\n"
    )
    html, warnings = build(page)
    assert warnings == ""
    assert html.count("algorithm-line") == 5
    assert "unnumbered" in html
    assert "level-2 line-3" in html.replace("algorithm-line ", "")
    assert "<strong>then</strong>" in html
    assert '<span class="std std-ref">Search</span>' in html


def test_solution_is_folded_with_all_it_holds(build):
    page = (
        "# Page\n\n```{exercise} Add\nWhat is $1 + 1$?\n```\n\n```{solution}\n```\n\nTwo.\n\n"
        "- a list\n\n```{solution-end}\n```\n\nAfter.\n"
    )
    html, warnings = build(page)
    assert warnings == ""
    fold = html[html.index("<details") : html.index("</details>")]
    assert "Two." in fold
    assert "a list" in fold
    assert "After." not in fold
    assert "Exercise 1: Add" in html


def test_what_a_first_reading_leaves_out_is_folded(build):
    page = "# Page\n\n```{fold} How it is fast\n```\n\nBy haste.\n\n```{fold-end}\n```\n\nAfter.\n"
    html, warnings = build(page)
    assert warnings == ""
    fold = html[html.index('<details class="aside"') : html.index("</details>")]
    assert "<summary>How it is fast</summary>" in fold
    assert "By haste." in fold
    assert "After." not in fold


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("# Page\n\n```{solution}\n```\n\nTwo.\n", "has no {solution-end} or {fold-end}"),
        ("# Page\n\n```{solution-end}\n```\n", "closes no {solution}"),
    ],
)
def test_half_a_solution_is_refused(build, page, said):
    assert said in build(page)[1]


def test_a_choice_of_a_quiz_says_why(build):
    page = "# Page\n\n```{quiz} What is $1 + 1$?\n( ) One. | That is $1$.\n(x) Two. | Count.\n```\n"
    html, warnings = build(page)
    assert warnings == ""
    assert html.count('name="quiz-1"') == 2
    right = html[html.index('<details class="right"') :]
    assert "<summary>Two.</summary>" in right
    assert "Right. Count." in right


@pytest.mark.parametrize(
    "lines", ["( ) One. | No.", "(x) One.", "(x) One. | Yes.\n(x) Two. | Yes."]
)
def test_a_quiz_has_one_right_choice_and_reasons(build, lines):
    assert "quiz: lines are" in build(f"# Page\n\n```{{quiz}} What?\n{lines}\n```\n")[1]


CELLS = """# Page
```{code-cell} python
from bookkit import figure, level_lines, player
import numpy as np
X = np.arange(6.0)
```
```{code-cell} python
:tags: [remove-cell]
checked = X.sum() == 15
assert checked
```
```{code-cell} python
:tags: [remove-input]
with figure("X") as ax:
    ax.plot(shown := X[::2])
curves, frames = [], []
for x in X:
    curves.append(level_lines(x, X))
    frames_of = [x for x in shown]
for x in X:
    frames.append({"x": x})
player({"curves": curves}, label="lines")
player(frames, label="numbers")
```
```{code-cell} python
after = 1
```
"""


def test_the_script_of_a_page_runs_without_the_book(monkeypatch):
    """What draws is gone, with all that depends on it, and what is hidden; the recording stays."""
    monkeypatch.syspath_prepend(BOOK / "_ext")
    from bookkit.script import script

    text = script(CELLS)
    made = {}
    exec(text, made)
    assert made["recorded"] == [{"x": x} for x in range(6)]
    assert not {"curves", "shown", "frames_of", "after", "player", "checked"} & set(
        re.findall(r"\w+", text.replace("curves, frames", "frames"))
    )
    assert script("# Page\n") == ""


def race(tmp_path, monkeypatch):
    """Keep one result in a folder of its own."""
    result = {
        "race": "sums",
        "what": "a sum of 10 numbers",
        "ours": "mlreplica",
        "quality": "error",
        "date": "2026-01-02",
        "machine": {"cpu": "Some CPU", "cores": 2, "system": "Linux"},
        "threads": 2,
        "load": 0.1,
        "versions": {"python": "3.11"},
        "best_peer": "numpy",
        "ratio": 2.0,
        "contestants": {
            "numpy": {"best": 2e-3, "median": 2e-3, "quality": 0.0, "worse": False},
            "mlreplica": {"best": 1e-3, "median": 1e-3, "quality": 0.0, "worse": False},
            "absent": {"missing": "not installed"},
        },
    }
    (tmp_path / "sums.json").write_text(json.dumps(result), encoding="utf-8")
    monkeypatch.setattr("bookkit.race.RESULTS", tmp_path)


def test_race_shows_the_fastest_first(build, tmp_path, monkeypatch):
    race(tmp_path, monkeypatch)
    html, warnings = build("# Page\n\n```{race} sums\n```\n")
    assert warnings == ""
    assert html.index(">mlreplica</th>") < html.index(">numpy</th>") < html.index(">absent</th>")
    assert "2.0 times as fast as numpy" in html
    assert "Held 2026-01-02, Some CPU" in html


def test_race_never_held_is_refused(build):
    assert "no benchmark result nothing.json" in build("# Page\n\n```{race} nothing\n```\n")[1]


def test_node_is_there():
    assert shutil.which("node"), "the book needs Node to draw its formulas"


def test_quality_marks_what_is_beyond_two_errors(build, tmp_path, monkeypatch):
    other = {"level": (0.02, 0.02), "ahead": (0.1, 0.02), "behind": (-0.1, 0.02)}
    row = {"data": "a_set", "model": "boosting", "rows": 100, "columns": 4}
    row["mlreplica"] = {"loss": 0.5, "behind": 0.0, "error": 0.0}
    row |= {k: {"loss": 0.5 + b, "behind": b, "error": e} for k, (b, e) in other.items()}
    (tmp_path / "quality.json").write_text(json.dumps([row]), encoding="utf-8")
    monkeypatch.setattr("bookkit.race.RESULTS", tmp_path / "results")
    html, warnings = build("# Page\n\n```{quality} boosting\n```\n")
    assert warnings == ""
    assert "<td>+4.0 ±\u00a04.0</td>" in html
    assert re.search(r'\+20\.0 ±\s4\.0\s<span title="ours is better">▲', html)
    assert re.search(r'−20\.0 ±\s4\.0\s<span title="ours is worse">▼', html)
    assert "nothing is known of 'forest'" in build("# Page\n\n```{quality} forest\n```\n")[1]
