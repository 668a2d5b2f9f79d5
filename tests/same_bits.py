"""Every kernel that estimators and functions call, by the library and by Numba: the same bits

    NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= python tests/same_bits.py [name ...]

Each call of a kernel runs twice on the same arguments: from the library, and by Numba. What they
return and what they write must be equal to the last bit. Names choose chapters, estimators and
functions of the warm-up; without any, only the first calls of each run.
"""

import copy
import os
import sys
import warnings
from itertools import islice

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads add up in any order

import numpy as np

from mlreplica.core.compile.ahead.library import name_of, opened
from mlreplica.core.compile.jit import CompiledFunction, Formula
from mlreplica.warmup import all_calls, attempt, chosen

FIRST = 4  # calls of each estimator or function
missing, compared, different = set(), set(), set()


def same(a, b):
    """Whether two values are equal to the last bit."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and repr(a) == repr(b)


def arrays_in(args):
    """The arrays among arguments, those in tuples too."""
    for arg in args:
        if isinstance(arg, np.ndarray):
            yield arg
        elif isinstance(arg, tuple):
            yield from arrays_in(arg)


def compare(kernel, *args):
    """Run a kernel both ways on the same memory: where arrays lie may decide the order of a sum."""
    library = kernel.run
    if library is getattr(kernel, "dispatcher", None):
        missing.add(name_of(kernel))
        return library(*args)
    if kernel.__module__.startswith("mlreplica.mcmc"):  # they write through addresses, too
        return library(*args)
    arrays = list(arrays_in(args))
    before = [a.copy() for a in arrays]
    found = copy.deepcopy(library(*args))
    after = [a.copy() for a in arrays]
    for a, old in zip(arrays, before, strict=True):
        if a.flags.writeable:
            a[...] = old
    expected = kernel.dispatcher(*args)
    agree = same(found, expected) and all(map(same, after, arrays))
    (compared if agree else different).add(name_of(kernel))
    return expected


def main(names):
    """Compare the kernels that the calls of these names reach."""
    level, numba_cpu = (opened() or ("none", None))[0], os.environ.get("NUMBA_CPU_NAME")
    if level != numba_cpu:
        sys.exit(f"the library is for {level}, Numba compiles for {numba_cpu}: set NUMBA_CPU_NAME")
    CompiledFunction.__call__ = compare
    Formula.__call__ = lambda self, *args: self.py_func(*args)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name, _ in chosen(names):
        for _, call in islice(all_calls([name]), None if names else FIRST):
            attempt(call)
    sys.stdout.write(
        f"{len(compared)} kernels agree, {sorted(different)} do not; not in the library: "
    )
    sys.stdout.write(f"{sorted(missing)}\n")
    sys.exit(bool(different))


if __name__ == "__main__":
    main(sys.argv[1:])
