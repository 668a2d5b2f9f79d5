"""Formulas: drawn by KaTeX while the book is built, and numbered by their labels.

The label ``perceptron-2a`` is equation (2a) of the page ``perceptron``: the number is written
where the equation is, so it can agree with the docstring of the module the page explains.
"""

import json
import os
import re
import subprocess
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.domains.math import MathDomain
from sphinx.errors import ExtensionError
from sphinx.util import logging

log = logging.getLogger(__name__)
KATEX = Path(__file__).parents[2] / "node_modules" / "katex" / "dist" / "katex.js"
LABEL = re.compile(r"[a-z][a-z0-9-]*-(\d+[a-z]?)$")
ANNOTATION = re.compile(r"<annotation .*?</annotation>", re.DOTALL)  # TeX, a tenth of a page
STOP = re.compile(r"[.,;:!?)’”]+")
LETTER = r"\$(\\?[A-Za-z]+(?:_(?:\w|\{[^}]*\}))?)\$"
DEFINED = [
    re.compile(rf"\b(?:[Ll]et|[Ww]rite|[Cc]all) {LETTER}\s+(?:be|for|hold|denote|stand)\b"),
    re.compile(rf"\b(?:[Ww]ith|and) {LETTER}\s+(?:the|a|an|for)\b"),
    re.compile(rf"\bwhere {LETTER}\s+(?:is|are)\b"),
]
APART = re.compile(
    r"^```\{code-cell\}.*?^```$|^```\{exercise\}.*?^```\{solution-end\}",
    re.MULTILINE | re.DOTALL,
)


@cache
def server(pid):
    """The Node process that draws formulas for the process `pid` (a fork needs its own)."""
    if not KATEX.exists():
        raise ExtensionError("KaTeX is not installed; run `npm ci --prefix book`, or `make book`.")
    script = Path(__file__).with_name("katex_server.cjs")
    return subprocess.Popen(
        ["node", str(script), str(KATEX)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@cache
def render(tex, display, macros):
    """HTML of one formula; a ValueError says what KaTeX could not read."""
    process = server(os.getpid())
    request = {"tex": tex, "display": display, "macros": dict(macros)}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    if "error" in reply:
        raise ValueError(reply["error"])
    return ANNOTATION.sub("", reply["html"])


def html_of(translator, node, tex, display):
    """HTML of a formula on a page; a bad formula is a warning at its line."""
    try:
        return render(tex, display, tuple(translator.config.book_macros.items()))
    except ValueError as error:
        log.warning("%s", error, location=node, type="math")
        return f"<code>{escape(tex)}</code>"


def visit_math(translator, node):
    """Inline formula."""
    translator.body.append(f'<span class="math">{html_of(translator, node, node.astext(), False)}')
    translator.body.append("</span>")
    raise nodes.SkipNode


def visit_math_block(translator, node):
    """Display formula with its number and, where code cites the number, the way there."""
    html = html_of(translator, node, node.astext(), True)
    number, ids = node.get("number"), node.get("ids", [])
    wrapped = node.parent.get("ids") == ids  # furo's wrapper has taken the address
    address = f' id="{ids[0]}"' if ids and not wrapped else ""
    body = [f'<div class="math equation"{address}><div class="formula">{html}</div>']
    if number:
        label = f"Link to equation {number}"
        body.append(f'<a class="eqno" href="#{ids[0]}" aria-label="{label}">({number})</a>')
    if cited_by := node.get("cited_by"):
        links = [f'<a href="#{there}"><code>{escape(name)}</code></a>' for there, name in cited_by]
        body.append(f'<span class="cited">in code: {", ".join(links)}</span>')
    translator.body.append("".join(body) + "</div>\n")
    raise nodes.SkipNode


def keep_stops(app, doctree, docname):
    """Keep a full stop or comma on the line of the formula before it, unless that is long."""
    for formula in list(doctree.findall(nodes.math)):
        after, parent = formula.next_node(descend=False, siblings=True), formula.parent
        stop = isinstance(after, nodes.Text) and STOP.match(after)
        if stop and len(formula.astext()) <= 30:
            parent.replace(after, nodes.Text(after[stop.end() :]))
            pair = nodes.inline(classes=["together"])
            parent.replace(formula, pair)
            pair += [formula, nodes.Text(stop[0])]


def check_order(app, doctree):
    """The numbers of a page are one series and ascend: 1, 2, 2a, 2b, 3."""
    last = None
    for node in doctree.findall(nodes.math_block):
        found = LABEL.match(node.get("label") or "")
        if not found:
            continue
        prefix = node["label"].removesuffix(f"-{found[1]}")
        number = int(re.match(r"\d+", found[1])[0]), found[1].lstrip("0123456789")
        if last and prefix != last[0]:
            said = f"equation {node['label']} begins a second series: go on from {last[2]}"
            log.warning(said, location=node, type="math")
        elif last and number <= last[1]:
            said = f"equation ({found[1]}) stands below {last[2]}: the numbers of a page ascend"
            log.warning(said, location=node, type="math")
        last = prefix, number, node["label"]


def check_letters(app, docname, text):
    """A letter is introduced once a page; exercises may have their own."""
    last, prose = {}, APART.sub("", text[0])
    for words in (found for pattern in DEFINED for found in pattern.finditer(prose)):
        if (letter := words[1]) in last:
            said = "the letter %s is introduced twice, as in %r and %r: one letter, one meaning"
            log.warning(said, letter, last[letter], words[0], location=docname, type="math")
        last[letter] = words[0]


class LabelledEquations(MathDomain):
    """Sphinx's equations, numbered by the end of their labels instead of by counting."""

    def note_equation(self, docname, labelid, location=None):
        """Read the number off the label."""
        super().note_equation(docname, labelid, location)
        if found := LABEL.match(labelid):
            self.equations[labelid] = (docname, found[1])
        else:
            log.warning(
                "equation label %r must end in its number, as %s-1",
                labelid,
                docname,
                location=location,
                type="math",
            )

    def resolve_xref(self, env, fromdocname, builder, typ, target, node, contnode):
        """A number that leads to another page tells its title."""
        link = super().resolve_xref(env, fromdocname, builder, typ, target, node, contnode)
        docname, number = self.equations.get(target, (fromdocname, ""))
        if isinstance(link, nodes.reference) and docname != fromdocname:
            link["reftitle"] = f"{env.titles[docname].astext()}, equation ({number})"
        return link


def stop(app, exception):
    """End the Node process of this build."""
    if server.cache_info().currsize:
        server(os.getpid()).communicate()
        server.cache_clear()


def setup(app):
    """Make KaTeX the renderer of formulas."""
    app.add_config_value("book_macros", {}, "html")
    app.add_html_math_renderer("katex", (visit_math, None), (visit_math_block, None))
    app.add_domain(LabelledEquations, override=True)
    app.connect("source-read", check_letters)
    app.connect("doctree-read", check_order)
    app.connect("doctree-resolved", keep_stops)
    app.connect("build-finished", stop)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
