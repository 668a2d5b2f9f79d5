"""The figures of a report: matplotlib's SVG in colours that the page chooses, light or dark"""

import io
import re
from contextlib import contextmanager

import numpy as np

from mlreplica.plotting import PALETTE as COLOURS
from mlreplica.plotting import style

LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))]  # to be told apart without colour


def look(name):
    """matplotlib's settings; `name` makes the ids within one page differ."""
    from cycler import cycler

    usual = style()
    return usual | {
        "axes.facecolor": "none",
        "axes.prop_cycle": usual["axes.prop_cycle"] + cycler(linestyle=LINES),
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "svg.fonttype": "none",
        "svg.hashsalt": name,
    }


class Drawing:
    """The SVG of a figure, once it is drawn, and what it shows in words."""

    def __init__(self, name, title, text):
        self.name, self.title, self.text, self.svg = name, title, text, ""


@contextmanager
def drawing(drawings, name, title, text, width=5.2, height=3.6):
    """Axes to draw on; the Drawing is added to the list at the end."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    made = Drawing(name, title, text)
    with mpl.rc_context(look(name)):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure.add_subplot()
        out = io.StringIO()
        FigureCanvasSVG(figure).print_svg(out, metadata=dict.fromkeys(("Date", "Creator")))
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace("\n", " ")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # names of parts, the same in every figure
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    for colour, value in COLOURS.items():
        svg = svg.replace(value, f"var(--{colour})")
    made.svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    drawings.append(made)


def classification(drawings, y, classes, proba, score):
    """ROC, precision against recall, and calibration of predictions out of fold."""
    from mlreplica import metrics

    shown = [1] if len(classes) == 2 else range(min(len(classes), 6))
    if score is not None:
        with drawing(
            drawings,
            "roc",
            "ROC curve",
            "Share of a class that is found against the share of the other rows wrongly taken for "
            "it; a good curve stays close to the upper left corner.",
        ) as ax:
            for k in shown:
                fpr, tpr, _ = metrics.roc_curve(y == classes[k], score[:, k])
                area = metrics.roc_auc_score(y == classes[k], score[:, k])
                ax.plot(*thin(fpr, tpr), label=f"{classes[k]} ({area:.3f})")
            ax.plot([0, 1], [0, 1], color=COLOURS["muted"], lw=0.8, ls=":")
            ax.set(xlabel="false positive rate", ylabel="true positive rate")
            ax.legend(loc="lower right", title="class (area)")
        with drawing(
            drawings,
            "pr",
            "Precision and recall",
            "Share of the predictions of a class that are correct against the share of the class "
            "that is found; a good curve stays close to the upper right corner.",
        ) as ax:
            for k in shown:
                precision, recall, _ = metrics.precision_recall_curve(y == classes[k], score[:, k])
                ax.plot(*thin(recall, precision), label=str(classes[k]))
            ax.set(xlabel="recall", ylabel="precision", ylim=(-0.02, 1.05))
            ax.legend(loc="lower left", title="class")
    if proba is not None:
        with drawing(
            drawings,
            "calibration",
            "Calibration",
            "How often a class occurs against its predicted probability; a good curve stays near "
            "the diagonal.",
        ) as ax:
            for k in shown:
                said, seen = calibration(y == classes[k], proba[:, k])
                ax.plot(said, seen, marker="o", ms=4, label=str(classes[k]))
            ax.plot([0, 1], [0, 1], color=COLOURS["muted"], lw=0.8, ls=":")
            ax.set(xlabel="predicted probability", ylabel="share of rows")
            ax.legend(loc="upper left", title="class")


def calibration(hit, probability, bins=10):
    """Mean prediction and share of hits in bins with equally many rows."""
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return [probability[part].mean() for part in parts], [hit[part].mean() for part in parts]


def regression(drawings, y, predicted, target):
    """Predictions against the truth, and residuals, out of fold."""
    few = np.random.default_rng(0).permutation(len(y))[:1500]
    dots = {"s": 9, "alpha": 0.45, "color": COLOURS["blue"], "linewidths": 0}
    with drawing(
        drawings, "truth", "Predicted and true", "Each dot is a row; correct ones lie on the line."
    ) as ax:
        ax.scatter(predicted[few], y[few], **dots)
        ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
        ax.plot(ends, ends, color=COLOURS["orange"], lw=1.2)
        ax.set(xlabel="predicted", ylabel=target)
    with drawing(
        drawings,
        "residuals",
        "Residuals",
        "Error of each row by its prediction; a pattern is something the model has not learned.",
    ) as ax:
        ax.scatter(predicted[few], (y - predicted)[few], **dots)
        ax.axhline(0.0, color=COLOURS["orange"], lw=1.2, ls="-")
        ax.set(xlabel="predicted", ylabel="true − predicted")
    with drawing(
        drawings,
        "spread",
        "Size of the errors",
        "Number of rows by the size of their error; a narrow peak at 0 is good.",
    ) as ax:
        ax.hist(y - predicted, bins=40, color=COLOURS["blue"])
        ax.set(xlabel="true − predicted", ylabel="rows")


def importance(drawings, names, means, sds, metric):
    """What the score loses if a column is shuffled: the largest ones."""
    top = np.argsort(means)[::-1][:15][::-1]
    with drawing(
        drawings,
        "importance",
        "Which columns count",
        f"How much {metric} worsens when the values of a column are shuffled.",
        height=max(2.2, 0.28 * len(top) + 0.9),
    ) as ax:
        labels = [short(names[j]) for j in top]
        ax.barh(range(len(top)), means[top], xerr=sds[top], color=COLOURS["blue"],
                ecolor=COLOURS["ink"], error_kw={"lw": 1})  # fmt: skip
        ax.set_yticks(range(len(top)), labels)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(f"loss of {metric}")


def learning(drawings, sizes, train, test, metric):
    """Scores against the number of rows learned from."""
    with drawing(
        drawings,
        "learning",
        "Would more rows help?",
        "Score by the number of training rows; more rows help if the score on other rows still "
        "improves at the right end.",
    ) as ax:
        for label, values in (("training rows", train), ("other rows", test)):
            ax.plot(sizes, values.mean(axis=1), marker="o", ms=4, label=label)
        ax.set(xlabel="rows", ylabel=metric)
        ax.legend()


def thin(x, y, most=400):
    """At most so many points of a curve."""
    keep = np.unique(np.linspace(0, len(x) - 1, most).astype(int))
    return x[keep], y[keep]


def short(text, most=28):
    """Text that fits a label."""
    return text if len(text) <= most else text[: most - 1] + "…"
