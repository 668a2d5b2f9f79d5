"""Draws: what a sampler returns, with its diagnostics, tables and pictures"""

import warnings
from dataclasses import dataclass, field

import numpy as np

from . import diagnostics
from .parameters import Layout

COLUMNS = [
    "mean",
    "sd",
    "hdi_low",
    "hdi_high",
    "mcse_mean",
    "mcse_sd",
    "ess_bulk",
    "ess_tail",
    "rhat",
]
MOST_NUMBERS = 4_000_000  # that a check after sampling looks at


class MonteCarloWarning(UserWarning):
    """The draws may not represent the distribution; the message says what to do."""


@dataclass(frozen=True)
class DrawsSummary:
    """A row per number: mean, sd, shortest interval, errors, effective sizes and R̂.

    Attributes
    ----------
    names : list of str
    columns : list of str
    values : ndarray of shape (n_numbers, n_columns)
    probability : float
        Share of the draws inside (hdi_low, hdi_high).
    """

    names: list
    columns: list
    values: np.ndarray
    probability: float

    def __getitem__(self, column):
        return self.values[:, self.columns.index(column)]

    def to_frame(self):
        """The table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.values, index=self.names, columns=self.columns)

    def __str__(self):
        formats = [".3f"] * 6 + [".0f"] * 2 + [".3f"]
        rows = [["", *self.columns]] + [
            [name, *(format(v, f) for v, f in zip(row, formats, strict=True))]
            for name, row in zip(self.names, self.values, strict=True)
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        )

    __repr__ = __str__


@dataclass
class Draws:
    """Draws of several chains, and what is known about them.

    Attributes
    ----------
    array : ndarray of shape (n_chains, n_draws, n_numbers)
        On the natural scale of the parameters.
    layout : Layout
        The named blocks of the last axis.
    accept_rates : ndarray of shape (n_chains,)
        Share of accepted proposals after the warm-up.
    stats : dict of ndarrays of shape (n_chains, n_draws)
        What the sampler recorded with every draw: `lp`, the log-density of its own scale, and for
        HMC and NUTS `energy`, `divergent`, `steps`, `depth`, `step_size`.
    sampler : str
        Name of the class that made them.
    thin : int
        Steps between draws.
    """

    array: np.ndarray
    layout: Layout
    accept_rates: np.ndarray = None
    stats: dict = field(default_factory=dict)
    sampler: str = ""
    thin: int = 1
    chains: list = field(default_factory=list, repr=False)  # the states to continue from

    @property
    def names(self):
        """A name for every number: 'mu', 'theta[3]'."""
        return self.layout.labels

    @property
    def n_chains(self):
        """How many chains there are."""
        return self.array.shape[0]

    @property
    def n_draws(self):
        """How many draws each of them has."""
        return self.array.shape[1]

    @property
    def energies(self):
        """The energy of each draw, from HMC and NUTS; None from others."""
        return self.stats.get("energy")

    @property
    def divergences(self):
        """How many trajectories diverged, per chain."""
        found = self.stats.get("divergent")
        return np.zeros(self.n_chains, int) if found is None else found.sum(axis=1).astype(int)

    def __getitem__(self, name):
        """The draws of a named block, (n_chains, n_draws, *shape), or of one number."""
        if name in self.layout.places:
            shape = self.layout.supports[name].shape
            return self.array[:, :, self.layout.places[name]].reshape(*self.array.shape[:2], *shape)
        if name in self.names:
            return self.array[:, :, self.names.index(name)]
        raise KeyError(f"No parameter {name!r}; there are {list(self.layout.places)}.")

    def __repr__(self):
        n, m, d = self.array.shape
        return f"Draws({self.sampler}: {n} chains of {m} draws of {d} numbers)"

    def flat(self):
        """All chains one after the other, (n_chains · n_draws, n_numbers)."""
        return self.array.reshape(-1, self.array.shape[2])

    # ---------------------------------------------------------------------- diagnostics

    def over_numbers(self, function):
        """A function of (n_chains, n_draws) for every number."""
        return np.array([function(self.array[:, :, j]) for j in range(self.array.shape[2])])

    def rhat(self):
        """Split-R̂ of ranks, for every number."""
        return self.over_numbers(diagnostics.rhat)

    def ess(self, kind="bulk"):
        """Effective sample size, "bulk" or "tail", for every number."""
        return self.over_numbers({"bulk": diagnostics.ess_bulk, "tail": diagnostics.ess_tail}[kind])

    def summary(self, probability=0.94):
        """Mean, sd, shortest interval, Monte Carlo errors, effective sizes and R̂.

        Parameters
        ----------
        probability : float, default=0.94
            Share of the draws inside the interval.

        Returns
        -------
        summary : DrawsSummary
            Print it, or take a column: `draws.summary()["rhat"]`.
        """

        def row(x):
            return [
                x.mean(),
                x.std(ddof=1),
                *diagnostics.hdi(x, probability),
                diagnostics.mcse_mean(x),
                diagnostics.mcse_sd(x),
                diagnostics.ess_bulk(x),
                diagnostics.ess_tail(x),
                diagnostics.rhat(x),
            ]

        return DrawsSummary(self.names, COLUMNS, self.over_numbers(row), probability)

    def by_ensemble(self, j):
        """Number j as (n_ensembles, draws): walkers of an ensemble depend and form one chain."""
        n = len(self.chains) or self.n_chains
        return self.array[:, :, j].reshape(n, -1, self.n_draws).swapaxes(1, 2).reshape(n, -1)

    def warn(self, stacklevel=3):
        """Warn if chains disagree, draws are too few, or trajectories diverged."""
        d = self.array.shape[2]
        few = max(1, min(d, MOST_NUMBERS // max(1, self.array[:, :, 0].size)))
        some = np.unique(np.linspace(0, d - 1, few).astype(int))
        said = []
        undefined = self.stats.get("undefined", np.zeros(0))
        if n_undefined := int(undefined.sum()):
            start = self.array[tuple(np.argwhere(undefined)[0])]
            said.append(
                f"{n_undefined} of {self.n_chains * self.n_draws} trajectories were rejected where "
                "log_density or its gradient is not a number, one near "
                f"{self.layout.describe(start)}: return -np.inf where the density is zero"
            )
        if n := int(self.divergences.sum()) - n_undefined:
            said.append(
                f"{n} of {self.n_chains * self.n_draws} trajectories diverged: the sampler avoids "
                "a part of the space; raise target_accept (0.95, 0.99), or write the model without "
                "strong dependence (a non-centred parametrisation)"
            )
        if self.n_draws >= 4:
            rhat = np.array([diagnostics.rhat(self.by_ensemble(j)) for j in some])
            ess = np.array([diagnostics.ess_bulk(self.array[:, :, j]) for j in some])
            if len(rhat) and np.nanmax(rhat, initial=1.0) > 1.01:
                j = some[np.nanargmax(rhat)]
                said.append(
                    f"R̂ is {np.nanmax(rhat):.3f} for {self.names[j]} (above 1.01): the chains "
                    "have not mixed; draw more, warm up longer, give it a proper prior if it has "
                    "none, or look at plot_trace()"
                )
            if np.nanmin(ess, initial=np.inf) < 100 * (len(self.chains) or self.n_chains):
                j = some[np.nanargmin(ess)]
                said.append(
                    f"{self.names[j]} has {np.nanmin(ess):.0f} effective draws (below 100 per "
                    "chain): draw more, or use NUTS if there is a gradient"
                )
        if said:
            warnings.warn("; ".join(said) + ".", MonteCarloWarning, stacklevel=stacklevel)

    # --------------------------------------------------------------- tables and pictures

    def to_frame(self):
        """All draws as a pandas DataFrame: a column per number, indexed by chain and draw."""
        import pandas as pd

        index = pd.MultiIndex.from_product(
            [range(self.n_chains), range(self.n_draws)], names=["chain", "draw"]
        )
        return pd.DataFrame(self.flat(), index=index, columns=self.names)

    def to_arviz(self):
        """The draws for ArviZ: InferenceData before version 1, an xarray DataTree from then on."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz as az

        posterior = {name: self[name] for name in self.layout.places}
        renamed = {"divergent": "diverging", "steps": "n_steps", "depth": "tree_depth"}
        stats = {renamed.get(k, k): v for k, v in self.stats.items()}
        if "diverging" in stats:
            stats["diverging"] = stats["diverging"].astype(bool)
        if hasattr(az, "from_dict") and int(az.__version__.partition(".")[0]) < 1:
            return az.from_dict(posterior=posterior, sample_stats=stats or None)
        return az.from_dict({"posterior": posterior, "sample_stats": stats})

    def plot_trace(self, names=None, axes=None):
        """Each chain over its draws, and its histogram beside it.

        Parameters
        ----------
        names : list of str, optional
            Which numbers; the first eight by default.
        axes : ndarray of matplotlib axes of shape (n_names, 2), optional
        """
        from ._pictures import trace

        return trace(self, names, axes)

    def plot_pair(self, names=None, axes=None):
        """Every two numbers against each other, histograms on the diagonal.

        Parameters
        ----------
        names : list of str, optional
            Which numbers; the first five by default.
        axes : ndarray of matplotlib axes of shape (n_names, n_names), optional
        """
        from ._pictures import pair

        return pair(self, names, axes)

    def plot_autocorrelation(self, names=None, max_lag=None, axes=None):
        """The autocorrelation of each chain against the lag.

        Parameters
        ----------
        names : list of str, optional
            Which numbers; the first eight by default.
        max_lag : int, optional
            By default 100, or a third of the draws.
        axes : ndarray of matplotlib axes of shape (n_names,), optional
        """
        from ._pictures import autocorrelations

        return autocorrelations(self, names, max_lag, axes)
