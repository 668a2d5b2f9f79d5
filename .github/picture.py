"""Draw the README's picture: python .github/picture.py"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mlreplica.callbacks import Trace
from mlreplica.datasets import load_diabetes
from mlreplica.linear_model import LinearRegression, perceptron

BLUE, ORANGE, INK, GREY = "#0b6cb8", "#c6521a", "#26292f", "#6b7079"


def mistakes(ax):
    """The perceptron's line after each mistake, from pale to dark."""
    rng = np.random.default_rng(16)
    y = rng.choice([-1, 1], size=60)
    X = 0.5 * rng.normal(size=(60, 2)) + np.outer(y, [0.8, 0.7])
    found = perceptron(X, y, history=True)
    for label, colour, marker in ((-1, BLUE, "o"), (1, ORANGE, "^")):
        ax.scatter(*X[y == label].T, s=22, c=colour, marker=marker, lw=0, zorder=3)
    x = np.array([-3.0, 3.0])
    for k, step in enumerate(found.history, start=1):
        last = k == found.updates
        look = {"color": INK, "lw": 2.2} if last else {"color": GREY, "lw": 1.0}
        alpha = 0.2 + 0.8 * (k / found.updates) ** 2
        ax.plot(x, -(step.b + step.w[0] * x) / step.w[1], alpha=alpha, **look)
    ax.set(xlim=(-2.4, 2.4), ylim=(-2.1, 2.1), xticks=[], yticks=[])
    ax.set_title(f"Perceptron: {found.updates} mistakes, then none")


def certificates(ax):
    """Descent on the diabetes data: the bound that is known, and the distance that is not."""
    X, y = load_diabetes(return_X_y=True)
    X = X[:, [2, 3, 6, 8, 9]]
    best = np.mean((y - LinearRegression().fit(X, y).predict(X)) ** 2) / 2
    for solver, colour in (("gd", BLUE), ("sgd", ORANGE)):
        trace = Trace()
        LinearRegression(solver=solver).set_callbacks(trace).fit(X, y)
        epochs = np.arange(len(trace.states)) + 1
        distance = [state["objective"] - best for state in trace.states]
        certificate = [state["gap"] for state in trace.states]
        ax.semilogy(epochs, certificate, color=colour, lw=2, label=f"{solver}: certificate")
        ax.semilogy(epochs, distance, ":", color=colour, lw=2, label=f"{solver}: true distance")
    ax.set(xlabel="epoch", ylim=(1e-3, None))
    ax.legend(frameon=False)
    ax.set_title("Distance from the minimum, and its certificate")


def main():
    """Write picture.svg beside this file; equal runs write equal bytes."""
    with plt.rc_context({"svg.hashsalt": "mlreplica", "font.size": 10, "text.color": INK}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.5), layout="constrained")
        mistakes(left)
        certificates(right)
        for ax in (left, right):
            ax.spines[:].set_color("#d9dce1")
        path = Path(__file__).with_suffix(".svg")
        figure.savefig(path, facecolor="white", metadata={"Date": None})


if __name__ == "__main__":
    main()
