"""Links from every mention: `Lasso` or `roc_curve` in prose leads to the API reference."""

import inspect
import re
from functools import cache
from importlib import import_module

from docutils import nodes
from sphinx import addnodes

import mlreplica

CALL = re.compile(r"(?:mlreplica\.)?(?:\w+\.)?(\w+)(?:\(.*\))?", re.DOTALL)


@cache
def names():
    """{name: (full name, role)} of the public classes and functions that one module alone has."""
    found, twice = {}, set()
    for module_name in mlreplica.__all__:
        module = import_module(f"mlreplica.{module_name}")
        for name in module.__all__:
            thing = getattr(module, name)
            if (getattr(thing, "__module__", "") or "").startswith("mlreplica"):
                role = "class" if inspect.isclass(thing) else "func"
                twice |= {name} & set(found)
                found[name] = f"mlreplica.{module_name}.{name}", role
    common = {name for name in found if name.islower() and "_" not in name}  # words as well
    return {name: where for name, where in found.items() if name not in twice | common}


def target(text):
    """(full name, role) of what a piece of code names, or None."""
    call = CALL.fullmatch(text.strip())
    return names().get(call[1]) if call and len(text) <= 60 else None


def link(app, doctree):
    """Turn mentions into references; one that leads nowhere stays what it was."""
    for literal in list(doctree.findall(nodes.literal)):
        parents = nodes.title, nodes.reference, addnodes.pending_xref, addnodes.desc_signature
        parents += nodes.term, nodes.rubric
        at = literal.parent
        while at is not None and not isinstance(at, parents):
            at = at.parent
        found = target(literal.astext()) if at is None else None
        if found:
            full, role = found
            wanted = {"refdomain": "py", "reftype": role, "reftarget": full, "refwarn": False}
            wanted |= {"refdoc": app.env.docname, "refexplicit": True, "py:module": None}
            reference = addnodes.pending_xref(
                "", literal.deepcopy(), **wanted, **{"py:class": None}
            )
            literal.parent.replace(literal, reference)


def setup(app):
    """Look at each page after it has been read."""
    app.connect("doctree-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
