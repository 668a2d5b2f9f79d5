"""Names of features and categories, and other words in which trees are told"""

import numpy as np
from sklearn.utils.validation import check_array


def feature_labels(model, names, default="x[{}]"):
    """The names given, or those seen in `fit`, or numbers."""
    p = model.tree_.n_features
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [default.format(f) for f in range(p)]
    names = checked(names)
    if len(names) != p:
        raise ValueError(f"feature_names must contain {p} elements, got {len(names)}")
    return [str(name) for name in names]


def checked(names):
    """Names as an array, or None."""
    if names is None:
        return None
    return check_array(names, ensure_2d=False, dtype=None, ensure_min_samples=0)


def check_number(name, value, least):
    """A whole number that is large enough."""
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def category_set(model, node, width=None):
    """{red, blue}: what goes left at a node; cut short to about so many characters."""
    tree = model.tree_
    known = model._inputs.names()[int(tree.feature[node])]
    names = [category_name(known[c]) for c in tree.categories_left(node)]
    if tree.missing_go_to_left[node]:
        names.append("missing")
    text = ", ".join(names)
    if width is not None and len(text) > width:
        text = text[: max(width - 1, 1)].rstrip(", ") + "…"
    return f"{{{text}}}"


def category_name(value):
    """2 for 2.0, and any other as it is."""
    whole = isinstance(value, float) and value == int(value)
    return str(int(value) if whole else value)
