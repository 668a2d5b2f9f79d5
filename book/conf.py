"""Sphinx's settings for the book. Build it with `make book`; how to write a page: WRITING.md."""

import os
import sys
from pathlib import Path

import mlreplica

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from bookkit.api import source_link  # noqa: E402  (found by the line above)
from bookkit.assets import STATIC, copy_assets, write_kernel  # noqa: E402

copy_assets()

# What code cells need: bookkit, a place for long recordings, quiet and equal runs.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE / "_ext"), os.environ.get("PYTHONPATH")])
)
os.environ["MLREPLICA_BOOK_FILES"] = str(STATIC)
os.environ["JUPYTER_PATH"] = str(write_kernel())
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"

project = "mlreplica"
author = "the mlreplica authors"
copyright = author  # noqa: A001  (Sphinx's name)
version = release = mlreplica.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "sphinx_design",
    "bookkit.algorithm",
    "bookkit.api",
    "bookkit.cards",
    "bookkit.equations",
    "bookkit.exercise",
    "bookkit.mentions",
    "bookkit.outputs",
    "bookkit.race",
    "bookkit.script",
    "bookkit.sidebar",
    "bookkit.site",
    "bookkit.source",
]
exclude_patterns = ["_build", "node_modules", "WRITING.md", "_static"]
templates_path = ["_templates"]

# Pages
myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_enable_extensions += ["dollarmath", "fieldlist", "smartquotes"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_number_source_lines = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ |In \[\d*\]: "
copybutton_prompt_is_regexp = True
book_macros = {
    r"\R": r"\mathbb{R}",
    r"\E": r"\operatorname{\mathbb{E}}",
    r"\Var": r"\operatorname{Var}",
    r"\Cov": r"\operatorname{Cov}",
    r"\sign": r"\operatorname{sign}",
    r"\T": r"^{\top}",
    r"\norm": r"\left\lVert #1 \right\rVert",
    r"\abs": r"\left\lvert #1 \right\rvert",
    r"\inner": r"\left\langle #1, #2 \right\rangle",
    r"\ind": r"\mathbf{1}\!\left[ #1 \right]",
    r"\argmin": r"\operatorname*{arg\,min}",
    r"\argmax": r"\operatorname*{arg\,max}",
}

# API reference
linkcode_resolve = source_link
add_module_names = False
toc_object_entries_show_parents = "hide"
default_role = "code"

# Where the site will live, for its sitemap and previews; links between pages are relative.
html_baseurl = os.environ.get("MLREPLICA_BOOK_URL", "https://mlreplica.example/")

# Look
html_theme = "furo"
html_title = "mlreplica"
html_static_path = ["_static", "_build/static", "../src/mlreplica/cli/static"]
html_css_files = ["katex/katex.min.css", "fonts/fonts.css", "player.css", "book.css"]
html_js_files = ["player.js", "book.js"]  # _templates/base.html puts them into the head
html_theme_options = {
    "light_css_variables": {
        "color-background-primary": "#fdfdfb",
        "color-background-secondary": "#f5f6f4",
        "color-brand-primary": "#0b5ea3",
        "color-brand-content": "#0b5ea3",
        "color-brand-visited": "#0b5ea3",
        "font-stack": "'Source Sans 3 Variable', system-ui, sans-serif",
        "font-stack--monospace": "'Source Code Pro Variable', ui-monospace, monospace",
    },
    "dark_css_variables": {
        "color-background-primary": "#15171b",
        "color-background-secondary": "#1b1e23",
        "color-brand-primary": "#7dbcf5",
        "color-brand-content": "#7dbcf5",
        "color-brand-visited": "#7dbcf5",
    },
    "top_of_page_buttons": [],
}
html_copy_source = False
html_show_search_summary = False  # reads other pages, which file:// forbids
html_show_sphinx = False
html_math_renderer = "katex"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"


def deal(app, env, names):
    """Deal the pages to the two processes that read them; the quick ones of the API come first."""
    names[:] = names[::2] + names[1::2]


def setup(app):
    """Share out the reading."""
    app.connect("env-before-read-docs", deal)
