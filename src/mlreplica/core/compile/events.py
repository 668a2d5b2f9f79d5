"""Events: what Numba compiles, and how long it takes

Numba announces every compilation, nested ones included. `record_compilations` counts them for the
warm-up and takes their time out of measurements; `announce_long_compilations` tells the user once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import jit
from .layers import layer

OURS = __name__.partition(".")[0] + "."
logger = logging.getLogger("mlreplica")


class CompileRecord:
    """The compilations since a moment."""

    def __init__(self) -> None:
        self.functions: list[Any] = []  # Numba's dispatchers, one entry per signature
        self.seconds = 0.0

    def __call__(self, function: Any, seconds: float) -> None:
        """Add a compilation; those inside of others take no seconds of their own."""
        self.functions.append(function)
        self.seconds += seconds


@contextmanager
def record_compilations() -> Iterator[CompileRecord]:
    """Record what is compiled meanwhile: nothing where kernels run as plain Python."""
    record = CompileRecord()
    if jit.PURE_PYTHON:
        yield record
        return
    jit.import_numba()
    from numba.core import event

    with event.install_listener("numba:compile", compile_listener(record)):
        yield record


def announce_long_compilations() -> None:
    """Say once on the log that a kernel of this package took long, and how to avoid it."""
    from numba.core import event

    said = False

    def notice(function: Any, seconds: float) -> None:
        nonlocal said
        ours = (function.py_func.__module__ or "").startswith(OURS)  # None: made at run time
        if seconds > 1.0 and ours and not said:
            said = True
            cache = layer("cache")
            kept = cache is not None and cache.folder() is not None
            logger.warning(
                "compiled %s in %.1f s%s (`mlreplica warmup` compiles everything ahead)",
                function.py_func.__name__,
                seconds,
                "; kept on disk for the next time" if kept else ", for this process only",
            )

    event.register("numba:compile", compile_listener(notice))


def compile_listener(heard: Callable[[Any, float], None]) -> Any:
    """A listener that calls heard(dispatcher, seconds); seconds are 0 for nested compilations."""
    from numba.core import event

    class CompileListener(event.Listener):
        """Measures the time from the outermost start to its end."""

        def __init__(self) -> None:
            self.depth, self.since = 0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.since = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            seconds = time.perf_counter() - self.since if self.depth == 0 else 0.0
            heard(event.data["dispatcher"], seconds)

    return CompileListener()
