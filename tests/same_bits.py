"""Every kernel that estimators and functions call, by the library and by Numba: the same bits

    NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= python tests/same_bits.py [name ...]

Each call of a kernel runs twice, on copies of its arguments: from the library, then by Numba. What
they return and what they write must be equal to the last bit. Names choose chapters, estimators and
functions of the warm-up; without any, only the first calls of each run.
"""

import copy
import os
import sys
import warnings
from itertools import islice

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads add up in any order
FIRST = 4  # calls of each estimator or function

import numpy as np  # noqa: E402

from mlreplica.core.compile.ahead.library import name_of, opened  # noqa: E402
from mlreplica.core.compile.jit import CompiledFunction, Formula  # noqa: E402
from mlreplica.warmup import all_calls, chosen  # noqa: E402


def same(a, b):
    """Whether two values are equal to the last bit."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and repr(a) == repr(b)


def compare(kernel, *args):
    """Run a kernel both ways; return what Numba returns, with what it writes."""
    twin = copy.deepcopy(args)
    library = kernel.run
    if library is getattr(kernel, "dispatcher", None):
        missing.add(name_of(kernel))
        return library(*args)
    found, expected = library(*twin), kernel.dispatcher(*args)
    compared.add(name_of(kernel))
    if not (same(found, expected) and same(twin, args)):
        different.add(name_of(kernel))
    return expected


missing, compared, different = set(), set(), set()
level, numba_cpu = (opened() or ("none", None))[0], os.environ.get("NUMBA_CPU_NAME")
if level != numba_cpu:
    sys.exit(f"the library is for {level}, Numba compiles for {numba_cpu}: set NUMBA_CPU_NAME")
CompiledFunction.__call__ = compare
Formula.__call__ = lambda self, *args: self.py_func(*args)
warnings.simplefilter("ignore")
np.seterr(all="ignore")
for name, _ in chosen(sys.argv[1:]):
    for _, call in islice(all_calls([name]), None if sys.argv[1:] else FIRST):
        try:
            call()
        except (ValueError, TypeError, NotImplementedError, ImportError):
            pass  # options and data that do not go together
sys.stdout.write(f"{len(compared)} kernels agree but {sorted(different)}; not in the library: ")
sys.stdout.write(f"{sorted(missing)}\n")
sys.exit(bool(different))
