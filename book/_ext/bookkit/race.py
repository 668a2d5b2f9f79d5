"""The directives ``race`` and ``quality``: what was measured, as tables.

A race is a table with bars, its date and machine; the study of quality one of losses.
"""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)
CALM = 0.1  # cores that other programs used; more makes a race rough
RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def time_of(seconds):
    """Three digits with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def row_of(name, row, result, slowest, started):
    """One contestant as a row; one that did not finish says why."""
    who = f'<th scope="row">{escape(name)}</th>'
    if "median" not in row:
        why = "not installed" if "missing" in row else "failed"
        return f'<tr>{who}<td colspan="{3 + started}">{why}</td></tr>'
    ours = ' class="ours"' if name == result["ours"] else ""
    width = max(100 * row["median"] / slowest, 0.5)
    first = time_of(row["first"]["warm"]) if row.get("first") else "–"
    first = f"<td>{first}</td>" if started else ""
    quality = f"{row['quality']:.6g}" + (" (worse)" if row["worse"] else "")
    return (
        f'<tr{ours}>{who}<td class="bar"><span style="width:{width:.1f}%"></span></td>'
        f"<td>{time_of(row['median'])}</td><td>{quality}</td>{first}</tr>"
    )


def group_of(result, started):
    """One race: what was raced and by how much we are ahead, then a row a contestant."""
    rows = result["contestants"]
    timed = {name: row["median"] for name, row in rows.items() if "median" in row}
    order = sorted(rows, key=lambda name: timed.get(name, float("inf")))
    verdict = ""
    if result["ratio"] is not None:
        peer = escape(result["best_peer"])
        between = " to ".join(f"{r:.1f}" for r in result.get("interval") or [])
        between = f" ({between})" if between else ""
        verdict = f" <strong>{result['ratio']:.1f} times as fast as {peer}{between}.</strong>"
    return (
        f'<tbody id="race-{escape(result["race"])}"><tr>'
        f'<th colspan="{4 + started}" scope="rowgroup">'
        f"{escape(result['what'])}.{verdict}</th></tr>"
        + "".join(row_of(name, rows[name], result, max(timed.values()), started) for name in order)
        + "</tbody>"
    )


def held(results):
    """When, where and with what races were held."""
    dates, places, versions = set(), {}, {}
    for result in results:
        machine = result["machine"]
        place = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}"
        dates.add(result["date"])
        places[f"{place}, {result['threads']} threads"] = None
        for name, number in result["versions"].items():
            versions.setdefault(name, {})[number] = None
    when = " to ".join(sorted({min(dates), max(dates)}))
    used = ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in versions.items())
    text = f"Held {when}, {' and '.join(places)}; {used}."
    busy = [s["busy"] for result in results for s in result.get("shapes", {}).values()]
    if max(busy, default=0.0) > CALM:
        text += " Other programs ran meanwhile: to be held again on an idle machine."
    old = [result["what"] for result in results if "shapes" not in result]
    if old:  # OpenMP was told to wait passively, which slows peers
        which = "" if len(old) == len(results) else f" ({'; '.join(old)})"
        text += f" Held in one process by earlier rules, which favour us{which}; to be held again."
    return text


def html_of(results):
    """Races as one table, and their circumstances below."""
    started = any(row.get("first") for result in results for row in result["contestants"].values())
    first = '<th scope="col">first result, new process</th>' if started else ""
    measures = " / ".join(dict.fromkeys(result["quality"] for result in results))
    return (
        '<figure class="race"><div class="table-wrapper"><table><thead><tr>'
        '<th scope="col">library</th><td></td><th scope="col">median time</th>'
        f'<th scope="col">{escape(measures)}</th>{first}'
        f"</tr></thead>{''.join(group_of(result, started) for result in results)}</table></div>"
        f'<p class="held">{escape(held(results))}</p></figure>'
    )


class RaceResult(SphinxDirective):
    """Show the kept results of one or more races."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """A table of the races; one not held yet is a warning, so the book's build fails."""
        results, missing = [], []
        for name in re.split(r"[\s,]+", self.arguments[0].strip()):
            path = RESULTS / f"{name}.json"
            self.env.note_dependency(str(path))
            if path.exists():
                results.append(json.loads(path.read_text(encoding="utf-8")))
            else:
                log.warning("no benchmark result %s", path.name, location=self.get_location())
                missing.append(nodes.paragraph("", f"The race {name} is not measured yet."))
        shown = [nodes.raw("", html_of(results), format="html")] if results else []
        return shown + missing


def difference(row, peer):
    """How much more a peer's loss is than ours, in per cent of ours; marked beyond two errors."""
    ours, behind, error = row["mlreplica"]["loss"], row[peer]["behind"], row[peer]["error"]
    more = round(100 * behind / ours, 1) + 0.0  # no −0.0
    text = f"{more:+.1f} ±\u00a0{100 * error / ours:.1f}".replace("-", "−")
    if abs(behind) <= 2 * error:
        return f"<td>{text}</td>"
    mark, what = ("▲", "ours is better") if behind > 0 else ("▼", "ours is worse")
    return f'<td><strong>{text}\u00a0<span title="{what}">{mark}</span></strong></td>'


def table_of_losses(table):
    """Data sets against libraries."""
    peers = [key for key, value in table[0].items() if isinstance(value, dict)][1:]
    head = "".join(f'<th scope="col">{escape(peer)}</th>' for peer in peers)
    rows = "".join(
        f'<tr><th scope="row">{escape(row["data"].replace("_", " "))}</th>'
        f"<td>{row['rows']} × {row['columns']}</td><td>{row['mlreplica']['loss']:.4f}</td>"
        + "".join(difference(row, peer) for peer in peers)
        + "</tr>"
        for row in table
    )
    return (
        '<figure class="race quality"><div class="table-wrapper"><table><thead><tr>'
        '<th scope="col">data</th><th scope="col">rows × columns</th>'
        f'<th scope="col">our loss</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        '<p class="held">Other libraries: how much larger their loss on new rows is than ours, in '
        "per cent of ours, and its standard error over ten divisions of the data. ▲: ours is "
        "better, ▼: worse, by more than two errors, which chance alone does once in thirteen "
        "times.</p></figure>"
    )


class Quality(SphinxDirective):
    """Show the kept losses of one kind of model (``boosting`` or ``forest``)."""

    required_arguments = 1

    def run(self):
        """A table; a kind that was never measured is an error."""
        path = RESULTS.with_name("quality.json")
        self.env.note_dependency(str(path))
        table = json.loads(path.read_text(encoding="utf-8"))
        table = [row for row in table if row["model"] == self.arguments[0]]
        if not table:
            raise self.error(f"quality: nothing is known of {self.arguments[0]!r}")
        return [nodes.raw("", table_of_losses(table), format="html")]


def setup(app):
    """Register the directives."""
    app.add_directive("race", RaceResult)
    app.add_directive("quality", Quality)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
