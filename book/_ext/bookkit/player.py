"""The step-through player: recorded states of a real run, and the panes that draw them.

Nothing is computed in the browser: a frame holds the numbers the library had at that step, a pane
(panes.py) says which of them to draw and how.
"""

import hashlib
import itertools
import json
import os
from html import escape
from pathlib import Path

from bookkit.panes import plain, table

INLINE_LIMIT = 200_000  # characters; a longer recording becomes a file of its own


def as_frame(state):
    """A frame of a dict or a NamedTuple."""
    return plain(state._asdict() if hasattr(state, "_asdict") else state)


class Player:
    """What `player` returns: shows itself in the page."""

    def __init__(self, recording):
        self.recording = recording

    def _repr_html_(self):
        text = json.dumps(self.recording, ensure_ascii=False, separators=(",", ":"))
        name = "p" + hashlib.sha256(text.encode()).hexdigest()[:12]
        label = escape(self.recording["label"], quote=True)
        if len(text) <= INLINE_LIMIT:
            inner = text.replace("<", "\\u003c")
            data = f'<script type="application/json">{inner}</script>'
        else:  # a script, not a fetch: pages opened from file:// may not fetch
            folder = Path(os.environ["MLREPLICA_BOOK_FILES"]) / "players"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.js").write_text(
                f"(window.bookRecordings??={{}})[{name!r}]={text}", encoding="utf-8"
            )
            data = f'<script src="_static/players/{name}.js"></script>'
        return (
            f'<div class="player" id="{name}" role="group" aria-label="{label}">{data}'
            f"<noscript><p>{label}. Playing it needs JavaScript.</p></noscript>"
            "<script>bookPlayer(document.currentScript.parentElement)</script></div>"
        )


def player(
    frames,
    *panes,
    label,
    algorithm=None,
    slider=None,
    choose=None,
    start=None,
    rate=2.0,
    counter=None,
):
    """Play a recorded run.

    Parameters
    ----------
    frames : Trace, list of dict, or dict of them
        The recorded states. A dict {value: frames} holds one run a value of a hyper-parameter, a
        dict {(first, second): frames} one run a point of a grid; `slider` names the one or the
        several. A field `line` says which line of `algorithm` the run is at, or, as a list, which
        lines led to this state: the mark walks over them. A field `note` is shown as text.
    *panes
        What to draw: the functions of panes.py, as `plane` and `curve`.
        A table of all numbers is added when none is given.
    label : str
        What is played, in one phrase: the title of the player, read aloud by screen readers.
    algorithm : str, optional
        The label of the page's `algorithm`.
    slider : str or tuple of str, optional
        Name of the hyper-parameter, or of each, when `frames` is a dict.
    choose : value or tuple of values, optional
        The run shown first: a key of `frames`; by default the first.
    start : int, optional
        The frame shown first; −1 is the last, from which play begins anew. By default a third of
        the run is done: there is something to see.
    rate : float, default=2.0
        Frames a second at speed 1.
    counter : str, optional
        The field by which the run counts itself; by default what the first curve is drawn over, if
        these are whole numbers.
    """
    runs = frames if isinstance(frames, dict) else {(): frames}
    names = slider if isinstance(slider, tuple) else (slider,) if slider else ()
    runs = {
        tuple(map(str, key)) if isinstance(key, tuple) else (str(key),): [
            as_frame(state) for state in getattr(run, "states", run)
        ]
        for key, run in runs.items()
    }
    values = [list(dict.fromkeys(key)) for key in zip(*runs, strict=True)]
    if len(values) != len(names) or list(runs) != list(itertools.product(*values)):
        raise ValueError(
            "a player needs a name for each slider and a run for each of their places."
        )
    if not runs or not all(runs.values()):
        raise ValueError("a player needs at least one frame in each run.")
    panes = [dict(pane) for pane in panes]
    if not any(pane["type"] == "table" for pane in panes):
        first = next(iter(runs.values()))[0]
        numbers = [k for k, v in first.items() if k not in ("line", "note") and _small(v)]
        panes.append(table(*numbers))
    for pane in panes:
        _check(pane, runs)
    first = next((pane["x"] for pane in panes if pane["type"] == "curve"), None)
    if counter is None and first and all(isinstance(f[first], int) for f in every(runs)):
        counter = first
    if algorithm and len({n for f in every(runs) for n in lines_of(f)}) < 2:
        raise ValueError(
            "the mark in the pseudocode never moves: give each frame a field `line`, the number of "
            "the line that the run is at, or a list of the lines that led to this state."
        )
    chosen = tuple(map(str, choose)) if isinstance(choose, tuple) else (str(choose),)
    if choose is not None and chosen not in runs:
        raise ValueError(f"no run is named {choose!r}; there are: {', '.join(map(str, runs))}.")
    place = list(runs).index(chosen) if choose is not None else 0
    return Player(
        {
            "label": label,
            "runs": list(runs.values()),
            "sliders": [
                {"name": name, "values": of} for name, of in zip(names, values, strict=True)
            ],
            "panes": plain(panes),
            "algorithm": algorithm,
            "counter": counter,
            "chosen": place,
            "start": len(list(runs.values())[place]) // 3 if start is None else start,
            "rate": rate,
        }
    )


def _small(value):
    """Whether a value fits a table's cell: a number, a string, or at most six numbers."""
    return not isinstance(value, list) or (
        len(value) <= 6 and not any(isinstance(v, list) for v in value)
    )


def every(runs):
    """All frames of all runs."""
    return itertools.chain.from_iterable(runs.values())


def lines_of(frame):
    """The lines of pseudocode that led to a frame."""
    line = frame.get("line")
    return line if isinstance(line, list) else [] if line is None else [line]


def _check(pane, runs):
    """Every field a pane draws must be in the first frame of every run; a curve needs its x."""
    fields = set.intersection(*(set(run[0]) for run in runs.values()))
    for name in pane.pop("needs"):
        if name not in fields:
            have = ", ".join(sorted(fields))
            raise ValueError(f"{pane['type']} draws {name!r}, but the frames have: {have}.")
    if pane["type"] == "curve" and not pane["x"]:
        label = pane["labels"][0]
        pane["x"] = next((name for name in (label, "step") if name in fields), None)
        if pane["x"] is None and label != "frame":
            raise ValueError(
                f"a curve over {label!r} needs a field of that name, or `x=`, the name of a field; "
                f"the frames have: {', '.join(sorted(fields))}."
            )
