"""Contributions: what adds up to one answer, and how columns contribute over many rows"""

import numpy as np

from ._style import PALETTE, Display


def chosen(explanation, output):
    """Contributions (rows, columns) and base values (rows,) of one output."""
    values, base = np.asarray(explanation.values), np.asarray(explanation.base_values)
    if values.ndim - base.ndim != 1:
        raise ValueError("explanation must hold contributions of columns, not interactions.")
    if base.ndim == 1:
        return values, base
    if output is None:
        raise ValueError(f"output must be one of 0 to {base.shape[1] - 1}: there are several.")
    return values[..., output], base[:, output]


class WaterfallDisplay(Display):
    """How contributions lead from the base to the answer for one row.

    Parameters
    ----------
    contributions : ndarray of shape (n_features,)
        Contributions of the columns.
    base : float
        The answer when no column is known.
    labels : list of str
        A text for every column.
    most : int, default=9
        Columns that are drawn; the rest are joined to one.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import RandomForestRegressor
    >>> from mlreplica.inspection import explain
    >>> from mlreplica.plotting import WaterfallDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RandomForestRegressor(10, random_state=0).fit(X, y)
    >>> display = WaterfallDisplay.from_explanation(explain(model, X[:5]), row=2)
    >>> bool(abs(display.base + sum(display.contributions) - model.predict(X)[2]) < 1e-9)
    True
    """

    def __init__(self, contributions, base, labels, most=9):
        self.contributions, self.base = np.asarray(contributions, dtype=float), float(base)
        self.labels, self.most = list(labels), most

    @classmethod
    def from_explanation(cls, explanation, row=0, *, output=None, most=9, ax=None):
        """Draw one row of what `inspection.explain` returned.

        Parameters
        ----------
        explanation : Explanation
            Contributions.
        row : int, default=0
            Which row.
        output : int, default=None
            Which output, if there are several.
        most : int, default=9
            Columns that are drawn; the rest are joined to one.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        WaterfallDisplay
        """
        values, base = chosen(explanation, output)
        data = explanation.data[row]
        labels = [f"{n} = {x:.4g}" for n, x in zip(explanation.feature_names, data, strict=True)]
        return cls(values[row], base[row], labels, most).plot(ax=ax)

    def _draw(self, ax):
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        most = self.most if len(order) > self.most + 1 else len(order)
        shown, rest = order[:most], order[most:]
        steps = list(self.contributions[shown])
        labels = [self.labels[j] for j in shown]
        if len(rest):
            steps.append(self.contributions[rest].sum())
            labels.append(f"{len(rest)} other columns")
        steps, labels = steps[::-1], labels[::-1]  # the base below, the answer above
        ends = self.base + np.cumsum(steps)
        starts = ends - steps
        for k, (start, step) in enumerate(zip(starts, steps, strict=True)):
            up = step >= 0
            ax.barh(
                k,
                step,
                left=start,
                height=0.62,
                color=PALETTE["orange" if up else "blue"],
                hatch=None if up else "///",
                edgecolor=PALETTE["paper"],
                linewidth=0,
            )
            away, side = (4, "left") if up else (-4, "right")
            ax.annotate(
                f"{step:+.3g}",
                (start + step, k),
                (away, 0),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=9,
            )
        ax.axvline(self.base, color=PALETTE["muted"], lw=1, ls=(0, (2, 2)))
        ax.set_yticks(range(len(labels)), labels)
        low, high = min(*starts, *ends), max(*starts, *ends)
        room = 0.18 * (high - low) or 1.0
        ax.set_xlim(low - room, high + room)
        ax.set(xlabel=f"from {self.base:.4g} (no column known) to {ends[-1]:.4g}")


class BeeswarmDisplay(Display):
    """Contributions of the most important columns over many rows, a dot per row.

    Parameters
    ----------
    contributions : ndarray of shape (n_samples, n_features)
        Contributions.
    data : ndarray of shape (n_samples, n_features)
        The values of the columns: high ones are drawn dark.
    feature_names : list of str
        Names of the columns.
    most : int, default=10
        Columns that are drawn, those of the largest mean absolute contribution.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.linear_model import Ridge
    >>> from mlreplica.inspection import explain
    >>> from mlreplica.plotting import BeeswarmDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = BeeswarmDisplay.from_explanation(explain(Ridge().fit(X, y), X), most=3)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['bp', 's5', 'bmi']
    """

    def __init__(self, contributions, data, feature_names, most=10):
        self.contributions, self.data = np.asarray(contributions), np.asarray(data, dtype=float)
        self.feature_names, self.most = list(feature_names), most

    @classmethod
    def from_explanation(cls, explanation, *, output=None, most=10, ax=None):
        """Draw what `inspection.explain` returned.

        Parameters
        ----------
        explanation : Explanation
            Contributions.
        output : int, default=None
            Which output, if there are several.
        most : int, default=10
            Columns that are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        BeeswarmDisplay
        """
        values, _ = chosen(explanation, output)
        return cls(values, explanation.data, explanation.feature_names, most).plot(ax=ax)

    def _draw(self, ax):
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("", [PALETTE["sky"], PALETTE["ink"]])
        order = np.argsort(-np.abs(self.contributions).mean(axis=0), kind="stable")[: self.most]
        for k, j in enumerate(order[::-1]):
            x, rank = self.contributions[:, j], np.argsort(np.argsort(self.data[:, j]))
            ax.scatter(x, k + 0.7 * spread(x), c=rank / max(1, len(x) - 1), cmap=shades, s=9,
                       linewidths=0, alpha=0.85)  # fmt: skip
        ax.axvline(0, color=PALETTE["muted"], lw=1)
        ax.set_yticks(range(len(order)), [self.feature_names[j] for j in order[::-1]])
        ax.set(xlabel="contribution (dark: a high value of the column)")


def spread(x, bins=60):
    """Offsets in [−½, ½] that keep dots of about the same x apart."""
    x = np.asarray(x, dtype=float)
    width = np.ptp(x) or 1.0
    cell = np.minimum((x - x.min()) / width * bins, bins - 1).astype(int)
    order = np.argsort(cell, kind="stable")
    counts = np.bincount(cell, minlength=bins)
    place = np.empty(len(x))
    place[order] = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
    side = np.where(place % 2 == 0, 1.0, -1.0) * np.ceil(place / 2)
    return side / max(2.0, counts.max())


class ContributionDependenceDisplay(Display):
    """The contribution of one column against its value, a dot per row.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column.
    contributions : ndarray of shape (n_samples,)
        Its contributions.
    name : str
        Its name.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.linear_model import Ridge
    >>> from mlreplica.inspection import explain
    >>> from mlreplica.plotting import ContributionDependenceDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = explain(Ridge().fit(X, y), X)
    >>> ContributionDependenceDisplay.from_explanation(found, "bmi").name
    'bmi'
    """

    def __init__(self, values, contributions, name):
        self.values, self.contributions, self.name = values, contributions, name

    @classmethod
    def from_explanation(cls, explanation, feature, *, output=None, ax=None):
        """Draw one column of what `inspection.explain` returned.

        Parameters
        ----------
        explanation : Explanation
            Contributions.
        feature : str or int
            The column, by its name or number.
        output : int, default=None
            Which output, if there are several.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        ContributionDependenceDisplay
        """
        names = explanation.feature_names
        if isinstance(feature, str) and feature not in names:
            raise ValueError(f"feature must be one of {', '.join(names)}, got {feature!r}.")
        j = names.index(feature) if isinstance(feature, str) else feature
        values, _ = chosen(explanation, output)
        return cls(explanation.data[:, j], values[:, j], names[j]).plot(ax=ax)

    def _draw(self, ax):
        ax.scatter(self.values, self.contributions, s=12, color=PALETTE["blue"], alpha=0.7, lw=0)
        ax.axhline(0, color=PALETTE["muted"], lw=1)
        ax.set(xlabel=self.name, ylabel="contribution")
