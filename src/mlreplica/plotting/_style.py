"""Style: one palette for the library, the reports and the book"""

# Six colours that the colour-blind tell apart, and four for text and lines.
PALETTE = {
    "blue": "#0b6cb8",
    "orange": "#c6521a",
    "green": "#0f8464",
    "purple": "#9a4f96",
    "gold": "#a87400",
    "sky": "#3d93c9",
    "ink": "#26292f",
    "muted": "#6b7079",
    "grid": "#d9dce1",
    "paper": "#fdfdfb",
}
SERIES = ["blue", "orange", "green", "purple", "gold", "sky"]
DASHES = [
    "-",
    (0, (5, 2)),
    (0, (1, 1.3)),
    (0, (7, 2, 1.5, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (9, 4)),
]
MARKERS = ["o", "s", "^", "D", "v", "P"]
HATCHES = [None, "///", "...", "\\\\\\", "++", "xx"]


def style():
    """matplotlib's settings for every figure: `with plt.rc_context(style()): …`

    Returns
    -------
    dict
        Settings by name.

    Examples
    --------
    >>> from mlreplica.plotting import style
    >>> style()["axes.grid"]
    True
    """
    from cycler import cycler

    return {
        "axes.axisbelow": True,
        "axes.edgecolor": PALETTE["muted"],
        "axes.grid": True,
        "axes.labelcolor": PALETTE["ink"],
        "axes.prop_cycle": cycler(color=[PALETTE[name] for name in SERIES]),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "font.size": 10.5,
        "grid.color": PALETTE["grid"],
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "mathtext.fontset": "stix",
        "patch.edgecolor": PALETTE["paper"],
        "text.color": PALETTE["ink"],
        "xtick.color": PALETTE["muted"],
        "xtick.labelcolor": PALETTE["ink"],
        "ytick.color": PALETTE["muted"],
        "ytick.labelcolor": PALETTE["ink"],
    }


def pyplot():
    """matplotlib.pyplot, or how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install 'mlreplica[plot]'.") from error
    return plt


def axes(ax=None, **size):
    """The axes given, or new ones in the house style."""
    plt = pyplot()
    if ax is not None:
        return ax
    with plt.rc_context(style()):
        return plt.subplots(layout="constrained", **size)[1]


class Display:
    """What displays share: `plot` finds the axes, `_draw` of each fills them."""

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; new ones by default.

        Returns
        -------
        Display
            Itself.
        """
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self


def line(k):
    """How the k-th curve looks: colour and dash."""
    turn = k // len(SERIES)  # the seventh curve has the first colour, but another dash
    dash = DASHES[(k + turn) % len(DASHES)]
    return {"color": PALETTE[SERIES[k % len(SERIES)]], "linestyle": dash}


def dots(k):
    """How the k-th set of points looks: colour and marker, with a light edge."""
    look = {"color": PALETTE[SERIES[k % len(SERIES)]], "marker": MARKERS[k % len(MARKERS)]}
    return {**look, "edgecolors": PALETTE["paper"], "linewidths": 0.6, "s": 32}


def band(k):
    """How an area round the k-th curve looks."""
    return {"color": PALETTE[SERIES[k % len(SERIES)]], "alpha": 0.16, "linewidth": 0}
