"""A contestant's own process: `python -m benchmarks.worker HOME CONTESTANT`

It reads commands, one JSON object a line, and sleeps between them. {"race": name, "data": path}
loads the rows, prepares, rehearses and answers with the time of a call and its result's quality;
{"repeat": k} makes k calls and answers with the mean (wall, CPU) seconds; {} forgets the rows. What
libraries print goes to stderr.
"""

import gc
import json
import os
import sys
import time
from pathlib import Path

from benchmarks.data import load
from benchmarks.race import races_of

SHORT = 0.1  # seconds


def clock(call, repeats=1):
    """Mean (wall, CPU) seconds of calls, with the collector off, and the last result."""
    gc.collect()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            result = call()
        seconds = time.perf_counter() - wall, time.process_time() - cpu
        return [s / repeats for s in seconds], result
    finally:
        gc.enable()


def begin(race, contestant, data, quick=False):
    """The call, and how it went: `start` is the first with imports and preparation, `once` later.

    The first call may compile, so a second one says how long it takes; of short calls the fourth.
    """
    data = load(Path(data))
    since = time.perf_counter()
    call = race.contestants[contestant](data)
    once, result = clock(call)
    start = time.perf_counter() - since
    quality = float(race.quality(data, result))
    del result
    if not quick:
        once = clock(call)[0]
        if once[0] < SHORT:
            once = min(clock(call)[0] for _ in range(2))
    return call, {"start": start, "once": once, "quality": quality}


def main():
    """Answer until the referee closes the pipe."""
    home, contestant = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    races, call = races_of(home), None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if "repeat" in command:
                answer = {"times": clock(call, command["repeat"])[0]}
            else:
                call, answer = None, {}
            if "race" in command:
                race = races[command.pop("race")]
                call, answer = begin(race, contestant, **command)
        except ImportError as error:
            answer = {"missing": str(error)}
        except Exception as error:  # noqa: BLE001 - a peer that breaks is a result
            answer = {"failed": f"{type(error).__name__}: {error}"[:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
