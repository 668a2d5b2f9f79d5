"""A docstring as reStructuredText: numpydoc's sections become definition lists.

Docstrings are plain text with `code` and :math:`formulas`: |r|, w* and coef_ mean what they show,
and a line "w." is a sentence, not an item of a list.
"""

import inspect
import re

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
FIELDS = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "Other Parameters"}
KEPT = re.compile(r"(:\w+(?::\w+)?:`[^`]+`|`+[^`]+`+_*)")  # roles, code, links: as they are
SIGN = re.compile(r"(\\|\||\*|(?<=\w)_(?!\w))")  # signs that reStructuredText would read
LETTER = re.compile(  # would be an item of a list
    r"^([ ]*)(\(?(?:[A-Za-z]|[ivxlcdm]{2,}|#)[.)])(\s|$)", re.MULTILINE
)


def escaped(text):
    """Prose whose signs mean themselves."""
    parts = KEPT.split(text)
    parts[::2] = [SIGN.sub(r"\\\1", part) for part in parts[::2]]
    return LETTER.sub(r"\1\\\2\3", "".join(parts))


def prose(text):
    """Paragraphs, lists, doctests and literal blocks; only what is prose is escaped."""
    blocks, literal, doctest = [], None, False
    for line in text.splitlines():
        indent, start = len(line) - len(line.lstrip()), line.lstrip()
        if literal is not None and start and indent <= literal:
            literal = None
        doctest = start.startswith(">>>") or (doctest and bool(start))  # its output follows it
        code = doctest or literal is not None or start.startswith(".. ")
        if not blocks or blocks[-1][0] != code:
            blocks.append((code, []))
        blocks[-1][1].append(line)
        if line.rstrip().endswith("::"):
            literal = indent
    texts = ((code, "\n".join(lines)) for code, lines in blocks)
    return "\n".join(text if code else escaped(text) for code, text in texts)


def sections(thing):
    """{title: text} of a docstring, "" for what comes before the first title."""
    parts = SECTION.split(inspect.getdoc(thing) or "")
    return {
        "": parts[0].strip(),
        **{t: x.strip("\n") for t, x in zip(parts[1::2], parts[2::2], strict=True)},
    }


def summary(thing):
    """The first sentence of a docstring, escaped, on one line."""
    return escaped((inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " "))


def fields(text):
    """[(names, type, description)] of a section that lists parameters or the like."""
    found = []
    for line in text.splitlines():
        if line.strip() and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            found.append((names.strip(), kind.strip(), []))
        elif found:
            found[-1][2].append(line)
    return [(names, kind, inspect.cleandoc("\n".join(lines))) for names, kind, lines in found]


def definitions(text, named=True):
    """A section of fields as a definition list; `named`: what comes first is a name."""
    found = []
    for names, kind, description in fields(text):
        if named:
            term = ", ".join(f"``{name.strip()}``" for name in names.split(","))
            term += f" : {escaped(kind)}" if kind else ""
        else:
            term = f"``{names}`` : {escaped(kind)}" if kind else escaped(names)
        body = prose(description) or "\\ "
        found.append(term + "\n" + "\n".join(f"    {line}" for line in body.splitlines()))
    return "\n\n".join(found)


def body(title, text):
    """The text of a section."""
    if title in FIELDS:
        return definitions(text, named=title not in ("Returns", "Yields", "Raises", "Warns"))
    if title == "See Also":
        return definitions(text)
    return prose(inspect.cleandoc(text) if title else text)
