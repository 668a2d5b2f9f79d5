"""Why a model predicts what it predicts

Over all rows a column counts by what changes without it: how much worse the score gets if the
column is shuffled, or how much the predictions move if there is no truth to score by. For one row,
contributions of the columns add up to the output (`inspection/shapley/coalitions.py`). Trees also
show the row's path, support vector machines the training rows that pull most, linear models their
coefficients.
"""

import numpy as np

from mlreplica.inspection.shapley.coalitions import by_permutations, exact

from .metrics import DEFAULT, METRICS
from .model import truth
from .models import core

MOST_ROWS = 2000
REPEATS = 3
BACKGROUND = 50  # rows that stand for a column that is not known
FEW = 8  # columns whose coalitions are all asked
ORDERS = 10
ODD = {"nan": "missing", "infrequent_sklearn": "rare ones"}
OUTPUTS = {"predict_proba": "probability", "decision_function": "score", "predict": "value"}


def places(model):
    """[(Column, its slice of the matrix)]."""
    plan = model.steps[0][1].plan
    ends = np.cumsum([0] + [len(column.features) for column in plan])
    return [(c, slice(a, b)) for c, a, b in zip(plan, ends[:-1], ends[1:], strict=True)]


def output(model, X):
    """What is explained, (n, classes or 1): probabilities, else scores, else predictions."""
    name = next(name for name in OUTPUTS if hasattr(model, name))
    values = np.asarray(getattr(model, name)(X), dtype=float)
    if name == "decision_function" and values.ndim == 1:
        return np.column_stack([-values, values]), OUTPUTS[name]
    return (values[:, None] if values.ndim == 1 else values), OUTPUTS[name]


def all_rows(model, frame, X):
    """What counts over all rows: the importance of the columns, largest first."""
    rest, rng, found = model[1:], np.random.default_rng(0), truth(model, frame)
    if found is not None:
        X = X[found[0]]
    few = rng.permutation(len(X))[:MOST_ROWS]
    X = X[few]
    if found is None:
        before, _ = output(rest, X)
        change = lambda Z: np.abs(output(rest, Z)[0] - before).mean()
        what = "mean change of the output if the column is shuffled"
    else:
        metric, y = DEFAULT[model.steps[0][1].task], found[1][few]
        score = METRICS[metric].score
        base = score(rest, X, y)
        change = lambda Z: base - score(rest, Z, y)
        what = f"loss of {metric} if the column is shuffled"

    def shuffled(place):
        Z = X.copy()
        Z[:, place] = X[rng.permutation(len(X)), place]
        return Z

    counted = [
        {
            "column": column.name,
            "importance": float(np.mean([change(shuffled(place)) for _ in range(REPEATS)])),
        }
        for column, place in places(model)
    ]
    counted.sort(key=lambda item: -abs(item["importance"]))
    return {"rows": len(X), "importance_is": what, "columns": counted, **inside(model)}


def one_row(model, X, row):
    """What counts for one row: contributions that add up to the output."""
    rest, x, rng = model[1:], X[[row]], np.random.default_rng(0)
    values, of = output(rest, x)
    prediction = rest.predict(x)[0]
    classes = getattr(rest, "classes_", None)
    k = 0 if classes is None else int(np.flatnonzero(classes == prediction)[0])
    columns = places(model)
    groups = np.repeat(np.arange(len(columns)), [len(c.features) for c, _ in columns])
    others = X[np.sort(rng.permutation(len(X))[:BACKGROUND])]
    ask = lambda rows: output(rest, rows)[0][:, k]
    if len(columns) <= FEW:
        effects, base = exact(ask, x[0], others, groups)
    else:
        effects, base = by_permutations(ask, x[0], others, ORDERS, rng, groups)
    counted = [
        {"column": c.name, "value": written(c, x[0, place]), "effect": float(effect)}
        for (c, place), effect in zip(columns, effects[:, 0], strict=True)
    ]
    counted.sort(key=lambda item: -abs(item["effect"]))
    return {
        "row": row,
        "prediction": prediction.item() if isinstance(prediction, np.generic) else prediction,
        "output": float(values[0, k]),
        "base": float(base[0]),
        "effect_is": f"contribution to the {of}: {base[0]:.4g} over rows of this table, plus all "
        f"contributions, is {values[0, k]:.4g}",
        "columns": counted,
        **path(model, x),
        **pulls(model, x),
    }


def written(column, part):
    """A value as its owner wrote it; None if it is missing; of a text the words that count."""
    if column.kind == "words":
        return " ".join(column.levels[k] for k in np.flatnonzero(part))
    if np.isnan(part[0]):
        return None
    if column.kind == "category":
        return column.levels[int(part[0])]
    if column.kind == "date":
        return str(np.datetime64("1970-01-01") + int(part[0]))
    if column.kind == "time":
        return "{:02d}:{:02d}".format(*divmod(round(60 * part[0]), 60))
    return float(part[0])


def prepared(model, x):
    """Rows as the last step sees them."""
    for _, step in model.steps[1:-1]:
        x = step.transform(x)
    return x


def names_inside(model):
    """Names of what the last step sees: columns, levels of a category, marks of missing values."""
    names = model.steps[0][1].get_feature_names_out()
    for _, step in model.steps[1:-1]:
        names = step.get_feature_names_out(names)
    known = {}
    for column, _ in places(model):
        known |= {
            f"{column.name}_{float(k)}": f"{column.name} = {v}" for k, v in enumerate(column.levels)
        }
        known |= {f"{column.name}_{code}": f"{column.name} = {said}" for code, said in ODD.items()}
        known |= {f"missingindicator_{f}": f"{f} is missing" for f in column.features}
    plain = [str(n).removeprefix("numbers__").removeprefix("categories__") for n in names]
    return [known.get(name, name) for name in plain]


def inside(model):
    """What a fitted model says of itself: its coefficients, how many support vectors it has."""
    (last, unit), found = core(model.steps[-1][1]), {}
    coef = getattr(last, "coef_", None)
    if isinstance(coef, np.ndarray):
        coef = unit * np.atleast_2d(coef)
        of = getattr(last, "classes_", ["coefficient"])[-len(coef) :]
        rows = [
            {"feature": name} | {str(o): float(c) for o, c in zip(of, values, strict=True)}
            for name, values in zip(names_inside(model), coef.T, strict=True)
        ]
        order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
        found["coefficients"] = [rows[j] for j in order]
    if hasattr(last, "support_"):
        found["support_vectors"] = len(last.support_)
    return found


def path(model, x):
    """The questions that a tree asks of a row, with the row's answers."""
    tree = getattr(model.steps[-1][1], "tree_", None)
    if tree is None:
        return {}
    z, names, asked, node = prepared(model, x)[0], names_inside(model), [], 0
    levels = {column.name: column.levels for column, _ in places(model)}
    while tree.children_left[node] != -1:
        j = tree.feature[node]
        left, name = bool(tree.goes_left(node, z[[j]])[0]), names[j]
        if np.isnan(z[j]):
            answer = f"{name} is missing"
        elif np.isnan(tree.threshold[node]):
            group = [levels[name][c] for c in tree.categories_left(node) if c < len(levels[name])]
            answer = f"{name} {'is one of' if left else 'is none of'} {', '.join(group)}"
        else:
            answer = f"{name} {'≤' if left else '>'} {tree.threshold[node]:.4g}"
        asked.append(f"{answer}  ({int(tree.n_node_samples[node])} rows)")
        node = (tree.children_left if left else tree.children_right)[node]
    return {"path": [*asked, f"leaf of {int(tree.n_node_samples[node])} rows"]}


def pulls(model, x, most=8):
    """The training rows that pull a row most: support vectors by |coefficient × kernel|."""
    last, unit = core(model.steps[-1][1])
    coefficients = getattr(last, "dual_coef_", None)
    if not hasattr(last, "support_vectors_") or not isinstance(coefficients, np.ndarray):
        return {}
    weights = unit * coefficients * last._kernel(prepared(model, x), last.support_vectors_)
    size = np.abs(weights)
    return {
        "support_vectors": [
            {"training_row": int(last.support_[k]), "pull": float(weights[size[:, k].argmax(), k])}
            for k in np.argsort(-size.max(axis=0))[:most]
        ]
    }
