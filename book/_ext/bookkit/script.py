"""The Python behind a page's players: its cells without what only draws, as a script to run.

A statement that uses bookkit is left out, and so is one that needs what such a statement would have
set; so are the checks of a page's equations. What is left makes the data and the runs; `recorded`
is what a player was given, if that can be had without bookkit.
"""

import ast
import re

from bookkit.assets import STATIC

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)


def walked(node, kind):
    """The names below a node that are read (ast.Load) or set (ast.Store)."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}


def names(statement):
    """(what a statement needs, what it sets)."""
    reads, sets = walked(statement, ast.Load), walked(statement, ast.Store)
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        inner = sets | {
            argument.arg for argument in ast.walk(statement) if isinstance(argument, ast.arg)
        }
        return reads - inner, {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set(), {alias.asname or alias.name for alias in statement.names}
    value = getattr(statement, "value", None)  # of an assignment: its targets come after
    return reads - (walked(value, ast.Store) if value else sets), sets


def filled(statement):
    """The lists to which a statement appends."""
    calls = [n.func for n in ast.walk(statement) if isinstance(n, ast.Call)]
    return {
        f.value.id for f in calls if getattr(f, "attr", "") == "append" and hasattr(f.value, "id")
    }


def frames(statement):
    """What a statement hands to `player`, or None where it calls none."""
    call = getattr(statement, "value", None)
    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "player":
        return call.args[0]
    return None


def script(text):
    """The script of a page's cells up to its last player, hidden checks aside; "" without one."""
    cells = [cell[2] for cell in CELL.finditer(text) if "remove-cell" not in cell[1]]
    playing = [k for k, cell in enumerate(cells) if re.search(r"^player\(", cell, re.MULTILINE)]
    if not playing:
        return ""
    source = "\n".join(cells[: playing[-1] + 1])
    missing, kept = set(), []
    for statement in ast.parse(source).body:
        given = frames(statement)
        needs, sets = names(statement)
        if getattr(statement, "module", None) == "bookkit":
            missing |= {alias.name for alias in statement.names}
        elif given is not None and not names(ast.Expr(given))[0] & missing:
            kept.append("recorded = " + ast.get_source_segment(source, given))
        elif needs & missing:
            missing |= sets | filled(statement)
        else:
            missing -= sets
            kept.append(ast.get_source_segment(source, statement))
    return "\n".join(kept) + "\n"


def write_script(app, docname, text):
    """Put the script of a page with a player where its players link to."""
    if source := script(text[0]):
        folder = STATIC / "runs"
        folder.mkdir(parents=True, exist_ok=True)
        title = re.search(r"^# (.*)", text[0], re.MULTILINE)[1]
        head = f"# {title}: the runs that the book replays. Needs mlreplica.\n\n"
        (folder / f"{docname}.py").write_text(head + source, encoding="utf-8")


def setup(app):
    """Write the scripts while pages are read."""
    app.connect("source-read", write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
