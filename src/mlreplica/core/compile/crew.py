"""Crew: several threads inside one kernel

A kernel with thousands of small jobs, each some microseconds long, cannot return to Python for
threads: waking the pool takes longer than a job. Instead one thread, the leader, runs the whole
algorithm; the others, its crew, run a loop that polls a few shared words for work:

    word REMAINING   pieces of the current job that nobody has taken; taking one subtracts 1
    word DONE        pieces that are finished
    word STOP        the crew may return
    word FAILED      a member of the crew raised an exception

The leader writes down the job, sets DONE to 0 and REMAINING to the number of pieces, takes pieces
itself until none is left and waits for DONE. It never waits for a thread that has not taken a
piece: if the crew comes late, or never, the leader has done everything.

The words are eight apart, so that each has a cache line of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import numpy as np

from . import threads as parallel
from .intrinsics import add_to_word, exchange_word, load_word, yield_processor
from .jit import PURE_PYTHON, kernel

REMAINING, DONE, STOP, FAILED, JOB = 0, 8, 16, 24, 32  # from JOB on: what the leader writes down
SIZE = 72
PATIENCE = 4000  # polls of a word before the processor goes to others


def new_crew(size: int = SIZE) -> Any:
    """The shared words of a new crew; those from `SIZE` on are the caller's."""
    return np.zeros(size, dtype=np.int64)


@kernel(part=True, borrow=True)
def announce_job(crew: Any, pieces: int) -> None:
    """The job that stands in crew[JOB:] has so many pieces; the crew may start."""
    crew[DONE] = 0
    exchange_word(crew, REMAINING, pieces)  # overwrites what late threads have subtracted


@kernel(part=True, borrow=True)
def take_piece(crew: Any) -> Any:
    """The number of a piece that only the caller works on; negative if none is left."""
    if load_word(crew, REMAINING) <= 0:
        return -1
    return add_to_word(crew, REMAINING, -1) - 1


@kernel(part=True, borrow=True)
def finish_piece(crew: Any) -> None:
    """Count a piece as done."""
    add_to_word(crew, DONE, 1)


@kernel(part=True, borrow=True)
def is_stopped(crew: Any) -> Any:
    """True once the leader needs its crew no longer."""
    return load_word(crew, STOP) != 0


@kernel(part=True, borrow=True)
def await_pieces(crew: Any, pieces: int) -> None:
    """Return when all pieces are done; raise if one never will be."""
    polls = 0
    while load_word(crew, DONE) < pieces:
        polls += 1
        if polls > PATIENCE:
            if load_word(crew, FAILED) != 0:
                raise RuntimeError("a thread of the crew failed")
            yield_processor()


def run_crew(task: Callable[..., Any], crew: Any, args: Any) -> Any:
    """task(crew, True, *args) in this thread, the leader, and task(crew, False, *args) in others.

    An exception in any thread ends all of them and is raised here.
    """
    helpers = 0 if PURE_PYTHON else parallel.n_threads() - 1
    if helpers == 0:
        return task(crew, True, *args)
    crew[REMAINING] = crew[STOP] = crew[FAILED] = 0

    def assist() -> None:
        try:
            task(crew, False, *args)
        except BaseException:
            crew[FAILED] = 1
            raise

    others = [parallel._pool().submit(assist) for _ in range(helpers)]
    try:
        result = task(crew, True, *args)
    finally:
        crew[STOP] = 1
        started = [other for other in others if not other.cancel()]
        wait(started)
        errors = [error for other in started if (error := other.exception())]
        if errors:
            raise errors[0]  # the leader's own, if any, is its context
    return result
