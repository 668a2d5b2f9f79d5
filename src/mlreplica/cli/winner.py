"""Which model to take: of those that chance cannot tell from the best, the simplest

The difference of two models on the same rows has the standard error

    s √(1/k + 1/(k − 1))                                       over k folds (Nadeau and Bengio)
    s √(1/B)                                                   over B blocks of one fold

with the standard deviation s of the differences; folds share the rows they learn from, blocks of
one fold do not. A model ties with the best if it is worse by at most one standard error.
"""

import numpy as np

from mlreplica.core.card import card_of

SIMPLE = [  # chapters by how much there is to understand in a fitted model, the least first
    "naive_bayes",
    "linear_model",
    "discriminant_analysis",
    "tree",
    "neighbors",
    "kernel_ridge",
    "svm",
    "ensemble",
]


def choose(rows, models, sign):
    """{winner, tied, verdict}: its name, those no worse, and a sentence on them."""
    judged = [row for row in rows if not row["baseline"] and row["score"] is not None]
    if not judged:
        return {"winner": None, "tied": [], "verdict": "no model could be fitted"}
    best = judged[0]
    tied = [row for row in judged if row is best or ties(best, row, sign)]
    simple = min(tied, key=lambda row: (complexity(models[row["model"]]), seconds_of(row)))
    fast = min(tied, key=seconds_of)
    names = [row["model"] for row in tied]
    verdict = f"{best['model']} is the best by more than one standard error"
    if len(tied) > 1:
        verdict = (
            f"{len(tied)} models are within one standard error of the best: "
            f"{simple['model']} is the simplest of them"
        ) + ("" if fast is simple else f", {fast['model']} the fastest")
        if fast is simple:
            verdict += " and the fastest"
    if best["cut"]:
        verdict += (
            f" (on {best['training_rows']:,} training rows, {len(best['scores'])} of the folds)"
        )
    return {"winner": simple["model"], "tied": names, "verdict": verdict}


def winner_of(result):
    """The row of the winner; None if there is none."""
    rows = result["leaderboard"]
    return next((row for row in rows if row["model"] == result["winner"]), None)


def ties(best, row, sign):
    """Whether a model is worse than the best by at most one standard error."""
    if row["training_rows"] != best["training_rows"]:
        return False
    k = min(len(best["scores"]), len(row["scores"]))
    if k > 1:
        worse = sign * np.subtract(best["scores"][:k], row["scores"][:k])
        error = np.std(worse, ddof=1) * np.sqrt(1 / k + 1 / (k - 1))
    elif len(best["blocks"]) == len(row["blocks"]) > 1:
        worse = sign * np.subtract(best["blocks"], row["blocks"])
        error = np.std(worse, ddof=1) / np.sqrt(len(worse))
    else:
        return False
    return bool(np.mean(worse) <= error)


def complexity(cls):
    """The place of a model among the simple ones; what is not ours comes last."""
    card = card_of(cls)
    chapter = card.chapter.rpartition(".")[2] if card else ""
    return SIMPLE.index(chapter) if chapter in SIMPLE else len(SIMPLE)


def seconds_of(row):
    """What a fold takes, fitted and judged."""
    return (row["fit_seconds"] or 0.0) + (row["predict_seconds"] or 0.0)
