"""The Python that repeats a comparison's best result and fits the model on all rows"""

import inspect

from sklearn.base import BaseEstimator

from mlreplica import __version__
from mlreplica.core.lazy import public_module

from .metrics import METRICS
from .models import pipeline_for
from .winner import winner_of

SPLITS = {
    "in time": "TimeSeriesSplit({folds})",
    "by group": "{stratified}GroupKFold({folds}, shuffle=True, random_state={seed})",
    "rows": "{stratified}KFold({folds}, shuffle=True, random_state={seed})",
}


def script(table, result, cls, choices=None, path=None):
    """The source of a program."""
    imports = set()
    model = source(pipeline_for(cls, table, result["seed"]), imports)
    how = "in time" if table.time else "rows" if table.groups is None else "by group"
    stratified = "Stratified" if table.task == "classification" else ""
    folds = SPLITS[how].format(folds=result["folds"], seed=result["seed"], stratified=stratified)
    imports.add(("sklearn.model_selection", folds.partition("(")[0]))
    imports.add(("sklearn.model_selection", "cross_val_score"))
    if path is None:
        reader, table_line = "read_shipped", f"table = read_shipped({table.name!r})"
        frame = "table.X, table.y"
    else:
        imports.add(("pathlib", "Path"))
        imports.add(("mlreplica.cli.table", "Choices"))
        given, usual = (
            choices._replace(target=table.target, task=table.task),
            choices._field_defaults,
        )
        items = given._asdict().items()
        kept = ", ".join(f"{name}={value!r}" for name, value in items if value != usual[name])
        reader = "read_file"
        table_line = f"table = read_file(Path({str(path)!r}), Choices({kept}))"
        imports.add(("sklearn.pipeline", "Pipeline"))
        model_line = 'model = Pipeline([("columns", table.encoder), *model.steps])'
        frame = "table.frame, table.y"
    imports.add(("mlreplica.cli.table", reader))
    judge, best = METRICS[result["metric"]], winner_of(result)
    sign = "-" if judge.best is min else ""
    groups = ", groups=table.groups" if table.groups is not None else ""
    lines = [
        f'"""{best["model"]} on {table.name}; written by mlreplica {__version__}"""',
        "",
        *import_lines(imports),
        "",
        table_line,
        f"model = {model}",
        f"folds = {folds}",
        "scores = cross_val_score(",
        f'    model, table.X, table.y, cv=folds, scoring="{judge.scoring}"{groups}',
        ")",
        f"print({sign}scores.mean(), scores.std(ddof=1))  # {result['metric']}",
        "",
    ]
    if path is not None:
        lines += ["# The model of all rows takes frames with the columns of the file.", model_line]
    return "\n".join([*lines, f"model.fit({frame})", ""])


def import_lines(imports):
    """`from a import b, c`, in order: the standard library, others, ours."""
    modules = sorted({module for module, _ in imports}, key=lambda m: (m != "pathlib", m))
    found = {m: sorted(name for module, name in imports if module == m) for m in modules}
    ordered = [m for m in modules if not m.startswith("mlreplica")]
    ordered += [m for m in modules if m.startswith("mlreplica")]
    return [f"from {m} import {', '.join(found[m])}" for m in ordered]


def source(thing, imports, indent=0):
    """Source of an estimator or plain value, its parameters as far as they are not the default."""
    inner, close = "\n" + " " * (indent + 4), "\n" + " " * indent
    if isinstance(thing, BaseEstimator):
        cls = type(thing)
        imports.add((public_module(cls), cls.__name__))
        defaults = inspect.signature(cls).parameters
        given = {
            name: value
            for name, value in thing.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        }
        if positional(cls, given):
            return f"{cls.__name__}({source(next(iter(given.values())), imports, indent)})"
        parts = [f"{name}={source(value, imports, indent)}" for name, value in given.items()]
        return f"{cls.__name__}({', '.join(parts)})"
    if isinstance(thing, list) and any(isinstance(item, tuple) for item in thing):
        return (
            "[" + "".join(f"{inner}{source(i, imports, indent + 4)}," for i in thing) + f"{close}]"
        )
    if isinstance(thing, tuple):
        return f"({', '.join(source(item, imports, indent) for item in thing)})"
    return f'"{thing}"' if isinstance(thing, str) and '"' not in thing else repr(thing)


def positional(cls, given):
    """Whether the one parameter given is the first: the steps of a Pipeline go without a name."""
    return list(given) == list(inspect.signature(cls).parameters)[:1]
