"""What makes a score look better than it is"""

import numpy as np
from scipy.stats import rankdata

from .console import listed
from .metrics import DEFAULT, METRICS

SAMPLE = 2000
ALONE = 0.98  # of what the mean or majority leaves open, explained by one column


def warnings_of(table, parts, metric, seed=0):
    """Sentences, each with what to do."""
    return [
        *apart(table),
        *leaks(table, seed),
        *copies(table, parts),
        *imbalance(table, metric),
    ]


def apart(table):
    """A number that may stand for "missing": frequent, whole, at an end, far from all others."""
    columns = dict(zip(table.features, table.X.T, strict=True))
    if table.task == "regression":
        columns[table.target] = table.y
    found = {}
    for name, x in columns.items():
        for end in (np.nanmin(x), np.nanmax(x)):
            if end % 1 or np.sum(x == end) < max(5, 0.01 * len(x)):
                continue
            rest = x[np.isfinite(x) & (x != end)]
            if len(np.unique(rest[:1000])) < 10:
                continue
            if np.abs(rest - end).min() > max(np.ptp(rest), 50.0):
                found.setdefault(f"{end:.0f}", []).append(name)
    for mark, names in found.items():
        yield (
            f"{mark} stands far apart from the other values of {listed(names, 3)}: if it means "
            f"missing, --missing {mark}"
        )


def leaks(table, seed):
    """Columns that predict the target alone, by a small tree of half a sample or by their ranks."""
    from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor

    n = len(table.y)
    rows = np.random.default_rng(seed).permutation(n)[:SAMPLE]
    learn, judge = np.array_split(rows, 2)
    y_learn, y_judge = table.y[learn], table.y[judge]
    if len(judge) < 20 or len(np.unique(y_learn)) < 2 or len(np.unique(y_judge)) < 2:
        return
    classes = table.task == "classification"
    cls = DecisionTreeClassifier if classes else DecisionTreeRegressor
    score = METRICS[DEFAULT[table.task]].score
    chance = np.mean(y_judge == mode(y_learn)) if classes else 0.0
    found = []
    for j, name in enumerate(table.features):
        x = table.X[:, [j]]
        if np.isnan(x[learn]).all() or np.isnan(x[judge]).all():
            continue
        where = [0] if table.categorical[j] else None
        tree = cls(max_depth=6, random_state=0, categorical_features=where)
        value = score(tree.fit(x[learn], y_learn), x[judge], y_judge)
        if not classes and not table.categorical[j]:
            value = max(value, rank_agreement(x[rows, 0], table.y[rows]))
        if value - chance > ALONE * (1.0 - chance):
            found.append(name)
    for name in found[:5]:
        yield (
            f"{name!r} alone predicts {table.target!r}: is it known before {table.target!r} is? "
            f"If not, --drop {name!r}"
        )


def rank_agreement(x, y):
    """Squared correlation of ranks: 1 if y only rises, or only falls, with x."""
    known = np.isfinite(x)
    if known.sum() < 20 or np.ptp(x[known]) == 0:
        return 0.0
    return float(np.corrcoef(rankdata(x[known]), rankdata(y[known]))[0, 1] ** 2)


def mode(y):
    """The most frequent value."""
    values, counts = np.unique(y, return_counts=True)
    return values[counts.argmax()]


def copies(table, parts):
    """Rows to judge by that are also among the rows to learn from."""
    _, y = np.unique(table.y, return_inverse=True)
    _, which = np.unique(hashes(np.nan_to_num(table.X, nan=np.inf), y), return_inverse=True)
    if which.max() + 1 == len(which):
        return
    seen = sum(int(np.isin(which[test], which[train]).sum()) for train, test in parts)
    judged = sum(len(test) for _, test in parts)
    if seen > 0.01 * judged:
        yield (
            f"{seen} of {judged} rows to judge by are copies of rows learned from, which flatters "
            "models that remember; --distinct leaves copies out"
        )


def hashes(X, y):
    """A number for each row, the same for copies; others share one by a chance of n² in 2⁶⁵."""
    key = y.astype(np.uint64)
    for x in (X + 0.0).T:  # + 0.0: -0.0 is 0.0
        key = (key ^ x.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    return key


def imbalance(table, metric):
    """A class so frequent that accuracy is high whatever is predicted."""
    if table.task != "classification":
        return
    largest = float(np.mean(table.y == mode(table.y)))
    if largest > 0.8 and metric == "accuracy":
        yield (
            f"{largest:.0%} of the rows are {str(mode(table.y))!r}, so accuracy says little; "
            "--metric balanced_accuracy or roc_auc says more"
        )
