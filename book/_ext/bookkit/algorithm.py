"""The ``algorithm`` directive: numbered pseudocode with formulas.

Each line of the content is a line of pseudocode; four spaces indent it by one level. ``input``
and ``output`` lines carry no number; a remark follows `` # ``; a piece of the quoted source that
runs the line follows `` @ ``. A player marks the line its frame names and shows that source.
"""

import re

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

FIRST = re.compile(
    r"(input|output|repeat|until|for each|for all|for|while|if|else if|else|return|yield|stop|"
    r"break|continue|procedure|function)\b:?"
)
LAST = re.compile(r"\b(do|then|times|forever)$")


def bold_keywords(text):
    """The line with its opening and closing keyword in bold."""
    text = LAST.sub(r"**\1**", text)
    return FIRST.sub(r"**\g<0>**", text, count=1) if FIRST.match(text) else text


class algorithm_line(nodes.container):  # noqa: N801  (docutils names nodes in lower case)
    """A line of pseudocode; `code` is a piece of the source that runs it, `runs` its addresses."""


def visit_line(translator, node):
    """Open a line, with the addresses of the source that runs it."""
    runs = {"data-runs": " ".join(node["runs"])} if node.get("runs") else {}
    translator.body.append(translator.starttag(node, "div", CLASS="", **runs))


def depart_line(translator, node):
    """Close it."""
    translator.body.append("</div>\n")


class Algorithm(SphinxDirective):
    """Pseudocode under a title."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"label": directives.unchanged_required}

    def run(self):
        """A figure: the title, then one row a line."""
        self.assert_has_content()
        label = self.options.get("label")
        if not label:
            raise self.error("an algorithm needs a :label:, as alg-perceptron")
        title, messages = self.parse_inline(self.arguments[0])
        box = nodes.container("", classes=["algorithm"], ids=[nodes.make_id(label)], names=[])
        box += nodes.paragraph("", "", *title, classes=["algorithm-title"])
        number = 0
        for offset, line in enumerate(self.content):
            if not line.strip():
                continue
            text, _, code = line.strip().partition(" @ ")
            text, _, remark = text.partition(" # ")
            level = (len(line) - len(line.lstrip())) // 4
            numbered = not re.match(r"(input|output)\b", text)
            number += numbered
            row = algorithm_line(
                "", classes=["algorithm-line", f"level-{level}"], code=code.strip()
            )
            self.set_source_info(row)
            row["number"] = str(number) if numbered else ""
            for part, name in ((bold_keywords(text), "statement"), (remark, "remark")):
                if part:
                    inline, more = self.parse_inline(part, lineno=self.content_offset + offset)
                    messages += more
                    row += nodes.paragraph("", "", *inline, classes=[name])
            row["classes"] += [f"line-{number}"] if numbered else ["unnumbered"]
            box += row
        self.set_source_info(box)
        domain = self.env.get_domain("std")
        name = "".join(node.astext() for node in title)
        domain.note_hyperlink_target(label, self.env.docname, box["ids"][0], name)
        return [box, *messages]


def setup(app):
    """Register the directive."""
    app.add_node(algorithm_line, html=(visit_line, depart_line))
    app.add_directive("algorithm", Algorithm)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
