"""The directives ``models`` and ``facts``: what the cards of the estimators say.

``models`` is a table of all estimators; ``facts`` takes the name of one and shows what it is for,
its advantages and disadvantages, its cost, what it needs, and the alternatives. It stands on top of
every page that a card names, also if the page does not ask for it. A method that is no estimator,
such as a sampler, gives the same rows in the body of ``facts``, as ``Time: one draw per sweep``.
"""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from mlreplica.discovery import cards, overview


class Models(SphinxDirective):
    """A table of all estimators, with links to their pages."""

    def run(self):
        """The table, parsed as Markdown."""
        return [nodes.container("", *self.parse_text_to_nodes(overview()), classes=["models"])]


ROWS = (
    "Class", "Use it for", "Advantages", "Disadvantages", "Time", "Memory", "Rescaling",
    "Missing values", "Alternatives",
)  # fmt: skip


class Facts(SphinxDirective):
    """The facts on one estimator's card, or those that the page gives."""

    optional_arguments = 1
    has_content = True

    def run(self):
        """A box; an estimator that is not there, or a missing row, stops the build."""
        found = {card.name: card for card in cards()}
        if self.arguments:
            rows = self.rows_of(self.arguments[0], found)
        else:
            rows = dict(line.split(": ", 1) for line in self.content if ": " in line)
        if tuple(rows) != ROWS:
            raise self.error(f"the rows of a box of facts are {', '.join(ROWS)}")
        text = "| | |\n|---|---|\n" + "".join(f"| {k} | {v} |\n" for k, v in rows.items())
        box = nodes.container("", classes=["facts"])
        box += self.parse_text_to_nodes(text)
        return [box]

    def rows_of(self, name, found):
        """The rows of a card, with links."""
        if name not in found:
            raise self.error(f"no estimator {name!r} has a card")
        card = found[name]
        page = self.env.docname
        same = [other for other in found.values() if other.page == page and other is not card]
        rows = {"Class": ", ".join(reference(c) for c in (card, *same))} | card.facts()
        return rows | {"Alternatives": linked(rows["Alternatives"], found)}


def reference(card):
    """A link to the class in the API reference."""
    return f"{{class}}`{card.name} <{card.public_name}>`"


def linked(text, found):
    """The text with links to the estimators it names."""
    names = "|".join(sorted(found, key=len, reverse=True))
    return re.sub(rf"`?\b({names})\b`?", lambda match: reference(found[match[1]]), text)


def first_mention(name, text):
    """Where a page first says a name; beyond its end if it never does."""
    found = re.search(rf"\b{name}\b", text)
    return found.start() if found else len(text)


def put_facts(app, docname, text):
    """A page that explains an estimator begins with its facts, unless it places them itself."""
    if "{facts}" in text[0]:
        return
    mine = [card for card in cards() if card.page == docname]
    title = re.search(r"^# .*\n", text[0], re.MULTILINE)
    if mine and title:
        main = min(mine, key=lambda card: (first_mention(card.name, text[0]), len(card.name)))
        at = title.end()
        text[0] = f"{text[0][:at]}\n```{{facts}} {main.name}\n```\n{text[0][at:]}"


def setup(app):
    """Register the directives."""
    app.add_directive("models", Models)
    app.add_directive("facts", Facts)
    app.connect("source-read", put_facts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
