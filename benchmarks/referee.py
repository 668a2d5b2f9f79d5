"""The referee: contestants in processes of their own, called in turns while the others sleep

Nothing is set in a contestant's environment: the number of threads is the number of cores that the
process may use (`sched_setaffinity`), which OpenMP, BLAS, TBB and Numba all respect, and variables
that tune them are removed. A library that uses one thread unless told is told `n_jobs=threads()`.

Before a shape, the referee waits for a calm machine; a round of turns during which other programs
used more than a tenth of a core is held again while there is time. What they used during the rounds
that count is kept as `busy`, in cores. The next contestant is called only when no thread of the
last one runs any more: those of OpenMP and BLAS spin for a while after a call.
"""

from __future__ import annotations

import json
import math
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.data import save
from benchmarks.race import Race

LONG = 2.0  # seconds; such a call is a turn, even if it was the rehearsal
ENOUGH = 20.0  # seconds; a call that takes longer is made once
LIMIT = 300.0  # seconds; who needs longer, even to compile, is stopped
BEHIND = 3.0  # times as long as the best: rests after two turns if a turn takes LONG
SAMPLE = 0.01  # seconds of a turn at least: short calls are repeated
CALM = 0.1  # cores used by others
PATIENCE = 10.0  # seconds to wait for that
TUNING = ("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "NUMEXPR_", "NUMBA_NUM_")
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Worker:
    """One contestant's process."""

    def __init__(self, home: str, contestant: str, **env: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(TUNING)}
        command = [sys.executable, "-m", "benchmarks.worker", home, contestant]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=kept | env,
            cwd=Path(__file__).parents[1],
        )

    def ask(self, limit: float = LIMIT, **command: Any) -> dict[str, Any]:
        """Send a command and wait for the answer: one that does not come is a failure."""
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"failed": self.last_words()}
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.process.kill()
            return {"failed": f"took more than {limit:g} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"failed": self.last_words()}

    def last_words(self) -> str:
        """The last line that a process which has ended wrote."""
        code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"ended with {code}: {lines[-1][:300] if lines else ''}"

    def cpu(self) -> float:
        """Processor seconds of the process and of its children."""
        stat = read(f"/proc/{self.process.pid}/stat").rpartition(")")[2].split()
        return sum(map(int, stat[11:15])) / TICK if stat else 0.0

    def settle(self, limit: float = 0.5) -> None:
        """Wait until no thread of the process runs."""
        end = time.perf_counter() + limit
        tasks = Path(f"/proc/{self.process.pid}/task")
        while time.perf_counter() < end and any(
            read(task / "stat").rpartition(")")[2].startswith(" R") for task in tasks.glob("*")
        ):
            time.sleep(1e-3)

    def close(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            if pipe and not pipe.closed:
                pipe.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def read(path: str | Path) -> str:
    """A file of /proc; nothing where there is none."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


class Watch:
    """How many cores programs other than ours have used since it was made."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.since, self.used = time.perf_counter(), self.others()

    def others(self) -> float:
        """Processor seconds of other programs, and those that other machines stole."""
        line = read("/proc/stat").partition("\n")[0].split()[1:9]
        total = sum(int(v) for k, v in enumerate(line) if k not in (3, 4)) / TICK  # idle, iowait
        return total - sum(os.times()[:4]) - sum(w.cpu() for w in self.team.workers.values())

    def busy(self) -> float:
        """Cores; ticks of a hundredth of a second are too coarse for less than three of them."""
        used = self.others() - self.used
        return used / (time.perf_counter() - self.since) if used > 3 / TICK else 0.0


def wait_for_calm(team: Team, patience: float) -> None:
    """Return when the others are calm for half a second, or patience ends."""
    end = time.perf_counter() + patience
    while time.perf_counter() < end:
        watch = Watch(team)
        time.sleep(0.5)
        if watch.busy() <= CALM:
            return


class Team:
    """The contestants' processes, which live as long as races are of one module.

    With `against`, the only peer is our own code in that folder, named "before".
    """

    def __init__(self, against: str | None = None) -> None:
        self.against, self.home = against, ""
        self.workers: dict[str, Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.close()
        self.workers.clear()

    def start(self, home: str, name: str, ours: str, **env: str) -> Worker:
        """A new process."""
        if name == "before" and self.against:
            env["PYTHONPATH"] = os.pathsep.join([self.against, os.environ.get("PYTHONPATH", "")])
            name = ours
        return Worker(home, name, **env)

    def of(self, race: Race) -> list[str]:
        """Who takes part; all have a process afterwards."""
        if race.home != self.home:
            self.__exit__()
            self.home = race.home
        names = [race.ours, "before"] if self.against else [*race.contestants]
        for name in names:
            if name in self.workers and self.workers[name].process.poll() is not None:
                self.workers.pop(name).close()
            if name not in self.workers:
                self.workers[name] = self.start(race.home, name, race.ours)
        return names


def hold(
    race: Race, team: Team, seconds: float = 10.0, quick: bool = False, start: bool = True
) -> dict[str, Any]:
    """Hold a race for about `seconds` a shape; the result, ready for JSON, is its worst case."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for k, (shape, make) in enumerate(race.shapes.items()):
            save(make(), Path(folder) / str(k))
            found[shape] = one_shape(race, team, Path(folder) / str(k), race.share * seconds, quick)
        worst = min(found, key=lambda shape: found[shape]["ratio"] or math.inf)
        if start and race.start and not quick and not team.against:
            file = Path(folder) / str([*found].index(worst))
            for name, row in found[worst]["contestants"].items():
                if "best" in row:
                    row["first"] = first_results(race, team, name, file)
    what = {"what": f"{race.what}, {worst}" if worst else race.what, "shape": worst}
    return what | found[worst] | {"shapes": found}


def one_shape(race: Race, team: Team, file: Path, seconds: float, quick: bool) -> dict[str, Any]:
    """All contestants on one shape."""
    rows: dict[str, dict[str, Any]] = {}
    names = team.of(race)
    wait_for_calm(team, 0.0 if quick else min(PATIENCE, seconds))
    for name in names:
        rows[name] = team.workers[name].ask(race=race.name, data=str(file), quick=quick)
        team.workers[name].settle()
    able = {name: rows[name].pop("once") for name in rows if "once" in rows[name]}
    if race.ours not in able:
        raise RuntimeError(f"{race.name}: {race.ours} did not run: {rows[race.ours]}")
    times, busy = take_turns(team, able, 0.0 if quick else seconds)
    for name in able:
        team.workers[name].ask()  # to forget the rows
    best = np.nanmin([rows[name]["quality"] for name in able])
    for name in able:
        if "failed" in times[name][-1]:
            rows[name] = times[name][-1]
            continue
        wall, cpu = np.transpose([turn["times"] for turn in times[name]]).tolist()
        rows[name] |= {
            "best": min(wall),
            "median": float(np.median(wall)),
            "cpu": min(cpu),
            "rounds": len(wall),
            "worse": not rows[name]["quality"] <= best + race.atol + race.rtol * abs(best),
        }
    walls = {n: [t["times"][0] for t in times[n]] for n in able if "best" in rows[n]}
    return {"contestants": rows, **verdict(rows, walls, race.ours), "busy": round(busy, 2)}


def take_turns(
    team: Team, once: dict[str, list[float]], seconds: float
) -> tuple[dict[str, list[dict[str, Any]]], float]:
    """What the workers answered, three rounds or more, each led by another; and how busy it was.

    A rehearsal that took LONG is as good as a turn; one that took longer than ENOUGH is the only
    one. Who takes LONG and is far behind the best rests after two turns: more decide nothing.
    Rounds that others disturbed count only if fewer than three were calm, in twice the time.
    """
    repeats = {name: math.ceil(SAMPLE / max(t[0], 1e-7)) for name, t in once.items()}
    order = [name for name in once if once[name][0] <= ENOUGH and seconds]
    fastest, end = min(t[0] for t in once.values()), time.perf_counter() + seconds
    rounds: list[tuple[float, dict[str, Any]]] = []
    over = False
    while order and not over:
        watch, turns = Watch(team), {}
        for name in order:
            turns[name] = team.workers[name].ask(repeat=repeats[name])
            team.workers[name].settle()
        rounds.append((watch.busy(), turns))
        able = {name: t["times"][0] for name, t in turns.items() if "times" in t}
        fastest = min([fastest, *able.values()])
        rest = max(LONG, BEHIND * fastest) if len(rounds) > 1 else math.inf
        order = [name for name in (*order[1:], order[0]) if able.get(name, math.inf) <= rest]
        calm = sum(busy <= CALM for busy, _ in rounds) >= 3
        late = time.perf_counter() - end
        over = (len(rounds) >= 3 and late > (0 if calm else seconds)) or late > seconds + LIMIT
    counted = [r for r in rounds if r[0] <= CALM]
    counted = counted if len(counted) >= 3 else rounds
    times = {}
    for name, first in once.items():
        played = [turns[name] for _, turns in counted if name in turns]
        played = played or [turns[name] for _, turns in rounds if name in turns]
        rehearsal = [{"times": first}] if first[0] > LONG or not played else []
        times[name] = rehearsal + played
    return times, float(np.mean([busy for busy, _ in counted])) if counted else 0.0


def verdict(
    rows: dict[str, dict[str, Any]], walls: dict[str, list[float]], ours: str
) -> dict[str, Any]:
    """The fastest peer of equal quality, how many times faster we are, and how sure that is.

    The ratio is that of the medians; its interval holds 95 % of what rounds drawn anew give.
    """
    peers = {
        name: row["median"]
        for name, row in rows.items()
        if "median" in row and not row["worse"] and not name.startswith(ours)
    }
    if not peers:
        return {"best_peer": None, "ratio": None, "interval": None}
    name = min(peers, key=peers.__getitem__)
    m = min(len(walls[name]), len(walls[ours]))  # the last rounds, which both ran
    pairs = np.array([walls[name][-m:], walls[ours][-m:]])
    drawn = np.random.default_rng(0).integers(m, size=(1000, m))
    theirs, mine = np.median(pairs[:, drawn], axis=-1)
    interval = np.quantile(theirs / mine, [0.025, 0.975]).tolist()
    return {"best_peer": name, "ratio": peers[name] / rows[ours]["median"], "interval": interval}


def first_results(race: Race, team: Team, name: str, file: Path) -> dict[str, float]:
    """Seconds to the first result in a new process: with no kernel on disk, and the next time."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            worker = team.start(race.home, name, race.ours, NUMBA_CACHE_DIR=folder)
            answer = worker.ask(race=race.name, data=str(file), quick=True)
            seconds.append(answer.get("start", math.nan))
            worker.close()
    return {"cold": seconds[0], "warm": min(seconds[1:])}
