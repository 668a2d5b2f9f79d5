"""A race: contestants take turns on the same data in one process, and nobody wins by being worse.

A contestant is a function of the data. It imports its library, prepares what a user would have at
hand, and returns the call that is timed:

    def scikit_learn(data):
        from sklearn.linear_model import LinearRegression

        return lambda: LinearRegression().fit(*data)

`quality(data, result)` is the number by which results are compared, smaller is better. A contestant
whose quality is worse than the best one's by more than the tolerance stays in the table, marked,
and is not counted as a peer to be beaten.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]
LONG = 2.0  # seconds of a turn
ENOUGH = 20.0  # seconds; a call that takes longer is made once
BEHIND = 3.0  # times as long as the best


@dataclass(frozen=True, kw_only=True)
class Race:
    """One task on one data set; `name` is also the name of its file in `results/`."""

    name: str
    what: str  # one line for the table: the task and the size of the data
    make_data: Callable[[], Any]  # seeded: every process makes the same data
    contestants: dict[str, Callable[[Any], Call]]  # "distribution" or "distribution, variant"
    quality: Callable[[Any, Any], float]
    quality_name: str
    rtol: float = 1e-6  # how much worse than the best still counts as equal
    atol: float = 1e-9
    ours: str = "mlreplica"
    start: bool = True  # also time the first result of a new process
    readme: bool = False  # show in the README


def threads() -> int:
    """How many threads every contestant may use; pass it on where a library asks for `n_jobs`."""
    return int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))


def run(race: Race, seconds: float = 10.0, start: bool = True) -> dict[str, Any]:
    """Hold the race for about `seconds` and return its results, ready for JSON."""
    data, calls, rows, spent = race.make_data(), {}, {}, {}
    for name, prepare in race.contestants.items():
        try:
            calls[name] = prepare(data)
            # The first call compiles, allocates and gives the result that is judged.
            wall, cpu = time.perf_counter(), time.process_time()
            result = calls[name]()
            spent[name] = time.perf_counter() - wall, time.process_time() - cpu
            rows[name] = {"quality": float(race.quality(data, result))}
        except ImportError as error:
            rows[name] = {"missing": str(error)}
        except Exception as error:  # noqa: BLE001 - a peer that breaks is a result
            rows[name] = {"failed": f"{type(error).__name__}: {error}"}
            calls.pop(name, None)
    if race.ours not in calls:
        raise RuntimeError(f"{race.name}: {race.ours} did not run: {rows[race.ours]}")

    reached = [rows[name]["quality"] for name in calls]
    best = min((q for q in reached if not math.isnan(q)), default=math.nan)
    for name, times in take_turns(calls, seconds, spent).items():
        wall, cpu = zip(*times, strict=True)
        worse = not rows[name]["quality"] <= best + race.atol + race.rtol * abs(best)
        rows[name] |= {
            "best": min(wall),
            "median": statistics.median(wall),
            "cpu": min(cpu),
            "rounds": len(times),
            "worse": worse,
        }
    if race.start and start:
        for name in calls:
            rows[name]["first"] = first_results(race, name)
    return {"contestants": rows, **verdict(rows, race.ours)}


def verdict(rows: dict[str, dict[str, Any]], ours: str) -> dict[str, Any]:
    """The fastest peer of equal quality, and how many times faster than it we are."""
    peers = {
        name: row["best"]
        for name, row in rows.items()
        if "best" in row and not row["worse"] and not name.startswith(ours)
    }
    if not peers:
        return {"best_peer": None, "ratio": None}
    name = min(peers, key=peers.__getitem__)
    return {"best_peer": name, "ratio": peers[name] / rows[ours]["best"]}


def take_turns(
    calls: dict[str, Call], seconds: float, spent: dict[str, tuple[float, float]]
) -> dict[str, list[tuple[float, float]]]:
    """(wall, CPU) seconds of single calls: three turns or more, each round led by another.

    A first call that took long, of which `spent` tells, is as good as a turn; if it took very long
    it is the only one. Who takes long and is far behind the best rests after two turns: more of
    them decide nothing.
    """
    repeats, times = {}, {}
    for name, call in calls.items():
        long = spent[name][0] > min(LONG, ENOUGH)
        repeats[name], times[name] = (1, [spent[name]]) if long else (repeats_for(call), [])
    order = [name for name in calls if spent[name][0] <= ENOUGH]
    end = time.perf_counter() + seconds
    gc.collect()
    gc.freeze()  # what lives now is never walked again, so that a collection costs nothing
    while order:
        best = min((min(t)[0] for t in times.values() if t), default=math.inf)
        for name in order:
            times[name].append(clock(calls[name], repeats[name]))
        order.append(order.pop(0))
        over = time.perf_counter() > end
        order = [
            name
            for name in order
            if (len(t := times[name]) < 2 or min(t)[0] <= max(LONG, BEHIND * best))
            and (len(t) < 3 or not over)
        ]
    gc.unfreeze()
    return times


def repeats_for(call: Call, sample: float = 2e-3) -> int:
    """How many calls make a sample that is long against the clock's resolution."""
    first = clock(call, 1)[0]
    if first < 10 * sample:  # short enough to be chance
        first = min(first, clock(call, 1)[0], clock(call, 1)[0])
    return math.ceil(sample / max(first, 1e-7))


def clock(call: Call, repeats: int) -> tuple[float, float]:
    """Wall and CPU seconds of one call, the mean over `repeats` calls with the collector off."""
    gc.collect()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - wall) / repeats, (time.process_time() - cpu) / repeats
    finally:
        gc.enable()


def first_results(race: Race, contestant: str) -> dict[str, float]:
    """Seconds to the first result in a new process: with no kernel on disk, and the next time."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks", "--first", race.name, contestant]
        env = os.environ | {"NUMBA_CACHE_DIR": folder}
        cold, warm, again = (
            float(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
            for _ in range(3)
        )
        return {"cold": cold, "warm": min(warm, again)}


def first_result(race: Race, contestant: str) -> float:
    """Seconds of import, preparation, compilation and call, once the data are there."""
    data = race.make_data()
    since = time.perf_counter()
    race.contestants[contestant](data)()
    return time.perf_counter() - since
