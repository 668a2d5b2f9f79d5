"""Pictures of draws, by matplotlib"""

import numpy as np

from .diagnostics import autocorrelation


def chosen(draws, names, most):
    """The names to draw: those asked for, or the first `most`."""
    names = list(draws.names[:most] if names is None else names)
    if unknown := [name for name in names if name not in draws.names]:
        raise ValueError(f"No number named {unknown[0]!r}; names are like {draws.names[0]!r}.")
    return names


def grid(axes, rows, columns, width, height):
    """The axes given, or new ones of a figure of that many inches a cell."""
    if axes is None:
        from matplotlib import pyplot as plt

        size = (width * columns, height * rows)
        _, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    return np.asarray(axes, dtype=object).reshape(rows, columns)


def trace(draws, names, axes):
    """`Draws.plot_trace`."""
    names = chosen(draws, names, 8)
    axes = grid(axes, len(names), 2, 4.5, 1.7)
    for (path, bars), name in zip(axes, names, strict=True):
        x = draws[name].reshape(draws.n_chains, -1)
        edges = np.histogram_bin_edges(x, min(60, max(10, int(np.sqrt(x.size)))))
        for k, chain in enumerate(x):
            path.plot(chain, linewidth=0.6, alpha=0.8, color=f"C{k}")
            bars.hist(chain, edges, histtype="step", density=True, color=f"C{k}")
        path.set(ylabel=name, xlabel="draw")
        bars.set(xlabel=name, yticks=())
    return axes


def pair(draws, names, axes):
    """`Draws.plot_pair`."""
    names = chosen(draws, names, 5)
    axes = grid(axes, len(names), len(names), 1.9, 1.9)
    for i, down in enumerate(names):
        for j, across in enumerate(names):
            ax, x, y = axes[i, j], draws[across].ravel(), draws[down].ravel()
            if i == j:
                ax.hist(x, 40, color="C0", alpha=0.7)
            elif j < i:
                step = max(1, x.size // 4000)
                ax.plot(x[::step], y[::step], ".", markersize=1.5, alpha=0.4, color="C0")
            else:
                ax.set_visible(False)
            ax.set(xlabel=across if i == len(names) - 1 else "", ylabel=down if j == 0 < i else "")
    return axes


def autocorrelations(draws, names, max_lag, axes):
    """`Draws.plot_autocorrelation`."""
    names = chosen(draws, names, 8)
    lags = min(100, max(1, draws.n_draws // 3)) if max_lag is None else int(max_lag)
    axes = grid(axes, len(names), 1, 5.0, 1.7)[:, 0]
    for ax, name in zip(axes, names, strict=True):
        for k, rho in enumerate(autocorrelation(draws[name].reshape(draws.n_chains, -1))):
            ax.plot(rho[: lags + 1], color=f"C{k}", linewidth=1.0)
        ax.axhline(0.0, color="0.5", linewidth=0.8)
        ax.set(ylabel=name, xlabel="lag")
    return axes
