"""Parallel: kernels that release the GIL, on one thread pool for the whole process

There is one pool with as many threads as the process may use, and callers only wait for it. So any
number of callers at once (user threads, joblib's or Dask's threads) never runs more threads than
that, and a task that asks for parallelism again runs it in place. BLAS is held to one thread
for as long as the pool works, because threads × threads is slower than either.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ContextDecorator
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController


def n_threads(n_jobs: int | None = None) -> int:
    """How many threads a call may use: n_jobs as in scikit-learn, None meaning all.

    Never more than the cores of this process or OMP_NUM_THREADS (which joblib sets in its worker
    processes), and one inside the pool, inside a Dask task and in a daemonic process.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use 1 for one thread, -1 for all.")
    if getattr(_thread, "in_pool", False) or _in_worker():
        return 1
    if n_jobs is None:
        return _most()
    return min(_most(), n_jobs) if n_jobs > 0 else max(1, _most() + 1 + n_jobs)


def split(n: int, parts: int, least: int = 1) -> list[slice]:
    """Cut range(n) into at most `parts` even slices, none shorter than `least` unless n is."""
    parts = max(1, min(parts, n // max(least, 1)))
    return [slice(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


def run(
    function: Callable[..., Any], *iterables: Iterable[Any], n_jobs: int | None = None
) -> list[Any]:
    """list(map(function, *iterables)) on the pool; the first error is raised at the end."""
    tasks = list(zip(*iterables, strict=True))
    if n_jobs is None and len(tasks) == 1:  # counting threads takes 5 µs
        return [function(*tasks[0])]
    threads = min(n_threads(n_jobs), len(tasks))
    if threads <= 1:
        return [function(*task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    waiting = deque(enumerate(tasks))

    def work() -> None:
        while waiting:
            try:
                k, task = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            results[k] = function(*task)

    with _one_blas_thread:
        futures = [_pool().submit(work) for _ in range(threads)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            waiting.clear()
            wait(futures)
            raise
    return results


def share(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """[function(*task) for task in tasks]: one a thread, of less than a millisecond each.

    The pool takes as long to wake, so the caller does not wait for it: it does the first task, and
    then whatever no thread has begun. It needs Python's lock to begin, which one that has woken up
    would hold: so nothing is left to prepare. Not for BLAS, which keeps its threads.
    """
    others = [_pool().submit(function, *task) for task in tasks[1:]]
    try:
        results = [function(*tasks[0])]
        for task, other in zip(tasks[1:], others, strict=True):
            results.append(function(*task) if other.cancel() else other.result())
    except BaseException:
        wait([other for other in others if not other.cancel()])
        raise
    return results


def one_blas_thread() -> _OneBlasThread:
    """A context, or a decorator, for work whose products are too small for threads of BLAS.

    After a product OpenBLAS's threads spin for some 25 ms more, on cores that ours could use.
    """
    return _one_blas_thread


def _most() -> int:
    """Cores that this process may use, or fewer by OMP_NUM_THREADS."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(_cores(), int(asked)) if asked.isdigit() and int(asked) > 0 else _cores()


@functools.cache
def _cores() -> int:
    return int(cpu_count())  # affinity and container limits, read from files: 0.1 ms


def _in_worker() -> bool:
    """True where others already run one task per core: a daemonic process or a Dask task."""
    if multiprocessing.current_process().daemon:
        return True
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


class _OneBlasThread(ContextDecorator):
    """While anybody is inside, BLAS has one thread; the last one out restores what was."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Nobody is inside."""
        self.lock, self.users = threading.Lock(), 0
        self.limited: list[tuple[Any, int | None]] = []  # libraries, and how many threads each had

    def __enter__(self) -> None:
        with self.lock:
            if self.users == 0:  # asked one by one: ThreadpoolController.limit takes 30 µs
                self.limited = [(blas, blas.num_threads) for blas in _libraries()]
                for blas, threads in self.limited:
                    if threads != 1:
                        blas.set_num_threads(1)
            self.users += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.restore()

    def restore(self) -> None:
        """Give every library the threads that it had."""
        for blas, threads in self.limited:
            if threads is not None and threads != 1:
                blas.set_num_threads(threads)


@functools.cache
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  its BLAS must be loaded to be found

    found = ThreadpoolController().lib_controllers
    return [library for library in found if library.user_api == "blas"]


@functools.cache
def _pool() -> ThreadPoolExecutor:
    def enter() -> None:
        _thread.in_pool = True

    return ThreadPoolExecutor(_most(), thread_name_prefix="mlreplica", initializer=enter)


def _after_fork() -> None:
    """A forked child has none of its parent's threads: start afresh, with BLAS as it was."""
    _pool.cache_clear()
    if _one_blas_thread.users:
        _one_blas_thread.restore()
    _one_blas_thread.begin()  # still the same object: decorated functions hold it


_thread = threading.local()  # in_pool: set in the pool's own threads
_one_blas_thread = _OneBlasThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
