"""The API reference: a page a public class or function, and a table of them for each module.

The pages are written from `__all__` and the docstrings before the build. What a module hands on
from scikit-learn has a line in its table.
"""

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import mlreplica
from bookkit.assets import BOOK
from bookkit.docstrings import body, escaped, sections, summary
from bookkit.source import PAGES, lines_of
from mlreplica.core.card import card_of
from mlreplica.discovery import cards

ROUTING = re.compile(r"set_\w+_request|get_metadata_routing")
ORDER = ["fit", "partial_fit", "fit_transform", "fit_predict", "predict", "transform", "score"]


def order():
    """The public modules: those with most estimators first, then the tools."""
    with_cards = Counter(card.chapter.rpartition(".")[2] for card in cards())
    return sorted(mlreplica.__all__, key=lambda name: (-with_cards[name], name))


def heading(text, rule):
    """A heading of a page."""
    return f"{text}\n{rule * len(text)}\n\n"


def indented(text, by="   "):
    """The text as the content of a directive."""
    return "\n".join(by + line if line.strip() else "" for line in text.splitlines()) + "\n\n"


def signature(thing):
    """The arguments of a call, without annotations."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    plain = [p for p in plain if p.name != "self"]
    text = str(found.replace(parameters=plain, return_annotation=found.empty))
    return re.sub(r"<([\w.]+)(?: object)? at 0x\w+>|<function (\w+)[^>]*>", r"\1\2", text)


def home(member):
    """The package that a method or property comes from; empty for a constant."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
    return (getattr(function, "__module__", "") or "").partition(".")[0]


def methods(cls):
    """(our public methods and properties, the names of those from scikit-learn)."""
    told = " ".join(sections(cls).get("Attributes", "").split())
    ours, theirs = {}, []
    for name, member in inspect.getmembers(cls):
        if name.startswith("_") or ROUTING.fullmatch(name):
            continue
        if home(member) == "sklearn" and callable(member):
            theirs.append(name)
        elif home(member) == "mlreplica" and name not in re.findall(r"\w+", told):
            ours[name] = member
    rank = {name: k for k, name in enumerate(ORDER)}
    return dict(sorted(ours.items(), key=lambda item: (rank.get(item[0], 99), item[0]))), theirs


def member_entry(name, member):
    """A method or property with all that its docstring says."""
    if not (callable(member) or isinstance(member, property | staticmethod | classmethod)):
        return ""
    told = sections(getattr(member, "fget", None) or member)
    text = body("", told.pop("")) + "\n\n"
    for title, content in told.items():
        text += f".. rubric:: {title}\n\n{body(title, content)}\n\n"
    kind = "method" if callable(member) else "property"
    call = signature(member) if kind == "method" else ""
    return f".. py:{kind}:: {name}{call}\n\n{indented(text)}"


def entry(module, name):
    """The page of a class or a function."""
    thing, text = getattr(module, name), heading(name, "=")
    is_class = inspect.isclass(thing)
    text += f".. py:currentmodule:: {module.__name__}\n\n"
    told = sections(thing)
    kind = "class" if is_class else "function"
    text += f".. py:{kind}:: {name}{signature(thing)}\n\n{indented(body('', told.pop('')))}"
    card = card_of(thing) if is_class else None
    if card and (BOOK / f"{card.page}.md").exists():
        text += f"Explained, with its mathematics and its source, in :doc:`/{card.page}`.\n\n"
    last = {t: told.pop(t) for t in ("See Also", "Notes", "References", "Examples") if t in told}
    for title, content in told.items():
        text += f".. container:: fields\n\n   .. rubric:: {title}\n\n"
        text += indented(body(title, content))
    if is_class:
        ours, theirs = methods(thing)
        entries = [member_entry(*item) for item in ours.items()]
        if any(entries) or theirs:
            text += heading("Methods", "-")
        text += "".join(
            e.replace(f":: {n}", f":: {name}.{n}", 1) for n, e in zip(ours, entries, strict=True)
        )
        if theirs:
            also = ", ".join(f"``{method}``" for method in theirs)
            text += f"As in scikit-learn: {also}.\n\n"
    for title, content in last.items():
        text += heading(title, "-") + body(title, content) + "\n\n"
    return text


def what(thing):
    """A constant or an instance in one line."""
    kind = type(thing)
    if inspect.ismodule(thing):
        return f"A module: {summary(thing)}"
    if isinstance(thing, dict | list | tuple | set | frozenset):
        return f"A {kind.__name__}: " + ", ".join(f"``{item}``" for item in thing)
    if kind.__module__ == "builtins":
        return f"``{thing!r}``"
    return f"``{thing!r}``"


def page_of(name, item, modules):
    """The page of a name; `perceptron` and `Perceptron` differ also where case does not count."""
    same = [n for n in modules[name].__all__ if n.lower() == item.lower()]
    return f"{name}.{item}" + ("-function" if len(same) > 1 and item.islower() else "")


def is_ours(thing):
    """Whether a public name has a page: a class or function of this package."""
    callable_ = inspect.isclass(thing) or (callable(thing) and hasattr(thing, "__name__"))
    return callable_ and home(thing) == "mlreplica"


def row(module, name):
    """A line of a module's table."""
    thing, full = getattr(module, name), f"{module.__name__}.{name}"
    if is_ours(thing):
        role = "class" if inspect.isclass(thing) else "func"
        return f":{role}:`{name} <{full}>`", summary(thing)
    if callable(thing) and hasattr(thing, "__name__"):
        return f"``{name}``", f"{summary(thing)} (scikit-learn's)"
    return f"``{name}``", what(thing)


def table(rows):
    """A table of two columns."""
    text = ".. list-table::\n   :widths: auto\n   :class: names\n\n"
    return text + "".join(f"   * - {a}\n     - {b}\n" for a, b in rows) + "\n"


def module_page(name, modules):
    """The table of a module's names, and the pages below it."""
    module = modules[name]
    text = heading(f"mlreplica.{name}", "=") + f".. py:module:: mlreplica.{name}\n\n"
    text += f"{escaped(module.__doc__.strip().splitlines()[0].rstrip('.'))}.\n\n"
    names = sorted(module.__all__, key=str.lower)
    classes = [n for n in names if inspect.isclass(getattr(module, n))]
    groups = {"Classes": classes, "Functions and values": [n for n in names if n not in classes]}
    for title, group in groups.items():
        if group:
            text += f".. rubric:: {title}\n\n" + table([row(module, n) for n in group])
    pages = [n for n in names if is_ours(getattr(module, n))]
    listed = "".join(f"   {n} <{page_of(name, n, modules)}>\n" for n in pages)
    return text + f".. toctree::\n   :hidden:\n\n{listed}"


def write_pages(app):
    """Write api/*.rst; a page that has not changed is left alone, so it is not built again."""
    if "**" not in app.config.include_patterns:  # `make page` builds one page alone
        return
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    modules = {name: import_module(f"mlreplica.{name}") for name in order()}
    index = heading("API reference", "=")
    index += "Every public name, from its docstring. Names, arguments and results are\n"
    index += "scikit-learn's wherever scikit-learn has the thing.\n\n"
    texts = {}
    for name, module in modules.items():
        first = escaped(module.__doc__.strip().splitlines()[0].rstrip("."))
        ours = [row(module, n)[0] for n in sorted(module.__all__, key=str.lower)]
        index += heading(name, "-") + f":doc:`mlreplica.{name} <{name}>`. {first}.\n\n"
        index += ", ".join(ours) + "\n\n"
        texts[name] = module_page(name, modules)
        for item in module.__all__:
            if is_ours(getattr(module, item)):
                texts[page_of(name, item, modules)] = entry(module, item)
    listed = "".join(f"   {name}\n" for name in modules)
    texts["index"] = index + f".. toctree::\n   :hidden:\n   :maxdepth: 1\n\n{listed}"
    for path in folder.glob("*.rst"):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
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


def setup(app):
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
