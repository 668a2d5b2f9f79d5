"""The contents in the sidebar: a fold a part, the part of the page open, the page marked.

Made from the toctrees once a build, not by Sphinx for every page: that would take as long as all
the rest. Of the API reference a page shows the modules, and the names of its own module.
"""

from html import escape

from sphinx import addnodes


def parts(env):
    """[(caption, [page, …])] of the toctrees on the first page."""
    tree = env.get_doctree(env.config.root_doc)
    return [
        (node.get("caption") or "", [page for _, page in node["entries"]])
        for node in tree.findall(addnodes.toctree)
    ]


def below(env, page):
    """The pages in the toctrees of a page."""
    return env.toctree_includes.get(page, [])


def title(env, page):
    """The title of a page, as it stands in the sidebar."""
    return escape(env.titles[page].astext()) if page in env.titles else escape(page)


def item(env, page, here, link, level=1):
    """A page in the list, with those of its module if it belongs to the API reference."""
    inner = ""
    if here.startswith("api/") and page.startswith("api/") and (page == "api/index" or level == 2):
        module = here.partition(".")[0]
        if page in ("api/index", module):
            items = "".join(item(env, p, here, link, level + 1) for p in below(env, page))
            inner = f"<ul>{items}</ul>" if items else ""
    current = ' class="current reference internal" aria-current="page"' if page == here else ""
    name = title(env, page).removeprefix("mlreplica.")
    current = current or ' class="reference internal"'
    mark = " current-page" if page == here else ""
    href = "#" if page == here else link(page)
    return f'<li class="toctree-l{level}{mark}"><a{current} href="{href}">{name}</a>{inner}</li>'


def contents(env, found, here, link):
    """The sidebar of one page."""
    text = ""
    for caption, pages in found:
        mine = here in pages or (here.startswith("api/") and "api/index" in pages)
        items = "".join(item(env, page, here, link) for page in pages)
        opened = " open" if mine or not caption else ""
        name = f'<span class="caption-text">{escape(caption)}</span>'
        head = f'<summary class="caption">{name}</summary>'
        text += f'<details class="part"{opened}>{head}<ul>{items}</ul></details>'
    return text


def leave_out(app, pagename, templatename, context, doctree):
    """Spare Sphinx and furo the making of a sidebar."""
    context["toctree"] = lambda **_: ""


def put_in(app, pagename, templatename, context, doctree):
    """The sidebar of a page; a copy of a source file has a way home."""
    if not hasattr(app, "book_parts"):
        app.book_parts = parts(app.env)
    link = context["pathto"]
    if pagename.startswith("_source/"):
        home = f'<a class="reference internal" href="{link("index")}">Contents</a>'
        context["furo_navigation_tree"] = f'<ul><li class="toctree-l1">{home}</li></ul>'
        return
    context["furo_navigation_tree"] = contents(app.env, app.book_parts, pagename, link)


def setup(app):
    """Replace the theme's sidebar by this one."""
    app.connect("html-page-context", leave_out, priority=100)
    app.connect("html-page-context", put_in, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
