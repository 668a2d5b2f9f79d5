"""Real tables: is the winner of `mlreplica compare` as good as the best peer?

    python -m benchmarks.tables FOLDER [NAME ...] [--seconds 60]    # benchmarks/tables.json

`compare` runs as a user would call it, with a budget. The peers are scikit-learn's forest,
histogram boosting and (logistic) ridge regression, LightGBM, and scikit-learn's class of the same
name as our winner. All have their defaults, as ours have; they get the same folds, columns,
categories, marks of missing values, scaling and (support vector machines …) standardised targets,
and all rows, also where the budget left our winner fewer. The file holds the mean and the standard
deviation of the scores over the folds, their mean difference, and its standard error (Nadeau and
Bengio's, since folds share the rows learned from): a winner is as good if the difference is within
two of these.

The tables are public and not shipped:

    titanic-raw.csv   the Titanic's 891 passengers of Kaggle: names, tickets, missing ages
    taxis.csv         New York's yellow and green cabs, of seaborn-data: moments, zones, missing
    diamonds.csv      of ggplot2: 53,940 rows, ordered categories
    bank-full.csv     Bank Marketing, UCI 222: 45,211 rows, one in nine says yes
    seoul-bike.csv    Seoul Bike Sharing Demand, UCI 560: Latin-1, dates as dd/mm/yyyy
    air-quality.csv   Air Quality, UCI 360: semicolons, decimal commas, times, -200 for missing
    wide.csv          CNAE-9, UCI 233: 856 counts of words in 1,080 texts, with a header
"""

import argparse
import json
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mlreplica.cli.fits import listening
from mlreplica.cli.metrics import metric_for
from mlreplica.cli.models import model_for, needs, preparation
from mlreplica.cli.table import Choices, read_file, splits
from mlreplica.core.compile.threads import n_threads

RESULTS = Path(__file__).with_name("tables.json")
TABLES = {  # what a user would say of each
    "titanic-raw": {"target": "survived"},
    "taxis": {"target": "tip", "drop": "total"},  # which holds the tip
    "diamonds": {"target": "price"},
    "bank-full": {"target": "y", "metric": "roc_auc"},
    "seoul-bike": {"target": "Rented Bike Count"},
    "air-quality": {"target": "CO(GT)", "missing": "-200"},
    "wide": {"target": "range"},
}
PEERS = {
    "classification": ["LogisticRegression", "RandomForestClassifier"],
    "regression": ["Ridge", "RandomForestRegressor"],
}
BOOSTING = {"classification": "Classifier", "regression": "Regressor"}


def ours(path, options, budget):
    """The result of the command, and the seconds it took."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    command = [sys.executable, "-m", "mlreplica", "compare", path, *words, "--json"]
    start = time.perf_counter()
    done = subprocess.run(
        [*map(str, command), "--seconds", str(budget)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout), time.perf_counter() - start


def scikit_learn(name):
    """scikit-learn's class of a name; None if it has none."""
    chapters = ("linear_model", "ensemble", "svm", "tree", "kernel_ridge")
    modules = (import_module(f"sklearn.{chapter}") for chapter in chapters)
    return next((getattr(m, name) for m in modules if hasattr(m, name)), None)


def peers(table, winner):
    """{name: pipeline on the matrix}; boosting takes categories and missing values as they are."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind, where = BOOSTING[table.task], np.flatnonzero(table.categorical).tolist()
    names = dict.fromkeys([*PEERS[table.task], f"HistGradientBoosting{kind}", winner])
    found = {}
    for cls in filter(None, map(scikit_learn, names)):
        steps = preparation(needs(cls), table), model_for(cls, table, seed=0)
        found[f"scikit-learn {cls.__name__}"] = make_pipeline(*(s for s in steps if s is not None))
    LGBM = {"Classifier": LGBMClassifier, "Regressor": LGBMRegressor}[kind]
    told = {"categorical_feature": where} if where else {}
    found[f"lightgbm {LGBM.__name__}"] = LGBM(random_state=0, n_jobs=1, verbose=-1, **told)
    return found


def cross_validated(model, table, parts, score):
    """Scores of a model on the folds."""

    def one(train, test):
        with listening():
            fitted = clone(model).fit(table.X[train], table.y[train])
            return float(score(fitted, table.X[test], table.y[test]))

    return Parallel(n_threads())(delayed(one)(*part) for part in parts)


def race(path, options, budget):
    """One table: our winner and the best peer."""
    result, seconds = ours(path, options, budget)
    given = {name: options[name] for name in ("target", "metric") if name in options}
    lists = {name: (options[name],) for name in ("drop", "missing") if name in options}
    table = read_file(path, Choices(target=given["target"], **lists))
    metric, judge = metric_for(table.task, given.get("metric"))
    parts = splits(table, result["folds"], result["seed"])
    winner = next(r for r in result["leaderboard"] if r["model"] == result["winner"])
    start = time.perf_counter()
    judged = partial(cross_validated, table=table, parts=parts, score=judge.score)
    scores = {name: judged(model) for name, model in peers(table, winner["model"]).items()}
    best = max(scores, key=lambda name: np.mean(scores[name]))
    mine = np.array(winner["scores"])
    difference = mine - scores[best][: len(mine)]
    error = summary(difference)[1] * np.sqrt(1 / len(mine) + 1 / (len(parts) - 1))
    return {
        "rows": len(table.y), "features": table.X.shape[1], "metric": metric,
        "ours": [winner["model"], *summary(mine)], "peer": [best, *summary(scores[best])],
        "peers": {name: summary(values) for name, values in scores.items()},
        "difference": [summary(difference)[0], round(float(error), 5)],
        "note": winner["note"], "cut": sum(row["cut"] for row in result["leaderboard"]),
        "models": len(result["leaderboard"]), "failed": [
            row["model"] for row in result["leaderboard"] if row["error"]
        ],
        "budget": budget,
        "seconds": [round(seconds, 1), round(time.perf_counter() - start, 1)],  # ours, the peers'
    }  # fmt: skip


def summary(scores):
    """Mean and standard deviation, which one fold alone has not (0)."""
    spread = np.std(scores, ddof=1) if len(scores) > 1 else 0.0
    return [round(float(np.mean(scores)), 5), round(float(spread), 5)]


def main():
    """Run the tables named, or all; keep what was found before of the others."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of a comparison")
    given = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in given.names or TABLES:
        found[name] = race(given.folder / f"{name}.csv", TABLES[name], given.seconds)
        (winner, *our), (best, *their) = found[name]["ours"], found[name]["peer"]
        sys.stdout.write(
            f"{name}: {winner} {our[0]} ± {our[1]}, {best} {their[0]} ± {their[1]}, "
            f"difference {found[name]['difference']}, {found[name]['seconds']} s\n"
        )
        RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
