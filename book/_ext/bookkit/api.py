"""The API reference: one page a public module, written from its ``__all__`` before the build.

What is ours gets its docstring; what a module hands on from scikit-learn gets one line.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path

from bookkit.source import PAGES, lines_of

SIGN = re.compile(r"(\||(?<!\*)\*(?!\*)|(?<=\w)_(?!\w))")  # signs that reStructuredText would read
ROUTING = re.compile(r"set_\w+_request|get_metadata_routing")
ATTRIBUTE = re.compile(r"\w+_|(named_)?estimators?")
FIELD = re.compile(r"\s*[\w*][\w*, ]* : ")  # the name in `name : type`
MODULES = [
    "linear_model",
    "svm",
    "tree",
    "ensemble",
    "kernel_ridge",
    "decomposition",
    "kernel_approximation",
    "metrics",
    "inspection",
    "datasets",
    "losses",
    "kernels",
    "callbacks",
    "persistence",
    "onnx_export",
    "plotting",
]


def first_sentence(thing):
    """The summary line of a docstring, as one line of reStructuredText."""
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")


def heading(text, rule):
    """A heading of a page."""
    return f"{text}\n{rule * len(text)}\n\n"


def entry(module, name):
    """One public name: its docstring where it is ours, a line where it is not."""
    thing, full = getattr(module, name), f"{module.__name__}.{name}"
    origin = home(thing)
    if inspect.isclass(thing) and origin == "mlreplica":
        theirs = ", ".join(f"``{method}``" for method in handed_on(thing))
        also = f"   From scikit-learn: {theirs}.\n\n" if theirs else ""
        return f".. autoclass:: {full}\n   :members:\n   :inherited-members:\n\n{also}"
    if callable(thing) and hasattr(thing, "__name__"):
        if origin == "mlreplica":
            return f".. autofunction:: {full}\n\n"
        said = f"{first_sentence(thing)}, from {origin.replace('sklearn', 'scikit-learn')}."
        return f".. py:function:: {full}\n   :noindex:\n\n   {said}\n\n"
    return f".. py:data:: {full}\n\n   {what(thing)}\n\n"


def what(thing):
    """A constant or an instance in one line."""
    kind = type(thing)
    if inspect.ismodule(thing):
        return f"A module: {first_sentence(thing)}"
    if isinstance(thing, dict | list | tuple | set | frozenset):
        return f"A {kind.__name__}: " + ", ".join(f"``{item}``" for item in thing) + "."
    if kind.__module__ == "builtins":
        return f"``{thing!r}``"
    return (
        f"``{thing!r}``, a :class:`~mlreplica.{kind.__module__.rpartition('.')[2]}.{kind.__name__}`"
    )


def page(name):
    """The reference of one module: a table of its names, then each of them."""
    module = import_module(f"mlreplica.{name}")
    names = sorted(module.__all__, key=str.lower)
    text = heading(f"mlreplica.{name}", "=") + f".. py:module:: mlreplica.{name}\n\n"
    text += f"{module.__doc__.strip().splitlines()[0].rstrip('.')}.\n\n"
    return text + "".join(entry(module, item) for item in names)


def write_pages(app):
    """Write api/*.rst; a page that has not changed is left alone, so it is not built again."""
    if "**" not in app.config.include_patterns:  # `make page` builds one page alone
        return
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    listed = "".join(f"   {name}\n" for name in MODULES)
    index = heading("API reference", "=")
    index += "Every public name, from its docstring. Names, arguments and results are\n"
    index += "scikit-learn's wherever scikit-learn has the thing.\n\n"
    index += f".. toctree::\n   :maxdepth: 1\n\n{listed}"
    for name, text in {"index": index, **{name: page(name) for name in MODULES}}.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def source_link(domain, info):
    """Where `[source]` in the API reference leads: the line in the book's copy of the file."""
    if domain != "py" or not info["fullname"]:
        return None
    try:
        name, _, first, _ = lines_of(f"{info['module']}.{info['fullname']}")
    except LookupError:
        return None
    return f"../{PAGES}/{name.replace('.', '/')}.html#L{first}"


def plain_prose(app, kind, name, thing, options, lines):
    """Docstrings are plain text: |r|, w* and coef_ mean what they show, not reStructuredText."""
    for k, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...", "..")):
            continue
        name = FIELD.match(line)  # of a parameter: napoleon reads it
        start = name.end() if name else 0
        parts = re.split(r"(`+[^`]*`+)", line[start:])  # code stays as it is
        parts[::2] = [SIGN.sub(r"\\\1", part) for part in parts[::2]]
        lines[k] = line[:start] + "".join(parts)


def home(member):
    """The package that a method or property comes from; empty for a constant."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
    return (getattr(function, "__module__", "") or "").partition(".")[0]


def handed_on(cls):
    """The public methods that a class has from scikit-learn."""
    names = [name for name, member in inspect.getmembers(cls) if home(member) == "sklearn"]
    return [name for name in names if not name.startswith("_") and not ROUTING.fullmatch(name)]


def skip_member(app, kind, name, thing, skip, options):
    """Leave out other packages' methods, metadata routing, and what a class tells as attributes."""
    told = isinstance(thing, property) and ATTRIBUTE.fullmatch(name)
    theirs = kind == "class" and callable(thing) and home(thing) != "mlreplica"
    return bool(skip or told or theirs or ROUTING.fullmatch(name))


def setup(app):
    """Write the pages before Sphinx looks for them."""
    app.connect("autodoc-process-docstring", plain_prose, priority=100)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
