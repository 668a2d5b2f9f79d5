"""Exercises with folded solutions, and questions of a quiz.

``exercise`` is followed by ``solution`` … ``solution-end`` that fold what lies between; ``fold`` …
``fold-end`` fold what a first reading may leave out.

A solution is opened and closed by two empty directives, so that its code cells stay cells of the
page: they run when the book is built, and a wrong solution stops the build. ``quiz`` is a question
with choices, each of which opens what is to be said of it; it needs no JavaScript.
"""

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)


class details(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """A folded block."""


class summary(nodes.General, nodes.TextElement):  # noqa: N801
    """What is seen of a folded block."""


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


class Aside(SphinxDirective):
    """Opens what a first reading may leave out; it ends at ``fold-end``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """A marker, replaced by `Fold`."""
        node = fold_start("", summary=self.arguments[0], classes=["aside"])
        self.set_source_info(node)
        return [node]


class SolutionEnd(SphinxDirective):
    """Closes a solution or another fold."""

    def run(self):
        """A marker, removed by `Fold`."""
        return [fold_end()]


class Quiz(SphinxDirective):
    """A question and its choices, a line each: ``( ) choice | why not`` or ``(x) choice | why``."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    LINE = re.compile(r"\(([ x])\) (.+?) \| (.+)")

    def run(self):
        """The question, then one fold a choice; opening one closes the others."""
        number = self.env.new_serialno("quiz") + 1
        question, messages = self.parse_inline(self.arguments[0])
        box = nodes.container("", classes=["quiz"])
        box += nodes.paragraph("", "", *question, classes=["exercise-title"])
        choices = [self.LINE.fullmatch(line.strip()) for line in self.content if line.strip()]
        if None in choices or sum(choice[1] == "x" for choice in choices) != 1:
            raise self.error(
                "quiz: lines are '( ) choice | why not', and one is '(x) choice | why'"
            )
        for choice in choices:
            right = choice[1] == "x"
            said, more = self.parse_inline(choice[2])
            why, also = self.parse_inline(("Right. " if right else "No. ") + choice[3])
            fold = details("", classes=["right" if right else "wrong"], group=f"quiz-{number}")
            fold += [summary("", "", *said), nodes.paragraph("", "", *why)]
            box += fold
            messages += more + also
        return [box, *messages]


class Fold(SphinxTransform):
    """Move what lies between the two markers of a solution into a folded block."""

    default_priority = 200

    def apply(self, **kwargs):
        """Fold every solution of the page."""
        for start in list(self.document.findall(fold_start)):
            parent, first = start.parent, start.parent.index(start)
            ends = [i for i, n in enumerate(parent) if i > first and isinstance(n, fold_end)]
            if not ends:
                log.warning("this fold has no {solution-end} or {fold-end}", location=start)
                start.parent.remove(start)
                continue
            inside = parent[first + 1 : ends[0]]
            head = summary("", start["summary"])
            kind = start["classes"] or ["solution"]
            parent[first : ends[0] + 1] = [details("", head, *inside, classes=kind)]
        for end in list(self.document.findall(fold_end)):
            log.warning("this {solution-end} closes no {solution}", location=end)
            end.parent.remove(end)


def visit_details(translator, node):
    """Open a fold; of folds with one name a browser keeps one open."""
    name = f' name="{node["group"]}"' if "group" in node else ""
    translator.body.append(f'<details class="{" ".join(node["classes"])}"{name}>')


def depart_details(translator, node):
    """Close the fold."""
    translator.body.append("</details>\n")


def visit_summary(translator, node):
    """Open what is seen of a closed fold."""
    translator.body.append("<summary>")


def depart_summary(translator, node):
    """Close it."""
    translator.body.append("</summary>\n")


def setup(app):
    """Register the directives."""
    app.add_node(details, html=(visit_details, depart_details))
    app.add_node(summary, html=(visit_summary, depart_summary))
    app.add_directive("exercise", Exercise)
    app.add_directive("solution", Solution)
    app.add_directive("solution-end", SolutionEnd)
    app.add_directive("fold", Aside)
    app.add_directive("fold-end", SolutionEnd)
    app.add_directive("quiz", Quiz)
    app.add_transform(Fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
