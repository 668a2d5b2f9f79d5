"""A table of coefficients with their errors and tests, as text, HTML and a data frame"""

import html
import textwrap


class SummaryTable:
    """What summaries share; they have `_title()`, `_cells()`, notes and the name of their test."""

    _statistic = "t"

    def to_frame(self):
        """The table of coefficients as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(
            {
                "coef": self.coef,
                "std err": self.standard_errors,
                self._statistic: getattr(self, self._statistic),
                "p": self.p,
                "lower": self.intervals[:, 0],
                "upper": self.intervals[:, 1],
            },
            index=list(self.names),
        )

    def __str__(self) -> str:
        facts, columns, rows = self._cells()
        width = min(24, max(map(len, self.names)))
        lines = [self._title(), "═" * 80]
        for left, right in zip(facts[::2], facts[1::2], strict=True):
            lines.append("   ".join(f"{name:<19}{value:>19}" for name, value in (left, right)))
        lines += ["─" * 80, " " * width + "".join(f"{c:>{w}}" for c, w in columns)]
        for name, *cells in rows:
            short = name if len(name) <= width else name[: width - 1] + "…"
            lines.append(
                f"{short:<{width}}"
                + "".join(f"{c:>{w}}" for c, (_, w) in zip(cells, columns, strict=True))
            )
        lines.append("═" * 80)
        return "\n".join(lines + [line for note in self.notes for line in textwrap.wrap(note, 80)])

    def _repr_html_(self) -> str:
        facts, columns, rows = self._cells()
        head = "".join(f"<th scope='col'>{html.escape(c)}</th>" for c, _ in columns)
        right = "<td style='text-align:right'>{}</td>".format
        label = "<th scope='row'>{}</th>".format
        body = "".join(
            f"<tr>{label(html.escape(name))}{''.join(map(right, cells))}</tr>"
            for name, *cells in rows
        )
        about = "".join(
            f"<tr>{''.join(label(html.escape(a)) + right(v) for a, v in pair)}</tr>"
            for pair in zip(facts[::2], facts[1::2], strict=True)
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return (
            f"<div class='mlreplica-summary'><table><caption>{self._title()}</caption>"
            f"<tbody>{about}</tbody></table><table><thead><tr><th></th>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{notes}</div>"
        )
