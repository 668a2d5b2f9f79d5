"""The record: which calls ran where, how often and how long, and why some fell back"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("mlreplica")

_calls: dict[tuple[str, str], list[float]] = {}  # (name, where): how often, seconds
_reasons: dict[tuple[str, str], int] = {}  # (name, reason): how often
_lock = threading.Lock()
_thread = threading.local()


@contextmanager
def timed(name: str, where: str) -> Iterator[None]:
    """Record one call; calls inside of another are part of it and are not recorded."""
    if getattr(_thread, "inside", False):
        yield
        return
    _thread.inside, start = True, time.perf_counter()
    try:
        yield
    finally:
        _thread.inside, seconds = False, time.perf_counter() - start
        with _lock:
            row = _calls.setdefault((name, where), [0, 0.0])
            row[0] += 1
            row[1] += seconds


def fell_back(name: str, original: str, error: BaseException) -> None:
    """Record that a call was left to the original, and say so on the log the first time."""
    reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    with _lock:
        times = _reasons[name, reason] = _reasons.get((name, reason), 0) + 1
    if times == 1:
        logger.warning("%s falls back to %s: %s", name, original, reason)


def clear() -> None:
    """Forget all calls."""
    with _lock:
        _calls.clear()
        _reasons.clear()


def report() -> str:
    """Return a table of the calls made under acceleration, the slowest first.

    Returns
    -------
    str
        Name, where it ran, calls and seconds; then what fell back to the original library, and why.

    Examples
    --------
    >>> from mlreplica import accelerate
    >>> print(accelerate.report())
    call  ran on           calls   seconds
    """
    with _lock:
        calls = sorted(_calls.items(), key=lambda item: -item[1][1])
        reasons = sorted(_reasons.items(), key=lambda item: -item[1])
    width = max([len(name) for (name, _), _ in calls], default=4)
    lines = [f"{'call':{width}}  {'ran on':14} {'calls':>7} {'seconds':>9}"]
    for (name, where), (times, seconds) in calls:
        lines.append(f"{name:{width}}  {where:14} {times:7.0f} {seconds:9.3f}")
    if reasons:
        lines += ["", "left to the original:"]
        lines += [f"{times:7}  {name}: {reason}" for (name, reason), times in reasons]
    return "\n".join(lines)
