"""The ``exercise`` directive, and ``solution`` … ``solution-end`` that fold what lies between.

A solution is opened and closed by two empty directives, so that its code cells stay cells of the
page: they run when the book is built, and a wrong solution stops the build.
"""

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)


class details(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """A folded block."""


class fold_start(nodes.Invisible, nodes.Element):  # noqa: N801
    """Where a solution begins."""


class fold_end(nodes.Invisible, nodes.Element):  # noqa: N801
    """Where a solution ends."""


class Exercise(SphinxDirective):
    """A numbered exercise with an optional title."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """A box; its number counts the exercises of the page."""
        self.assert_has_content()
        number = self.env.new_serialno("exercise") + 1
        title = f"Exercise {number}" + (f": {self.arguments[0]}" if self.arguments else "")
        inline, messages = self.parse_inline(title)
        box = nodes.container("", classes=["exercise"], ids=[f"exercise-{number}"])
        box += nodes.paragraph("", "", *inline, classes=["exercise-title"])
        box += self.parse_content_to_nodes()
        return [box, *messages]


class Solution(SphinxDirective):
    """Opens a solution; it ends at ``solution-end``."""

    def run(self):
        """A marker, replaced by `Fold`."""
        node = fold_start("", summary=f"Solution {self.env.new_serialno('solution') + 1}")
        self.set_source_info(node)
        return [node]


class SolutionEnd(SphinxDirective):
    """Closes a solution."""

    def run(self):
        """A marker, removed by `Fold`."""
        return [fold_end()]


class Fold(SphinxTransform):
    """Move what lies between the two markers of a solution into a folded block."""

    default_priority = 200

    def apply(self, **kwargs):
        """Fold every solution of the page."""
        for start in list(self.document.findall(fold_start)):
            parent, first = start.parent, start.parent.index(start)
            ends = [i for i, n in enumerate(parent) if i > first and isinstance(n, fold_end)]
            if not ends:
                log.warning("this solution has no {solution-end}", location=start)
                start.parent.remove(start)
                continue
            inside = parent[first + 1 : ends[0]]
            parent[first : ends[0] + 1] = [details("", *inside, summary=start["summary"])]
        for end in list(self.document.findall(fold_end)):
            log.warning("this {solution-end} closes no {solution}", location=end)
            end.parent.remove(end)


def visit_details(translator, node):
    """Open the fold."""
    translator.body.append(f'<details class="solution"><summary>{node["summary"]}</summary>\n')


def depart_details(translator, node):
    """Close the fold."""
    translator.body.append("</details>\n")


def setup(app):
    """Register the directives."""
    app.add_node(details, html=(visit_details, depart_details))
    app.add_directive("exercise", Exercise)
    app.add_directive("solution", Solution)
    app.add_directive("solution-end", SolutionEnd)
    app.add_transform(Fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
