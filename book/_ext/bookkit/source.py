"""The ``source`` directive: quotes a symbol of the installed package, linked to its equations.

``(2)`` in a comment or docstring of the quoted code becomes a link to the equation of that number
on the page, and the equation gets a link back. A number the page does not have is an error.
Lines that cite are marked, so that they and their equations light up together (book.js).
"""

import ast
import importlib.util
import re
from html import escape, unescape
from importlib import import_module
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from bookkit.algorithm import algorithm_line

log = logging.getLogger(__name__)
CITED = re.compile(r"(?<![\w\])}/])\((\d{1,3}[a-z]?)\)(?!\()")
PROSE = re.compile(r'<span class="(c1|sd)">(.*?)</span>')
NUMBERED = re.compile(r'<span class="linenos"> *(\d+)</span>.*')
UNCOLOURED = re.compile(r'<span class="[npw]">(.*?)</span>')  # names, brackets, spaces: as the text
PAGES = "_source"


class quoted_source(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes in lower case)
    """A piece of the package's source."""


def module_of(symbol):
    """(module name, path of its file, the rest of the dotted name)."""
    parts = symbol.split(".")
    for cut in range(len(parts), 0, -1):
        name = ".".join(parts[:cut])
        try:
            spec = importlib.util.find_spec(name)
        except (ModuleNotFoundError, AttributeError, ValueError):
            continue
        if spec is not None and spec.origin:
            return name, Path(spec.origin), parts[cut:]
    raise LookupError(f"no module is named in {symbol!r}")


def definition(body, names, symbol):
    """The node of a dotted name in a syntax tree."""
    for node in body:
        if getattr(node, "name", None) == names[0]:
            return node if len(names) == 1 else definition(node.body, names[1:], symbol)
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if names == [getattr(targets[0], "id", None)]:
            return node
    known = ", ".join(n.name for n in body if hasattr(n, "name"))
    raise LookupError(f"{symbol!r} is not defined there; defined are: {known}")


def lines_of(symbol, docstring_only=False):
    """(module name, path, first line, last line) of a symbol of an installed package."""
    name, path, names = module_of(symbol)
    node = ast.parse(path.read_text(encoding="utf-8"))
    if names:
        try:
            node = definition(node.body, names, symbol)
        except LookupError:  # the module may only hand it on
            home = getattr(getattr(import_module(name), names[0], None), "__module__", name)
            if home == name:
                raise
            return lines_of(".".join([home, *names]), docstring_only)
    if docstring_only or not names:
        node = node.body[0]
    starts = [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]
    return name, path, min(starts), node.end_lineno


def file_in_package(path, name):
    """`src/mlreplica/…` of a module's file, as a reader finds it in the repository."""
    depth = name.count(".") + 1 + (path.name == "__init__.py")
    return "src/" + "/".join(path.parts[-depth:])


class Source(SphinxDirective):
    """Quote a function, class, method, or (``:docstring:``) a docstring."""

    required_arguments = 1
    option_spec = {
        "docstring": directives.flag,
        "equations": directives.unchanged_required,
        "caption": directives.unchanged_required,
    }

    def run(self):
        """Read the lines now; link the equations when all pages are known."""
        symbol = self.arguments[0]
        try:
            name, path, first, last = lines_of(symbol, "docstring" in self.options)
        except (LookupError, OSError, SyntaxError) as error:
            raise self.error(f"source: {error}") from error
        self.env.note_dependency(str(path))
        lines = path.read_text(encoding="utf-8").splitlines()[first - 1 : last]
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        text = "\n".join(line[indent:] for line in lines) + "\n"
        node = quoted_source(
            "",
            text=text,
            symbol=path.name if symbol == name else symbol.rpartition(".")[2],
            first=first,
            module=name,
            file=file_in_package(path, name),
            prefix=self.options.get("equations", self.env.docname.rpartition("/")[2]),
            caption=self.options.get("caption", ""),
            ids=[nodes.make_id(f"source-{symbol}-{first}")],
            docname=self.env.docname,
            classes=["source", *(["docstring"] if "docstring" in self.options else [])],
        )
        self.set_source_info(node)
        return [node]


def link_equations(app, doctree, docname):
    """Give each quoted source the addresses of its equations, and each equation its sources."""
    equations = app.env.get_domain("math").equations
    cited_by = {}
    for node in doctree.findall(quoted_source):
        node["links"] = {}
        for html in PROSE.findall(highlighted(app.builder.highlighter, node)):
            for number in CITED.findall(unescape(html[1])):
                label = f"{node['prefix']}-{number}"
                if label not in equations:
                    said = f"{node['symbol']} cites ({number}), but there is no equation {label}"
                    log.warning(said, location=node, type="source")
                    continue
                there = equations[label][0]
                page = "" if there == docname else app.builder.get_relative_uri(docname, there)
                node["links"][number] = f"{page}#{nodes.make_id('equation-' + label)}"
                sources = cited_by.setdefault(label, [])
                if (node["ids"][0], node["symbol"]) not in sources:
                    sources.append((node["ids"][0], node["symbol"]))
    for node in doctree.findall(nodes.math_block):
        if node.get("label") in cited_by:
            node["cited_by"] = cited_by[node["label"]]


def find_running_lines(app, doctree, docname):
    """Give each line of pseudocode the addresses of the quoted lines that run it."""
    quoted = [n for n in doctree.findall(quoted_source) if "docstring" not in n["classes"]]
    for row in doctree.findall(algorithm_line):
        wanted, row["runs"] = " ".join(row["code"].split()), []
        for node in quoted if wanted else ():
            prose = docstring_lines(node["text"])
            for k, line in enumerate(node["text"].splitlines()):
                if wanted in " ".join(line.split()) and k not in prose:
                    address = f"run-{node['ids'][0]}-{k}"
                    node.setdefault("marked", {})[node["first"] + k] = address
                    row["runs"].append(address)
        if wanted and not row["runs"]:
            said = f"no source quoted on this page has the code {wanted!r} that this line names"
            log.warning(said, location=row, type="source")


def docstring_lines(text):
    """The numbers, from 0, of the lines of docstrings."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    kinds = ast.Module | ast.FunctionDef | ast.ClassDef
    told = [n for n in ast.walk(tree) if isinstance(n, kinds) and ast.get_docstring(n) is not None]
    return {k - 1 for n in told for k in range(n.body[0].lineno, n.body[0].end_lineno + 1)}


def highlighted(highlighter, node):
    """The quoted lines as HTML, numbered as in their file."""
    options = {"linenos": "inline", "linenostart": node["first"], "wrapcode": True}
    return highlighter.highlight_block(node["text"], "python", **options)


def visit_source(translator, node):
    """Caption with the way to the whole file, then the code with links to its equations."""

    def link(match):
        href = node["links"].get(match[1], "")
        return f'<a class="cites" href="{href}" title="Equation {match[1]}">{match[0]}</a>'

    def prose(match):
        return f'<span class="{match[1]}">{CITED.sub(link, match[2])}</span>'

    code = PROSE.sub(prose, highlighted(translator.highlighter, node))
    marked = node.get("marked", {})

    def citing(match):
        address = marked.get(int(match[1]))
        if not address and 'class="cites"' not in match[0]:
            return match[0]
        named = f' id="{address}"' if address else ""
        return f'<span class="citing"{named}>{match[0]}</span>'

    code = NUMBERED.sub(citing, code)
    if "docstring" in node["classes"]:  # it says again what the page has said
        code = f"<details><summary>The same in plain text</summary>{code}</details>"
    last = node["first"] + node["text"].count("\n") - 1
    page = f"{PAGES}/{node['module'].replace('.', '/')}"
    href = translator.builder.get_relative_uri(node["docname"], page) + f"#L{node['first']}"
    caption = f"<span>{escape(node['caption'])}</span>" if node["caption"] else ""
    translator.body.append(
        f'<figure class="{" ".join(node["classes"])}" id="{node["ids"][0]}"><figcaption>{caption}'
        f'<code>{node["symbol"]}</code> <a href="{href}">{escape(node["file"])}, '
        f"lines {node['first']}–{last}</a></figcaption>{code}</figure>\n"
    )
    raise nodes.SkipNode


def package_files():
    """Where the package is, and its files."""
    package = Path(importlib.util.find_spec("mlreplica").origin).parent
    return package, sorted(package.rglob("*.py"))


def run_again(app, docname, text):
    """A page that runs code is built again whenever the package or bookkit changes."""
    if "{code-cell}" in text[0]:
        for path in [*package_files()[1], *Path(__file__).parent.glob("*.py")]:
            app.env.note_dependency(str(path), docname=docname)


def source_pages(app):
    """A page for every file of the package, each line with an address; none for `make page`."""
    if "**" not in app.config.include_patterns:
        return
    package, files = package_files()
    options = {"linenos": "inline", "lineanchors": "L", "wrapcode": True}  # L-1, L-2 …
    for path in files:
        file, text = path.relative_to(package.parent).as_posix(), path.read_text(encoding="utf-8")
        code = app.builder.highlighter.highlight_block(text, "python", **options)
        code = re.sub(r'<a id="L-(\d+)"[^>]*></a><span', r'<span id="L\1"', code)
        body = f'<h1>src/{file}</h1><div class="whole-file">{code}</div>'
        name = file.removesuffix(".py").removesuffix("/__init__")
        yield f"{PAGES}/{name}", {"title": name.replace("/", "."), "body": body}, "source.html"


def slim(app, pagename, templatename, context, doctree):
    """Leave out marks that change no colour: a tenth of a page of code."""
    if "body" in context:
        context["body"] = UNCOLOURED.sub(r"\1", context["body"])


def setup(app):
    """Register the directive and the pages of whole files."""
    app.add_node(quoted_source, html=(visit_source, None))
    app.add_directive("source", Source)
    app.connect("source-read", run_again)
    app.connect("doctree-resolved", link_equations)
    app.connect("doctree-resolved", find_running_lines)
    app.connect("html-collect-pages", source_pages)
    app.connect("html-page-context", slim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
