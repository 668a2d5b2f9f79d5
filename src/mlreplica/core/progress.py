"""Progress: how far each running task is, as a bar in a notebook or a line in a terminal

    GridSearchCV              ██████████░░░░░░░░░░  1/2   4.2 s
      candidates #2           ███████████████░░░░░  21/28   4.0 s
        Lasso #22             ██░░░░░░░░░░░░░░░░░░  120/1000   0.1 s   gap 3.1e-05

Tasks tell a board, which draws; tasks of other processes tell it through scikit-learn's transport.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from html import escape
from numbers import Real
from typing import Any

from .compat import close_listener, open_listener, send

Path = tuple[int, ...]  # the numbers of a task and of those above it, the outermost first
WIDTH, PAUSE = 20, 0.1  # characters of a bar, seconds between two drawings


class ProgressBar:
    """Show how far a fit has come, and the numbers of its solver.

    A notebook shows bars, a terminal lines; nothing has to be installed. A search shows a bar for
    itself and one for each fit that is running, also in other processes.

    Parameters
    ----------
    max_propagation_depth : int or None, default=1
        How many levels of nested estimators have bars: 0 for the outermost alone, None for all.

    Examples
    --------
    >>> from mlreplica.callbacks import ProgressBar
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().set_callbacks(ProgressBar()).fit(X, y)
    """

    def __init__(self, max_propagation_depth: int | None = 1) -> None:
        self.max_propagation_depth = max_propagation_depth
        self.listeners: dict[Any, Any] = {}  # which fit → where its tasks send their news

    def setup(self, estimator: Any, context: Any) -> None:
        """Open a board for this fit."""
        self.listeners[context.root_uuid] = open_listener(Board().hear)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Add a bar for a task that has parts."""
        path = path_of(context)
        outermost, merged = len(path) == 1, context.source_estimator_name is not None
        if context.max_subtasks != 0 or outermost:  # what is left is one step of a solver
            name = context.estimator_name if outermost or merged else context.task_name
            number = "" if outermost else f" #{path[-1] + 1}"
            self._send(context, ("begin", path, name + number, context.max_subtasks))

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Move the bar of the task above."""
        state = getattr(context, "state", None)
        fields = () if state is None else state._asdict().items()
        numbers = [f"{name} {value:.3g}" for name, value in fields if isinstance(value, Real)]
        self._send(context, ("end", path_of(context), ", ".join(numbers), None))

    def teardown(self, estimator: Any, context: Any) -> None:
        """Draw the last state, and close the board."""
        self._send(context, ("close", (), "", None))
        close_listener(self.listeners.pop(context.root_uuid))

    def _send(self, context: Any, news: tuple[str, Path, str, int | None]) -> None:
        send(self.listeners[context.root_uuid], news)


def path_of(context: Any) -> Path:
    """Return where a task stands below the outermost fit."""
    return (*(path_of(context.parent) if context.parent else ()), context.task_id)


@dataclass
class Bar:
    """One task: its name, how many parts it may have, and how many have ended."""

    name: str
    total: int | None
    done: int = 0
    note: str = ""
    ended: bool = False
    start: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    def counted(self) -> str:
        """Return how many parts have ended, of how many at most, and for how long it has run."""
        of = "" if self.ended or self.total is None else f"/{self.total}"
        return f"{self.done}{of}   {self.seconds:.1f} s"

    def share(self) -> float:
        """Return how much of the task has ended, from 0 to 1."""
        return 1.0 if self.ended else min(self.done / self.total, 1.0) if self.total else 0.0


class Board:
    """All bars of one fit, drawn at most ten times per second; those below that ended are gone."""

    def __init__(self) -> None:
        self.bars: dict[Path, Bar] = {}
        self.lock, self.drawn, self.screen = threading.Lock(), 0.0, screen()

    def hear(self, news: tuple[str, Path, str, int | None]) -> None:
        """Take the news of one task, from any thread."""
        event, path, text, total = news
        with self.lock:
            if event == "begin":
                self.bars[path] = Bar(text, total)
            elif event == "end":
                self.end(path, text)
            if event == "close" or time.monotonic() > self.drawn + PAUSE:
                for bar in self.bars.values():
                    bar.seconds = bar.seconds if bar.ended else time.monotonic() - bar.start
                self.screen.show([*sorted(self.bars.items())], last=event == "close")
                self.drawn = time.monotonic()

    def end(self, path: Path, note: str) -> None:
        """Count a task that ended in the one above."""
        above = self.bars.get(path[:-1])
        if above is not None:
            above.done += 1
            above.note = note
            self.bars.pop(path, None)
        elif path in self.bars:
            bar = self.bars[path]
            bar.ended, bar.seconds = True, time.monotonic() - bar.start


class Terminal:
    """Lines on standard error that are written over; a file gets the last ones only."""

    def __init__(self) -> None:
        self.height = 0

    def show(self, bars: list[tuple[Path, Bar]], *, last: bool) -> None:
        """Write all bars, over those of the last time."""
        if not (last or sys.stderr.isatty()):
            return
        lines = []
        for path, bar in bars:
            full = round(WIDTH * bar.share())
            name = "  " * (len(path) - 1) + bar.name
            drawn = "█" * full + "░" * (WIDTH - full)
            lines.append(f"{name:<24}  {drawn}  {bar.counted()}   {bar.note}".rstrip())
        up = f"\x1b[{self.height}A\x1b[J" if self.height else ""
        sys.stderr.write(up + "".join(line + "\n" for line in lines))
        sys.stderr.flush()
        self.height = len(lines)


class Notebook:
    """An output of a cell that is replaced."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, bars: list[tuple[Path, Bar]], *, last: bool) -> None:
        """Replace the output by these bars."""
        from IPython import display

        rows = "".join(
            f"<tr><td style='text-align:left; padding-left:{len(path)}em'>{escape(bar.name)}</td>"
            f"<td><progress value='{bar.share():.3f}' max='1'></progress></td>"
            f"<td style='text-align:left'>{bar.counted()}</td>"
            f"<td style='text-align:left'>{escape(bar.note)}</td></tr>"
            for path, bar in bars
        )
        page = display.HTML(f"<table class='mlreplica-progress'><tbody>{rows}</tbody></table>")
        if self.handle is None:
            self.handle = display.display(page, display_id=True)
        else:
            self.handle.update(page)


def screen() -> Terminal | Notebook:
    """Return what this process draws on: a kernel has a notebook in front of it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return Notebook() if hasattr(shell, "kernel") else Terminal()
