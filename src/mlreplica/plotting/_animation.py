"""Animation: the states of a fit as a film, in one file

Frames are drawn once, as PNG. A film in HTML holds them all, with buttons, a slider and a few lines
of script, and asks the network for nothing; a film in GIF is put together by Pillow.
"""

import base64
import io
import json
import zlib
from html import escape
from pathlib import Path

import numpy as np

from ._style import PALETTE, dots, line, pyplot, style

WEIGHTS = ("w", "W", "coef", "beta", "sample_weight")  # fields that are drawn as bars
BARS = 80  # entries of an array that still can be seen as bars
CURVES = ("objective", "gap", "loss", "train_loss", "validation_loss", "error", "mistakes")
SIZE = (7.6, 3.3)
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ margin: 1rem auto; max-width: 60rem; padding: 0 .5rem; font: 1rem/1.4 system-ui, sans-serif;
  color: #26292f; background: #fdfdfb }}
</style>
{film}
</html>
"""
FILM = """<figure id="{id}" style="margin:0">
<img alt="{alt}" style="width:100%;height:auto;background:#fdfdfb" src="{first}">
<figcaption style="display:flex;gap:.6rem;align-items:center;flex-wrap:wrap">
<button type="button" aria-label="One step back">◀</button>
<button type="button" aria-label="Play">Play</button>
<button type="button" aria-label="One step forward">▶</button>
<input type="range" min="0" max="{last}" value="0" aria-label="Step" style="flex:1;min-width:8rem">
<output style="font-variant-numeric:tabular-nums">{label}</output>
</figcaption>
<script>
(() => {{
  const root = document.getElementById("{id}"), picture = root.querySelector("img");
  const [back, play, next] = root.querySelectorAll("button");
  const slider = root.querySelector("input"), out = root.querySelector("output");
  const frames = {frames}, labels = {labels};
  let timer = null;
  const show = k => {{
    k = Math.max(0, Math.min(frames.length - 1, k));
    slider.value = k; picture.src = "data:image/png;base64," + frames[k]; out.value = labels[k];
  }};
  const stop = () => {{ clearInterval(timer); timer = null; play.textContent = "Play"; }};
  const start = () => {{
    if (+slider.value === frames.length - 1) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => {{
      show(+slider.value + 1);
      if (+slider.value === frames.length - 1) stop();
    }}, {pause});
  }};
  play.onclick = () => timer ? stop() : start();
  back.onclick = () => {{ stop(); show(+slider.value - 1); }};
  next.onclick = () => {{ stop(); show(+slider.value + 1); }};
  slider.oninput = () => {{ stop(); show(+slider.value); }};
}})();
</script>
</figure>"""


class Animation:
    """A film of pictures with a label each; a notebook shows it by itself.

    Parameters
    ----------
    frames : list of bytes
        Pictures in PNG.
    labels : list of str
        What is written below each.
    fps : float, default=8
        Pictures a second.
    title : str, default="Animation"
        What is to be seen, also for those who cannot.

    Examples
    --------
    >>> from mlreplica.callbacks import Trace
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.linear_model import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> trace = Trace()
    >>> model = Perceptron().set_callbacks(trace).fit(X[:, 2:], y == 2)
    >>> film = trace.animate(X=X[:, 2:], y=y == 2, frames=3)
    >>> len(film.frames), film.to_html().startswith("<!doctype html>")
    (3, True)
    """

    def __init__(self, frames, labels, fps=8, title="Animation"):
        self.frames, self.labels, self.fps, self.title = frames, labels, fps, title

    def save(self, path):
        """Write the film.

        Parameters
        ----------
        path : str or Path
            With the ending `.html` or `.gif`.

        Returns
        -------
        Path
        """
        path = Path(path)
        if path.suffix == ".html":
            path.write_text(self.to_html(), encoding="utf-8")
        elif path.suffix == ".gif":
            path.write_bytes(self.to_gif())
        else:
            raise ValueError(f"a film is saved as .html or .gif, not as {path.suffix!r}.")
        return path

    def to_html(self):
        """The film as a page that needs nothing else.

        Returns
        -------
        str
        """
        return PAGE.format(title=escape(self.title), film=self._repr_html_())

    def to_gif(self):
        """The film as a GIF that starts again at its end, after a rest.

        Returns
        -------
        bytes
        """
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("a GIF needs Pillow: pip install 'mlreplica[plot]'.") from error
        pictures = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in self.frames]
        pictures = [p.quantize(64, dither=Image.Dither.NONE) for p in pictures]
        pause = round(1000 / self.fps)
        pauses = [pause] * (len(pictures) - 1) + [max(pause, 1500)]
        file = io.BytesIO()
        pictures[0].save(
            file, "GIF", save_all=True, append_images=pictures[1:], duration=pauses, loop=0
        )
        return file.getvalue()

    def _repr_html_(self):
        frames = [base64.b64encode(frame).decode() for frame in self.frames]
        return FILM.format(
            id=f"film-{zlib.crc32(b''.join(self.frames)):x}",
            alt=escape(self.title, quote=True),
            first=f"data:image/png;base64,{frames[0]}",
            label=escape(self.labels[0]),
            last=len(frames) - 1,
            frames=json.dumps(frames),
            labels=json.dumps(self.labels).replace("<", "\\u003c"),
            pause=round(1000 / self.fps),
        )


def animate(trace, draw=None, *, X=None, y=None, frames=100, fps=8, title=None):
    """The film of a trace; see `Trace.animate`."""
    plt = pyplot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    states = trace.states
    if not states:
        raise ValueError("the trace is empty: this solver has no steps, or nothing was fitted.")
    even = np.linspace(0, len(states) - 1, min(frames, len(states)))
    chosen = np.unique(even.round().astype(int))
    drawing = draw or Drawing(states, X, y)
    pictures = []
    with plt.rc_context(style()):
        for k in chosen:
            figure = Figure(figsize=SIZE, dpi=110, layout="constrained", facecolor=PALETTE["paper"])
            FigureCanvasAgg(figure)
            drawing(figure, states[k])
            file = io.BytesIO()
            figure.savefig(file, format="png", facecolor=PALETTE["paper"])
            pictures.append(file.getvalue())
    last = states[-1]["step"]
    labels = [f"step {states[k]['step']} of {last}" for k in chosen]
    return Animation(pictures, labels, fps, title or f"A fit of {last} steps")


class Drawing:
    """What a state looks like: the plane of two columns or the weights, beside the curves so far.

    Axes keep their limits over all states, so that only what changes moves.
    """

    def __init__(self, states, X=None, y=None):
        self.steps = np.array([state["step"] for state in states])
        named = [name for name in CURVES if name in states[0]]
        curves = {name: np.array([float(s[name]) for s in states]) for name in named}
        self.curves = {n: v for n, v in curves.items() if np.isfinite(v).any()}
        values = np.concatenate(list(self.curves.values())) if self.curves else np.zeros(1)
        self.log = bool(self.curves) and bool((values[np.isfinite(values)] > 0).all())
        self.weights = next((name for name in WEIGHTS if self._are_bars(states, name)), None)
        if self.weights:
            arrays = [np.ravel(state[self.weights]) for state in states]
            self.low, self.high = min(0.0, np.min(arrays)), max(0.0, np.max(arrays))
        self.X = None if X is None else np.asarray(X, dtype=float)
        self.y = None if y is None else np.unique(np.asarray(y), return_inverse=True)[1]
        w = states[0].get("w", states[0].get("W"))
        plane = self.X is not None and self.X.ndim == 2 and self.X.shape[1] == 2
        self.plane = plane and w is not None and np.size(w) == 2 and "b" in states[0]

    @staticmethod
    def _are_bars(states, name):
        """Whether a field is an array of numbers, of one size, that is not too long."""
        sizes = {np.size(state.get(name, ())) for state in states}
        return len(sizes) == 1 and 1 < max(sizes) <= BARS

    def __call__(self, figure, state):
        left = self.plane or self.weights is not None
        panes = figure.subplots(1, 1 + bool(left and self.curves))
        panes = np.ravel(panes)
        if left:
            (self._draw_plane if self.plane else self._draw_weights)(panes[0], state)
        if self.curves:
            self._draw_curves(panes[-1], state)
        elif not left:
            panes[0].text(0.5, 0.5, self._words(state), ha="center", va="center")
            panes[0].axis("off")

    def _words(self, state):
        """The numbers of a state, as text."""
        numbers = {k: v for k, v in state.items() if np.ndim(v) == 0}
        return "\n".join(f"{k} = {v:.4g}" for k, v in numbers.items())

    def _draw_plane(self, ax, state):
        """The rows, and the line wᵀx + b = 0."""
        classes = np.zeros(len(self.X), dtype=int) if self.y is None else self.y
        for c in np.unique(classes):
            ax.scatter(*self.X[classes == c].T, **dots(c))
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        room = 0.08 * (high - low)
        box = np.stack([low - room, high + room])
        ax.set(xlim=box[:, 0], ylim=box[:, 1])
        w, b = np.ravel(state.get("w", state.get("W"))), float(np.ravel(state["b"])[0])
        if w.any():
            across, up = np.array(ax.get_xlim()), np.array(ax.get_ylim())
            ends = (
                (across, -(w[0] * across + b) / w[1])
                if abs(w[1]) > abs(w[0])
                else (-(w[1] * up + b) / w[0], up)
            )
            ax.plot(*ends, color=PALETTE["ink"])
        ax.set(xlabel="$x_1$", ylabel="$x_2$", title="wᵀx + b = 0")
        ax.grid(visible=False)

    def _draw_weights(self, ax, state):
        """An array of the state as bars."""
        values = np.ravel(state[self.weights])
        ax.bar(np.arange(1, len(values) + 1), values, color=PALETTE["blue"], width=0.85)
        ax.axhline(0.0, color=PALETTE["ink"], lw=0.8)
        room = 0.05 * (self.high - self.low) or 1.0
        ax.set(ylim=(self.low - room, self.high + room), title=self.weights, xlabel="entry")
        ax.grid(axis="x", visible=False)

    def _draw_curves(self, ax, state):
        """The numbers up to this state."""
        seen = self.steps <= state["step"]
        for k, (name, values) in enumerate(self.curves.items()):
            ax.plot(self.steps, values, lw=0.8, alpha=0.35, **line(k))
            ax.plot(self.steps[seen], values[seen], label=name, **line(k))
            ax.plot(state["step"], values[seen][-1], "o", color=line(k)["color"], clip_on=False)
        if self.log:
            ax.set_yscale("log")
        ax.set(xlabel="step", title="So far", xlim=(self.steps[0], max(self.steps[-1], 2)))
        ax.legend(loc="best", fontsize=9)
