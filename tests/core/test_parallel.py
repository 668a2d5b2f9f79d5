import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_info

from mlreplica.core.compile import threads as parallel
from mlreplica.core.compile.threads import n_threads, run, share, split


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    """Pretend to have four cores, so that the tests mean the same on every machine."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(parallel, "_cores", lambda: 4)
    parallel._pool.cache_clear()
    yield
    parallel._pool.cache_clear()


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 4), (1, 1), (3, 3), (99, 4), (-1, 4), (-2, 3), (-99, 1)]
)
def test_n_jobs_counts_as_in_scikit_learn_up_to_the_cores(n_jobs, expected):
    assert n_threads(n_jobs) == expected


def test_n_jobs_zero_is_refused():
    with pytest.raises(ValueError, match="use 1 for one thread, -1 for all"):
        n_threads(0)


@pytest.mark.parametrize(
    ("value", "expected"), [("2", 2), ("2,1", 2), ("64", 4), ("", 4), ("junk", 4), ("0", 4)]
)
def test_omp_num_threads_is_a_ceiling(monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert n_threads() == expected


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("parts", [1, 3, 8])
@pytest.mark.parametrize("least", [1, 10])
def test_split_covers_the_range_in_order(n, parts, least):
    pieces = split(n, parts, least)
    assert [i for piece in pieces for i in range(n)[piece]] == list(range(n))
    assert 1 <= len(pieces) <= parts
    assert len(pieces) == 1 or min(p.stop - p.start for p in pieces) >= least


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_run_is_an_ordered_map(n_jobs):
    def late_first(i, j):
        time.sleep(0.002 * (5 - i))
        return i - j

    assert run(late_first, range(5), range(0, 10, 2), n_jobs=n_jobs) == [0, -1, -2, -3, -4]


@pytest.mark.parametrize("n_jobs", [2, 3, None])
def test_run_uses_n_jobs_threads_at_once_and_no_more(n_jobs):
    busy, most, lock = 0, 0, threading.Lock()
    everyone = threading.Barrier(n_threads(n_jobs), timeout=60)  # opens for n_jobs threads at once

    def task(_):
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        everyone.wait()
        with lock:
            busy -= 1

    run(task, range(12), n_jobs=n_jobs)  # 12 is a multiple of 2, 3 and 4
    assert most == n_threads(n_jobs)


def test_concurrent_callers_share_one_pool():
    busy, most, lock = 0, 0, threading.Lock()

    def task(_):
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.005)
        with lock:
            busy -= 1

    callers = [threading.Thread(target=run, args=(task, range(8))) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=30)
    assert not any(caller.is_alive() for caller in callers)
    assert 1 < most <= 4


def test_nested_run_goes_on_in_place():
    def outer(_):
        return n_threads(), len(set(run(lambda _: threading.get_ident(), range(8))))

    assert run(outer, range(4)) == [(1, 1)] * 4


@pytest.mark.parametrize("error", [ValueError, IndexError, KeyboardInterrupt])
def test_the_first_error_is_raised_and_the_pool_lives_on(error):
    def task(i):
        if i == 3:
            raise error("task 3")
        return i

    with pytest.raises(error, match="task 3"):
        run(task, range(4))
    assert run(abs, range(4)) == [0, 1, 2, 3]
    assert parallel._one_blas_thread.users == 0


def test_blas_has_one_thread_inside_and_its_own_number_after():
    before = blas_threads()
    assert run(lambda _: blas_threads(), range(2)) == [[1] * len(before)] * 2
    assert blas_threads() == before


def test_joblib_threads_and_processes_do_not_oversubscribe():
    with parallel_config("threading"):
        inside = Parallel(n_jobs=2)(
            delayed(run)(lambda _: threading.active_count(), range(8)) for _ in range(4)
        )
    own = {t for t in threading.enumerate() if t.name.startswith("mlreplica")}
    assert len(own) <= 4
    assert len(inside) == 4
    counts = Parallel(n_jobs=2, backend="loky")(delayed(n_threads)() for _ in range(2))
    assert max(counts) <= max(1, os.cpu_count() // 2)


def test_one_thread_inside_a_dask_task():
    import distributed

    with distributed.Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as client:
        assert client.submit(n_threads, pure=False).result() == 1
    assert n_threads() == 4


def test_works_after_fork():
    code = """
import multiprocessing as mp, os, sys, numpy as np
from mlreplica.core.compile.threads import run
def child(q):
    q.put(run(np.sum, [np.ones(3)] * 4, n_jobs=2))
if __name__ == "__main__":
    run(np.sum, [np.ones(3)] * 4, n_jobs=2)
    q = mp.get_context("fork").Queue()
    p = mp.get_context("fork").Process(target=child, args=(q,))
    p.start(); print(q.get(timeout=30)); p.join()
"""
    env = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        check=False,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.count("3.0") == 4, done.stderr


def test_arrays_are_shared_not_copied():
    x = np.zeros(8)
    run(lambda s: x.__setitem__(s, 1.0), split(8, 4))
    assert x.sum() == 8


def test_the_caller_shares_the_work_and_does_alone_what_no_thread_comes_for():
    def task(k):
        return k * k, threading.get_ident()

    me, busy = threading.get_ident(), threading.Event()
    squares, threads = zip(*share(task, [(k,) for k in range(4)]), strict=True)
    assert squares == (0, 1, 4, 9)
    assert threads[0] == me
    waiting = [parallel._pool().submit(busy.wait) for _ in range(4)]
    try:
        assert share(task, [(k,) for k in range(3)]) == [(0, me), (1, me), (4, me)]
    finally:
        busy.set()
    assert all(future.result() for future in waiting)
    with pytest.raises(ZeroDivisionError):
        share(lambda k: 1 // k, [(1,), (0,), (2,)])
