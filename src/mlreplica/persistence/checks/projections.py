"""Checks of projections, covariances, discriminants and naive Bayes"""

import numpy as np

from .._container import require
from .family import columns, family


@family("components_")
def components_only(state):
    """Directions or parts, one number for each column."""
    p = columns(state)
    require(state["components_"].ndim == 2 and state["components_"].shape[1] == p, "components_")


@family("components_", "mean_", "explained_variance_")
def projection(state):
    """Directions, their variances, and a mean."""
    components_only(state)
    p, k = columns(state), len(state["components_"])
    require(state["mean_"].shape == (p,), "mean_")
    require(state["explained_variance_"].shape == (k,), "explained_variance_")
    require(state.get("scale_") is None or state["scale_"].shape == (p,), "scale_")


@family("components_")
def linear_map(state):
    """A row for each new column."""
    require(state["components_"].ndim == 2, "components_")
    require(state["components_"].shape[1] == columns(state), "components_")


@family("location_", "covariance_")
def covariance(state):
    """A mean, a matrix, and perhaps its inverse."""
    p = columns(state)
    require(state["location_"].shape == (p,), "location_")
    require(state["covariance_"].shape == (p, p), "covariance_")
    inverse = state.get("precision_")
    require(inverse is None or inverse.shape == (p, p), "precision_")


@family("means_", "scalings_", "rotations_", "priors_", "whitening_", "log_det_")
def quadratic(state):
    """Mean, axes and variances of every class."""
    p, K = columns(state), len(state["classes_"])
    require(state["means_"].shape == (K, p) and len(state["priors_"]) == K, "means_")
    require(len(state["scalings_"]) == len(state["rotations_"]) == K, "scalings_")
    for scaling, rotation in zip(state["scalings_"], state["rotations_"], strict=True):
        require(scaling.shape == (p,) and rotation.shape == (p, p), "rotations_")
    require(state["whitening_"].shape == (K, p, p), "whitening_")
    require(state["log_det_"].shape == (K,), "log_det_")


@family("classes_")
def naive_bayes(state):
    """Numbers for every column and class: moments, or logarithms of probabilities."""
    p, K = columns(state), len(state["classes_"])
    if "theta_" in state:
        shapes = [np.shape(state[name]) for name in ("theta_", "var_")]
        require(shapes == [(K, p)] * 2 and len(state["class_prior_"]) == K, "theta_")
        shapes = [np.shape(values) for values in state["_moments"]]
        require(shapes == [(K,), (K, p), (K, p)], "_moments")
        return
    logs = state["feature_log_prob_"]
    require(len(state["class_log_prior_"]) == K, "class_log_prior_")
    if isinstance(logs, list):
        require(len(logs) == p and all(len(table) == K for table in logs), "feature_log_prob_")
    else:
        require(logs.shape == (K, p), "feature_log_prob_")
