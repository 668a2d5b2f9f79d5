"""Source: the syntax tree of a user's function, however it was written"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from typing import Any


class NotCompilableError(TypeError):
    """Why a function runs as plain Python."""


def plain_function(function: Any) -> Any:
    """The Python function behind one compiled by Numba or by this package."""
    return getattr(function, "py_func", function)


def definition_of(function: Any) -> ast.FunctionDef:
    """The syntax tree of a function or of a lambda; NotCompilableError if there is no source."""
    if not isinstance(function, types.FunctionType):
        raise NotCompilableError(f"it is a {type(function).__name__}, not a function")
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
        tree = parse_lines(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError) as error:
        raise NotCompilableError("its source cannot be read") from error
    found: list[tuple[ast.FunctionDef, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            made = node
        elif isinstance(node, ast.Lambda) and function.__name__ == "<lambda>":
            made = as_definition(node)
        else:
            continue
        if [a.arg for a in arguments_of(made)] == list(code.co_varnames[: code.co_argcount]):
            found.append((made, node.lineno + first - 1))
    exact = [made for made, line in found if line == code.co_firstlineno]
    candidates = exact or [made for made, _ in found]
    if len(candidates) > 1 and function.__name__ == "<lambda>":
        candidates = [made for made in candidates if same_code(made, code)]
    if len(candidates) != 1 and not (candidates and function.__name__ != "<lambda>"):
        raise NotCompilableError("its source cannot be told from its neighbours")
    made = candidates[0]
    if made.args.vararg or made.args.kwarg or made.args.kwonlyargs:
        raise NotCompilableError("it takes *args, **kwargs or keyword-only arguments")
    made.decorator_list, made.returns = [], None
    for argument in arguments_of(made):
        argument.annotation = None
    if made.body and isinstance(made.body[0], ast.Expr) and ast.get_docstring(made) is not None:
        made.body = made.body[1:] or [ast.Pass()]
    return made


def parse_lines(text: str) -> ast.AST:
    """Parse the lines of a function; a lambda may stand within a line of something longer."""
    try:
        return ast.parse(text)
    except SyntaxError:
        start = text.find("lambda")
        if start < 0:
            raise
        for end in range(len(text), start, -1):
            try:
                return ast.parse(text[start:end].strip(), mode="eval")
            except SyntaxError:
                continue
        raise


def as_definition(node: ast.Lambda) -> ast.FunctionDef:
    """A lambda as a function that returns its expression."""
    body: list[ast.stmt] = [ast.Return(node.body)]
    made = ast.parse("def from_lambda(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, body
    return ast.fix_missing_locations(made)


def same_code(made: ast.FunctionDef, code: types.CodeType) -> bool:
    """Whether a tree compiles to the names and constants of some code."""
    text = compile(ast.unparse(made), "", "exec")
    inner = next(c for c in text.co_consts if isinstance(c, types.CodeType))
    names = set(inner.co_names) == set(code.co_names) | (
        set(code.co_freevars) & set(inner.co_names)
    )
    numbers = [c for c in inner.co_consts if c is not None]
    return names and numbers == [c for c in code.co_consts if c is not None]


def arguments_of(made: ast.FunctionDef) -> list[ast.arg]:
    """The positional arguments of a definition."""
    return [*made.args.posonlyargs, *made.args.args]


def writes_to(made: ast.FunctionDef, name: str) -> bool:
    """Whether a function changes its argument in place."""
    for node in ast.walk(made):
        target = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(target, ast.Name) and target.id == name:
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            base: Any = node
            while isinstance(base, ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name) and base.id == name:
                return True
    return False
