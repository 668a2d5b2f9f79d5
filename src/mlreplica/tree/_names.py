"""Categories by their names: how a split by categories is put in words"""


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
