"""What a page says to machines: previews in messages, a sitemap, a feed, how to cite it."""

import re
from datetime import date
from html import escape
from xml.sax.saxutils import escape as xml

import numpy as np
from docutils import nodes

from bookkit.assets import STATIC
from bookkit.figure import PALETTE, style

CARD = "_static/card.png"


def draw_card(app):
    """The picture of a preview: two classes, the widest margin between them, the name."""
    if "**" not in app.config.include_patterns:  # `make page`
        return
    import matplotlib.pyplot as plt

    from mlreplica.datasets import make_separable
    from mlreplica.svm import SVC

    X, y, _ = make_separable(60, 2, margin=0.12, random_state=3)
    model = SVC(kernel="linear", C=float("inf")).fit(X, y)
    with plt.rc_context(style()):
        picture, axes = plt.subplots(figsize=(12, 6.3), dpi=100, facecolor=PALETTE["paper"])
        axes.set_position([0.52, 0.06, 0.44, 0.88])
        axes.set_axis_off()
        for label, colour, mark in ((1, "blue", "o"), (-1, "orange", "s")):
            axes.scatter(*X[y == label].T, s=70, c=PALETTE[colour], marker=mark)
        (a, b), c = model.coef_[0], model.intercept_[0]
        across = np.array([X[:, 0].min(), X[:, 0].max()])
        axes.set_ylim(X[:, 1].min() - 0.1, X[:, 1].max() + 0.1)
        for level, line in ((-1, "--"), (0, "-"), (1, "--")):
            axes.plot(across, (level - c - a * across) / b, line, color=PALETTE["ink"], lw=2)
        picture.text(0.06, 0.6, "mlreplica", size=56, weight="bold")
        words = "Classical machine learning,\nwritten to be read\nand built to be used"
        picture.text(0.06, 0.28, words, size=26, color=PALETTE["muted"], linespacing=1.4)
        picture.savefig(STATIC / "card.png", facecolor=PALETTE["paper"])
        plt.close(picture)


def first_words(doctree, limit=200):
    """The first paragraph of a page, as far as a preview shows it and no formula comes in."""
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section):
            continue
        text = re.sub(r"\s+", " ", paragraph.astext())
        before = re.split(r"[\\^{]", text, maxsplit=1)[0]
        if before != text:
            text = before[: before.rfind(". ") + 1] or paragraph.parent[0].astext()
        return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " …"
    return ""


def describe(app, pagename, templatename, context, doctree):
    """The head of a page: description, preview, feed; at its foot: how to cite it."""
    if doctree is None:
        return
    title = re.sub("<[^>]+>", "", context.get("title", "mlreplica"))
    facts = {"og:title": title, "og:description": first_words(doctree), "og:type": "article"}
    facts |= {"og:site_name": "mlreplica", "og:image": app.config.html_baseurl + CARD}
    facts |= {"og:url": app.builder.get_target_uri(pagename), "twitter:card": "summary_large_image"}
    facts["og:url"] = app.config.html_baseurl + facts["og:url"]
    tags = [f'<meta name="description" content="{escape(facts["og:description"])}">']
    tags += [f'<meta property="{key}" content="{escape(value)}">' for key, value in facts.items()]
    feed = context["pathto"]("feed.xml", 1)
    tags.append(
        f'<link rel="alternate" type="application/rss+xml" title="mlreplica" href="{feed}">'
    )
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)
    if "/" not in pagename and pagename not in ("index", "404"):
        context["body"] += citation(app, pagename, title)
        context["body"] += '<p><a class="to-top" href="#">Back to top</a></p>'


def citation(app, pagename, title):
    """A fold with the BibTeX of a page."""
    plain = title.translate(str.maketrans("", "", "{}\\"))
    entry = f"""@misc{{mlreplica-{pagename},
  title = {{{plain}}},
  author = {{{{The mlreplica developers}}}},
  howpublished = {{mlreplica {app.config.version}, a book of classical machine learning}},
  url = {{{app.config.html_baseurl}{pagename}.html}},
  year = {{{date.today().year}}},
}}"""
    summary = "<summary>Cite this page</summary>"
    return f'<details class="cite">{summary}<pre>{escape(entry)}</pre></details>'


def releases(changelog):
    """(title, text) of each release in the changelog."""
    for part in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        yield title.strip("[] "), re.sub(r"\s+", " ", text).strip()


def write_lists(app, exception):
    """sitemap.xml of all pages, feed.xml of the releases."""
    if exception or app.builder.name != "html":
        return
    base, pages = app.config.html_baseurl, sorted(app.env.found_docs - {"404"})
    places = "".join(
        f"<url><loc>{xml(base + app.builder.get_target_uri(p))}</loc></url>" for p in pages
    )
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    app.outdir.joinpath("sitemap.xml").write_text(
        f'{head}<urlset xmlns="{space}">{places}</urlset>\n', encoding="utf-8"
    )
    changelog = app.srcdir.parent / "CHANGELOG.md"
    items = "".join(
        f"<item><title>mlreplica {xml(title)}</title><description>{xml(text)}</description>"
        f'<guid isPermaLink="false">mlreplica-{xml(title)}</guid></item>'
        for title, text in releases(changelog.read_text(encoding="utf-8"))
    )
    about = "<description>Classical machine learning, written to be read</description>"
    channel = f"<title>mlreplica</title><link>{xml(base)}</link>{about}{items}"
    app.outdir.joinpath("feed.xml").write_text(
        f'{head}<rss version="2.0"><channel>{channel}</channel></rss>\n', encoding="utf-8"
    )


def setup(app):
    """Add the tags to every page and write the lists at the end."""
    app.connect("builder-inited", draw_card)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
