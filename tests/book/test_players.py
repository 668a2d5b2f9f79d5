"""Every player, by mouse, keyboard and thumb, to its last frame, as it was recorded."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

SITE = Path(__file__).parents[2] / "book" / "_build" / "html"
PAGES = sorted(
    {"index.html"}
    | {path.name for path in SITE.glob("*.html") if 'class="player"' in path.read_text("utf-8")}
)
RECORDING = """(root) => {
  const inline = root.querySelector("script[type='application/json']");
  return inline ? JSON.parse(inline.textContent) : window.bookRecordings[root.id];
}"""
CLICKS = "(button, times) => { for (let k = 0; k < times; k++) button.click(); }"
CELLS = """(root) => [
  [...root.querySelectorAll(".numbers [data-field]")].map((n) => [n.dataset.field, n.innerText]),
  [...root.querySelectorAll(".algorithm-line.current")].map((n) => [...n.classList]),
]"""
SOUGHT = f"""(root, frames) => frames.map((frame) => {{
  const scrub = root.querySelector("input.scrub");
  scrub.value = frame;
  scrub.dispatchEvent(new Event("input"));
  return ({CELLS})(root);
}})"""

pytestmark = pytest.mark.book


def numbers(value):
    """The numbers in a value of a recording, in order."""
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def shown(text):
    """The numbers in a cell of the player."""
    return [float(part) for part in re.findall(r"-?\d[\d.]*(?:e[+-]?\d+)?", text.replace("−", "-"))]


def check_cells(cells, lines, frame):
    """Each cell of the table says what the frame says, to four digits."""
    assert cells
    for field, text in cells:
        value = frame.get(field)
        if not isinstance(value, str):
            assert shown(text) == pytest.approx(numbers(value), rel=5.1e-4, abs=0)
    ran = frame.get("line") or []
    for classes in lines:
        assert any(f"line-{line}" in classes for line in (ran if isinstance(ran, list) else [ran]))


def check_frame(player, frame):
    check_cells(*player.evaluate(CELLS), frame)


def play(player, run):
    """To the end by mouse, by keyboard and by the slider."""
    player.press("Home")
    check_frame(player, run[0])
    if len(run) > 1:
        player.locator("button.next").click()
    player.locator("button.next").evaluate(CLICKS, len(run) - 2)
    assert player.get_attribute("data-frame") == str(len(run) - 1)
    check_frame(player, run[-1])
    player.press("ArrowRight")
    check_frame(player, run[-1])
    player.press("ArrowLeft")
    check_frame(player, run[max(len(run) - 2, 0)])
    player.press("Home")
    player.press("ArrowRight")
    check_frame(player, run[min(1, len(run) - 1)])
    player.press("End")
    check_frame(player, run[-1])
    player.locator("input.scrub").fill(str(len(run) // 2))
    check_frame(player, run[len(run) // 2])


@pytest.mark.parametrize("name", PAGES)
def test_plays_to_the_recorded_end(visit, name):
    opened = visit(name, touch=True)
    played = []
    for player in opened.page.locator(".player").all():
        recording = player.evaluate(RECORDING)
        places = itertools.product(*(range(len(s["values"])) for s in recording["sliders"]))
        for at, run in zip(places, recording["runs"], strict=True):
            for slider, place in enumerate(at):
                player.locator(".choose input").nth(slider).fill(str(place))
            some = sorted({0, min(1, len(run) - 1), len(run) // 2, len(run) - 1})
            for k, cells in zip(some, player.evaluate(SOUGHT, some), strict=True):
                check_cells(*cells, run[k])
        play(player, run)
        played.append((player, run))
    assert played
    opened.page.set_viewport_size({"width": 390, "height": 900})
    for player, run in played:  # under a thumb
        player.locator("input.scrub").fill("0")
        player.locator("button.next").tap()
        check_frame(player, run[min(1, len(run) - 1)])
    assert opened.faults == []


WALK = """(root) => {
  const seen = [], scrub = root.querySelector("input.scrub");
  for (let k = 0; k <= +scrub.max; k++) {
    scrub.value = k;
    scrub.dispatchEvent(new Event("input"));
    const ran = root.querySelectorAll(".algorithm-line.ran").length;
    const at = [...root.querySelectorAll(".algorithm-line.current")].map((n) => n.className);
    const quote = [...root.querySelectorAll(".quote .citing")].map((n) => [n.innerText,
      n.querySelector(".sd") !== null]);
    seen.push({ ran, at: at.map((c) => +c.match(/line-(\\d+)/)[1]), quote });
  }
  return seen;
}"""
CURVES = """(root) => [...root.querySelectorAll(".pane.curve")].map((pane) => {
  const bottom = Math.max(...[...pane.querySelectorAll(".tick")].map((n) => +n.getAttribute("y")));
  const ticks = [...pane.querySelectorAll(".tick")].filter((n) => +n.getAttribute("y") === bottom)
    .map((n) => [+n.getAttribute("x"), n.textContent]);
  return [ticks, +pane.querySelector(".cursor").getAttribute("x1")];
})"""
MARKED = [name for name in PAGES if (SITE / name).exists()
          and '"algorithm":"alg-' in (SITE / name).read_text("utf-8")]  # fmt: skip


@pytest.mark.parametrize("name", MARKED)
def test_the_mark_follows_the_run(visit, name):
    """It moves, it is where the state says, and what is quoted beside it is code that runs."""
    page, quoted = visit(name).page, 0
    for player in page.locator(".player:has(.algorithm)").all():
        recording = player.evaluate(RECORDING)
        frames = recording["runs"][recording["chosen"]]
        seen = player.evaluate(WALK)
        lines = [f.get("line") or [] for f in frames]
        lines = [line if isinstance(line, list) else [line] for line in lines]
        for found, ran in zip(seen, lines, strict=True):
            assert found["at"] == ran[-1:]
            assert found["ran"] == len(set(ran))
            assert not any(docstring for _, docstring in found["quote"])
            quoted += len(found["quote"])
        assert len({line for ran in lines for line in ran}) > 1
    sources = page.locator("[data-runs]").count()
    assert quoted or not sources


def test_the_reader_steps_line_by_line(visit):
    player = visit("adaboost.html").page.locator(".player").first
    run = player.evaluate(RECORDING)["runs"][0]
    player.press("Home")
    player.press("End")
    last = run[-1]["line"]
    player.locator("input.scrub").fill(str(len(run) - 2))
    walked = []
    for _ in last:
        player.locator("button.line").click()
        walked.append(int(player.get_attribute("data-line")))
    assert walked == last
    assert player.get_attribute("data-frame") == str(len(run) - 1)


@pytest.mark.parametrize("name", PAGES)
def test_counters_count_as_the_library_does(visit, name):
    """The cursor of a curve stands at the number that the frame has, and so does the player."""
    for player in visit(name).page.locator(".player").all():
        recording = player.evaluate(RECORDING)
        run = recording["runs"][recording["chosen"]]
        fields = [pane["x"] for pane in recording["panes"] if pane["type"] == "curve"]
        for k in sorted({0, len(run) // 2, len(run) - 1}):
            player.locator("input.scrub").fill(str(k))
            for field, (ticks, cursor) in zip(fields, player.evaluate(CURVES), strict=True):
                at, says = zip(*((x, shown(text)[0]) for x, text in ticks), strict=True)
                value = k if field is None else run[k][field]
                unit = (says[-1] - says[0]) / (at[-1] - at[0])
                found = says[0] + (cursor - at[0]) * unit
                assert found == pytest.approx(value, abs=0.02 * abs(says[-1] - says[0]) + 1e-9)
            if counter := recording["counter"]:
                where = player.locator(".where").inner_text()
                assert where == f"{counter} {run[k][counter]} of {run[-1][counter]}"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_and_pause(visit, motion):
    opened = visit("index.html", motion=motion)
    player = opened.page.locator(".player").first
    player.press("Home")
    player.press(" ")
    assert player.locator("button.play").get_attribute("aria-label") == "Pause"
    opened.page.wait_for_selector(".player[data-frame='2']")
    player.press(" ")
    assert player.locator("button.play").get_attribute("aria-label") == "Play"
    assert re.match(r"update \d+ of \d+", player.locator("[role=status]").inner_text())


def test_saves_the_numbers(visit):
    player = visit("index.html").page.locator(".player").first
    run = player.evaluate(RECORDING)["runs"][0]
    with player.page.expect_download() as download:
        player.locator("button.save").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(run)
    assert set(re.findall(r'"(\w+)', lines[0])) == set().union(*run)


def test_dragging_the_curve_seeks(visit):
    player = visit("index.html").page.locator(".player").first
    box = player.locator(".pane.curve svg").bounding_box()
    player.page.mouse.click(box["x"] + box["width"] * 0.97, box["y"] + box["height"] / 2)
    assert int(player.get_attribute("data-frame")) > 0


def test_a_pair_step_in_its_box(visit):
    """The dot is where the two multipliers are, the rings where their points are."""
    player = visit("smo.html").page.locator(".player").first
    recording = player.evaluate(RECORDING)
    run = recording["runs"][0]
    sides, box = (next(p for p in recording["panes"] if p["type"] == t) for t in ("margins", "box"))
    corners = player.locator(".pane.box polygon.outline").get_attribute("points").split()
    (x0, y0), (x1, y1) = ([float(v) for v in corners[k].split(",")] for k in (0, 2))
    for key, frame in (("Home", run[0]), ("ArrowRight", run[1]), ("End", run[-1])):
        player.press(key)
        dot = player.locator(".pane.box circle.here")
        across = (float(dot.get_attribute("cx")) - x0) / (x1 - x0) * box["bound"]
        up = (float(dot.get_attribute("cy")) - y0) / (y1 - y0) * box["bound"]
        assert [across, up] == pytest.approx(frame["after"], abs=1e-3 * box["bound"])
        rings = player.locator(".pane.margins circle.ring")
        assert rings.count() == 2
        marks = player.locator(".pane.margins .mark").all()
        assert len(marks) == len(sides["X"])
        held = player.locator(".pane.margins circle.held").count()
        assert held == sum(kind > 0 for kind in frame["support"])
        drawn = player.locator(".pane.margins .levels.border polyline").count()
        assert drawn == len(frame["curves"][1])


def test_a_sequence_is_shaded_where_it_was_read(visit):
    """Cells are as opaque as the recorded numbers, and the ring is around the place looked at."""
    player = visit("perceptron.html").page.locator(".player").first
    run = player.evaluate(RECORDING)["runs"][0]
    cells = player.locator(".pane.sequence .cell").all()
    for key, frame in (("Home", run[0]), ("ArrowRight", run[1]), ("End", run[-1])):
        player.press(key)
        shades = [float(cell.get_attribute("fill-opacity")) for cell in cells]
        assert shades == frame["mistaken"]
        ring = player.locator(".pane.sequence .ring")
        for side in "xy":  # a cell stands one pixel within its ring
            cell = float(cells[frame["row"]].get_attribute(side))
            assert float(ring.get_attribute(side)) == pytest.approx(cell - 1)


def test_a_chain_is_drawn_as_far_as_it_went(visit):
    player = visit("stochastic-gradient-descent.html").page.locator(".player:has(.chain)")
    run = player.evaluate(RECORDING)["runs"][0]
    for key, frames in (("Home", run[:1]), ("ArrowRight", run[:2]), ("End", run)):
        player.press(key)
        for k, field in enumerate(("left", "right")):
            points = player.locator(".pane.chain .steps").nth(k).get_attribute("points").split()
            walked = [value for frame in frames for value in frame[field]]
            drawn = [float(point.split(",")[1]) for point in points]
            assert np.corrcoef(drawn, walked)[0, 1] == pytest.approx(-1, abs=1e-4)  # pixels fall
