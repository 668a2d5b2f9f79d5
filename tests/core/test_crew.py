"""Threads inside one kernel: nobody waits in vain, and errors come out"""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from mlreplica.core.compile import crew as crews
from mlreplica.core.compile import threads
from mlreplica.core.compile.crew import (
    DONE,
    JOB,
    PATIENCE,
    SIZE,
    announce_job,
    await_pieces,
    finish_piece,
    is_stopped,
    new_crew,
    run_crew,
    take_piece,
)
from mlreplica.core.compile.intrinsics import add_to_word, yield_processor
from mlreplica.core.compile.jit import kernel

LEADER, HELPERS = SIZE, SIZE + 8  # words that count the pieces of each
FAIL_NEVER, FAIL_LEADER, FAIL_HELPER = range(3)


@kernel
def add_up(crew, leads, x, jobs, pieces, fails, wait_for_helpers):
    """x[k] grows by 1 in every job, for every piece k; slow pieces where helpers must come."""
    polls = 0
    if not leads:
        while not is_stopped(crew):
            k = take_piece(crew)
            if k >= 0:
                if fails == FAIL_HELPER:
                    raise ValueError("helper")
                x[k] += 1
                add_to_word(crew, HELPERS, 1)
                finish_piece(crew)
                polls = 0
            else:
                polls += 1
                if polls > PATIENCE:
                    yield_processor()
        return
    for job in range(jobs):
        crew[JOB] = job
        announce_job(crew, pieces)
        while True:
            while wait_for_helpers and crew[DONE] == 0:
                yield_processor()  # the first piece of the job is a helper's
                if crews_failed(crew):
                    break
            k = take_piece(crew)
            if k < 0:
                break
            if fails == FAIL_LEADER:
                raise ValueError("leader")
            x[k] += 1
            crew[LEADER] += 1
            finish_piece(crew)
        await_pieces(crew, pieces)


@kernel
def crews_failed(crew):
    return crew[crews.FAILED] != 0


@pytest.fixture(params=[2, 4])
def cores(request, monkeypatch):
    """A pool of so many threads, on any machine."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_cores", lambda: request.param)
    threads._pool.cache_clear()
    yield request.param
    threads._pool().shutdown()
    threads._pool.cache_clear()


def count(jobs=50, pieces=6, fails=FAIL_NEVER, wait_for_helpers=False):
    """Run the jobs; who did how many pieces."""
    words, x = new_crew(SIZE + 16), np.zeros(pieces, dtype=np.int64)
    run_crew(add_up, words, (x, jobs, pieces, fails, wait_for_helpers))
    np.testing.assert_array_equal(x, jobs)
    return words[LEADER], words[HELPERS]


def test_every_piece_is_done_once_by_leader_and_helpers(cores):
    leader, helpers = count(wait_for_helpers=True)
    assert leader + helpers == 300
    assert helpers >= 50


def test_one_thread_does_everything_in_place(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 1)
    monkeypatch.setattr(threads, "_pool", lambda: pytest.fail("no pool is needed"))
    assert count() == (300, 0)


def test_the_leader_waits_for_nobody_who_comes_late(cores):
    busy = threading.Event()
    blocked = [threads._pool().submit(busy.wait) for _ in range(cores)]
    try:
        assert count() == (300, 0)
    finally:
        busy.set()
    assert all(future.result() for future in blocked)


def test_helpers_that_come_in_the_middle_join_in(cores):
    busy = threading.Event()
    blocked = [threads._pool().submit(busy.wait) for _ in range(cores)]
    timer = threading.Timer(0.05, busy.set)
    timer.start()
    leader, helpers = count(jobs=20, wait_for_helpers=True)
    assert leader + helpers == 120
    assert helpers >= 20
    assert all(future.result() for future in blocked)


def test_an_exception_of_the_leader_ends_the_crew(cores):
    count()  # compiled, and the pool awake
    with pytest.raises(ValueError, match="leader"):
        count(fails=FAIL_LEADER)
    assert sum(count()) == 300  # the pool is free again


def test_an_exception_of_a_helper_is_raised_instead_of_waiting(cores):
    count()
    raised = []

    def ask():
        try:
            count(fails=FAIL_HELPER, wait_for_helpers=True)
        except ValueError as error:
            raised.append(str(error))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(timeout=60.0)
    assert not asking.is_alive(), "the leader waits for a helper that has failed"
    assert len(raised) == 1
    assert "helper" in raised[0]
    assert sum(count()) == 300


def test_a_hundred_thousand_tiny_jobs(cores):
    leader, helpers = count(jobs=100_000, pieces=3)
    assert leader + helpers == 300_000


def test_inside_the_pool_a_crew_is_one_thread(cores):
    assert threads.run(lambda _: count(jobs=3), range(cores)) == [(18, 0)] * cores


FORK = """
import multiprocessing
from mlreplica.core.compile import threads
from tests.core.test_crew import count

threads._cores = lambda: 2
def child(queue):
    queue.put(int(sum(count(wait_for_helpers=True))))

if __name__ == "__main__":
    before = sum(count(wait_for_helpers=True))
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    process = fork.Process(target=child, args=(queue,))
    process.start()
    print(before, queue.get(timeout=60))
    process.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_a_crew_of_its_own():
    env = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        check=False,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["300", "300"], done.stderr
