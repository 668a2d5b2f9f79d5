"""The ``race`` directive: a benchmark's kept result as a table with bars, its date and machine."""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)
RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def time_of(seconds):
    """Three digits with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def row_of(name, row, result, slowest):
    """One contestant as a row; one that did not finish says why."""
    who = f'<th scope="row">{escape(name)}</th>'
    if "best" not in row:
        why = "missing" if "missing" in row else "failed"
        return f'<tr>{who}<td colspan="4">{why}</td></tr>'
    ours = " ours" if name == result["ours"] else ""
    width = max(100 * row["best"] / slowest, 0.5)
    first = row.get("first")
    quality = f"{row['quality']:.6g}" + (" (worse)" if row["worse"] else "")
    return (
        f'<tr class="contestant{ours}">{who}'
        f'<td class="bar"><span style="width:{width:.1f}%"></span></td>'
        f"<td>{time_of(row['best'])}</td><td>{quality}</td>"
        f"<td>{time_of(first['warm']) if first else '–'}</td></tr>"
    )


def html_of(result):
    """A race as a figure: the verdict, the table, the circumstances."""
    rows = result["contestants"]
    timed = {name: row["best"] for name, row in rows.items() if "best" in row}
    slowest = max(timed.values())
    order = sorted(rows, key=lambda name: timed.get(name, float("inf")))
    machine, versions = result["machine"], result["versions"]
    verdict = ""
    if result["ratio"] is not None:
        peer = escape(result["best_peer"])
        verdict = f"<strong>{result['ratio']:.1f} times as fast as {peer}.</strong>"
    held = (
        f"Held on {result['date']}: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, {result['threads']} threads, load {result['load']}; "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
    )
    return (
        f'<figure class="race" id="race-{escape(result["race"])}"><figcaption>'
        f"{escape(result['what'])}. {verdict}</figcaption>"
        '<div class="table-wrapper"><table><thead><tr><th scope="col">library</th>'
        '<td></td><th scope="col">best time</th>'
        f'<th scope="col">{escape(result["quality"])}</th><th scope="col">first result, new process'
        "</th></tr></thead><tbody>"
        + "".join(row_of(name, rows[name], result, slowest) for name in order)
        + f'</tbody></table></div><p class="held">{escape(held)}.</p></figure>'
    )


class RaceResult(SphinxDirective):
    """Show the kept results of one or more races."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """One figure a race; a race not held yet is a warning, so the book's build fails."""
        shown = []
        for name in re.split(r"[\s,]+", self.arguments[0].strip()):
            path = RESULTS / f"{name}.json"
            self.env.note_dependency(str(path))
            if not path.exists():
                log.warning("no benchmark result %s", path.name, location=self.get_location())
                shown.append(nodes.paragraph("", f"The race {name} is not measured yet."))
                continue
            result = json.loads(path.read_text(encoding="utf-8"))
            shown.append(nodes.raw("", html_of(result), format="html"))
        return shown


def setup(app):
    """Register the directive."""
    app.add_directive("race", RaceResult)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
