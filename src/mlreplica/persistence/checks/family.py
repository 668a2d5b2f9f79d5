"""Families of models: a check of the attributes of each, under the name that cards use"""

from .._container import require

FAMILIES = {}  # name → (attributes that a fitted model has, check of them all)


def family(*names):
    """Register a check under its own name; `names` are attributes that a fitted model has."""

    def register(check):
        FAMILIES[check.__name__] = names, check
        return check

    return register


def columns(state):
    """p"""
    p = state.get("n_features_in_")
    require(type(p) is int and p > 0, "n_features_in_")
    return p
