"""Figures: one matplotlib style, drawn as SVG that follows the page's light or dark colours."""

import hashlib
import io
import re
from contextlib import contextmanager
from html import escape

import numpy as np

from mlreplica.plotting import PALETTE
from mlreplica.plotting import style as house_style

# PALETTE is the light theme; book.css has a second set of these colours for the dark one.
TSPAN = re.compile(r'<tspan x="([^"]*)" y="([^"]*)" style="([^"]*)">(.*?)</tspan>', re.DOTALL)
MIXED = re.compile(r"<text>\s*<tspan.*?</text>", re.DOTALL)


def style():
    """matplotlib's settings for every figure of the book: the library's, on the page's paper."""
    return house_style() | {
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "svg.fonttype": "none",
        "svg.hashsalt": "mlreplica",
    }


@contextmanager
def figure(alt, *, width=None, height=3.4, rows=1, columns=1, caption=None):
    """Draw a figure and show it in the page.

    Parameters
    ----------
    alt : str
        What the figure shows, for a reader who cannot see it: the finding, not "a plot of …".
    width : float, optional
        Inches, of all columns together; 5 for one column, legible on a phone, and 7.2 for more.
    height : float, default=3.4
        Inches, of one row.
    rows, columns : int
        How many axes. They wrap on a narrow screen.
    caption : str, optional
        A sentence below the figure.

    Yields
    ------
    matplotlib Axes, or an array of them if there are several
    """
    import matplotlib.pyplot as plt
    from IPython.display import HTML, display

    if len(alt.split()) < 4:
        raise ValueError(f"alt text must say what the figure shows, got {alt!r}.")
    width = width or (5.0 if columns == 1 else 7.2)
    with plt.rc_context(style()):
        axes = np.empty((rows, columns), dtype=object)
        for place in np.ndindex(axes.shape):
            axes[place] = plt.figure(figsize=(width / columns, height), layout="constrained").gca()
        try:
            yield axes.squeeze()[()]
            drawn = "".join(svg(ax.figure) for ax in axes.flat)
        finally:
            for ax in axes.flat:
                plt.close(ax.figure)
    label = escape(alt, quote=True)
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    place = f"--panes: {columns}; --pane: {width / columns:.4g}in"  # a place before its drawing
    panes = f'<div class="drawings" role="img" aria-label="{label}" style="{place}">{drawn}</div>'
    display(HTML(f'<figure class="drawing">{panes}{below}</figure>'))


def joined(text):
    """Words beside a formula in one piece: matplotlib sets them letter by letter in its own font.

    The page's sans is narrower by about 0.15, so what follows a word moves up.
    """
    letters = sorted((float(x), y, look, letter) for x, y, look, letter in TSPAN.findall(text))
    runs, moved = [], 0.0
    for before, (x, y, look, letter) in zip([None, *letters], letters, strict=False):
        if before and "DejaVu" in before[2]:
            moved += 0.15 * (x - before[0])
        if before and "DejaVu" in look and before[1:3] == (y, look):
            runs[-1][1] += letter
        else:
            runs.append([f'<tspan x="{x - moved:.2f}" y="{y}" style="{look}">', letter])
    return f"<text>{''.join(f'{start}{word}</tspan>' for start, word in runs)}</text>"


def svg(drawing):
    """A matplotlib figure as inline SVG: themed colours, page fonts, addresses of its own."""
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"(?<=\.\d\d)\d+", "", re.sub(r"\s*\n\s*", " ", text))  # half the size
    for name, colour in PALETTE.items():
        text = text.replace(colour, f"var(--book-{name})")
    prefix = "f" + hashlib.sha256(text.encode()).hexdigest()[:8]
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\1{prefix}-", text)
    text = MIXED.sub(lambda found: joined(found[0]), text)
    text = re.sub(r"['\"]?STIX[A-Za-z]*['\"]?", "KaTeX_Main", text)
    text = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "var(--font-stack)", text)
    text = re.sub(r'(<svg [^>]*?)(width="[\d.]+)pt" height="[\d.]+pt"', r'\1\2pt"', text, count=1)
    return text.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
