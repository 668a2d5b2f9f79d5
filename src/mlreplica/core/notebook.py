"""Notebooks: what a fitted model says of its fit, below scikit-learn's diagram

    features                       10
    weights that are not zero      7 of 10
    iterations                     35
    certificate                    the objective is at most 3.1e-07 above its minimum
    gap                            0.42 ╲__ 3.1e-07

The last kind of line is a curve: of each number that a `Trace` recorded, or of a fitted attribute
that holds one number per iteration. Nothing is computed here; a fact without an attribute is left
out.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

COUNTS = {
    "n_features_in_": "features",
    "classes_": "classes",
    "support_vectors_": "support vectors",
    "estimators_": "models",
    "cluster_centers_": "centres",
    "n_components_": "components",
    "n_iter_": "iterations",
}
CURVES = ("train_score_", "validation_score_", "history_", "estimator_errors_")
WIDTH, HEIGHT, POINTS = 160, 28, 80


def show_fit(model: Any) -> str:
    """Return scikit-learn's diagram of an estimator as HTML, and what it says of its fit."""
    rows = {name: escape(value) for name, value in facts(model).items()}
    rows |= {name: sparkline(values) for name, values in curves(model).items()}
    body = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{shown}</td></tr>"
        for name, shown in rows.items()
    )
    table = f"<table class='mlreplica-fit'><tbody>{body}</tbody></table>" if rows else ""
    return f"{estimator_html_repr(model)}{table}"


def facts(model: Any) -> dict[str, str]:
    """Return what the fitted attributes of a model say, by name."""
    fitted, found = vars(model), {}
    for attribute, name in COUNTS.items():
        value = fitted.get(attribute)
        if value is not None:
            found[name] = count(attribute, value)
    if "tree_" in fitted:
        tree = fitted["tree_"]
        found["tree"] = f"{tree.n_leaves} leaves, depth {tree.max_depth}"
    weights = fitted.get("coef_")
    if isinstance(weights, np.ndarray) and weights.size and not weights.all():
        found["weights that are not zero"] = f"{np.count_nonzero(weights)} of {weights.size}"
    labels = fitted.get("labels_")
    if isinstance(labels, np.ndarray) and labels.size:
        found["clusters"] = str(len(np.unique(labels[labels >= 0])))
        if (labels < 0).any():
            found["noise"] = f"{np.count_nonzero(labels < 0)} of {labels.size} rows"
    if "best_score_" in fitted and "best_params_" in fitted:
        params = ", ".join(f"{name}={value!r}" for name, value in fitted["best_params_"].items())
        found["best"] = f"{fitted['best_score_']:.4g} with {params}"
    if fitted.get("converged_") is False:
        found["converged"] = "no"
    if fitted.get("certificate_") is not None:
        found["certificate"] = (
            f"the objective is at most {np.max(fitted['certificate_']):.1e} above its minimum"
        )
    if fitted.get("kkt_residual_") is not None:
        found["optimality"] = f"violated by at most {np.max(fitted['kkt_residual_']):.1e}"
    return found


def count(attribute: str, value: Any) -> str:
    """Return how many of them there are, or what number the attribute is."""
    if attribute == "n_iter_":
        return ", ".join(str(n) for n in np.unique(np.ravel(value))[:4])
    return str(value) if np.ndim(value) == 0 else str(len(value))


def curves(model: Any) -> dict[str, np.ndarray]:
    """Return the numbers that were recorded during the fit, one per iteration, by name."""
    found = {}
    for callback in getattr(model, "_skl_callbacks", ()):
        if hasattr(callback, "scalars"):
            found.update(callback.scalars())
    found.pop("step", None)
    for name in CURVES:
        values = vars(model).get(name)
        if np.ndim(values) == 1:
            found[name.strip("_").replace("_", " ")] = values
    real = {name: np.asarray(values) for name, values in found.items()}
    return {
        name: values.astype(float)
        for name, values in real.items()
        if len(values) > 1 and values.dtype.kind in "biuf" and np.isfinite(values).all()
    }


def sparkline(values: np.ndarray) -> str:
    """Return a small curve with its first and last number, on a log scale if they differ much."""
    shown = values[np.linspace(0, len(values) - 1, min(len(values), POINTS)).round().astype(int)]
    low, high = shown.min(), shown.max()
    if low > 0 and high > 100 * low:
        shown = np.log(shown)
        low, high = shown.min(), shown.max()
    x = np.linspace(2, WIDTH - 2, len(shown))
    y = HEIGHT - 3 - (HEIGHT - 6) * (shown - low) / ((high - low) or 1.0)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    first, last = f"{values[0]:.3g}", f"{values[-1]:.3g}"
    return (
        f"{first} <svg width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' "
        f"style='vertical-align:middle' aria-label='from {first} to {last} in {len(values)} steps'>"
        f"<polyline points='{points}' fill='none' stroke='currentColor' stroke-width='1.5'/></svg>"
        f" {last}"
    )
