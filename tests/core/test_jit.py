import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mlreplica.core import cache, jit
from mlreplica.core.jit import formula, kernel

SRC = cache.PACKAGE.parent


@formula
def clipped(x, low):
    return np.maximum(x, low) * 2.0


@kernel
def total(x, low):
    s = 0.0
    for i in range(len(x)):
        s += clipped(x[i], low)
    return s


def python(code, **env):
    """Run code in a fresh process and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=False,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_formula_takes_arrays_and_serves_kernels():
    x = np.array([-1.0, 0.5, 2.0])
    assert clipped(x, 0.0).tolist() == [0.0, 1.0, 4.0]
    assert clipped(0.5, 0.0) == 1.0
    assert total(x, 0.0) == 5.0


def test_a_kernel_is_compiled_and_releases_the_gil():
    total(np.ones(2), 0.0)
    (overload,) = total.dispatcher.overloads.values()
    assert overload.objectmode is False
    assert total.dispatcher.targetoptions["nogil"] is True


def test_division_by_zero_is_numpys_and_nan_is_not_optimised_away():
    @kernel
    def ratio(a, b):
        return -1.0 if np.isnan(a) else a / b

    assert ratio(1.0, 0.0) == np.inf
    assert ratio(np.nan, 1.0) == -1.0


def test_strict_arithmetic_on_request():
    @kernel(fastmath=frozenset())
    def two_sum_error(a, b):
        s = a + b
        return (a - (s - (s - a))) + (b - (s - a))

    assert two_sum_error(1.0, 1e-17) == 1e-17


def test_a_kernel_may_be_called_first_by_many_threads_at_once():
    @kernel
    def double(x):
        return 2.0 * x

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(double, np.arange(32.0))) == (2.0 * np.arange(32.0)).tolist()


def test_a_kernel_pickles_by_name():
    assert pickle.loads(pickle.dumps(total)) is total


MODULE = """
    from mlreplica.core.jit import kernel, formula
    import numpy as np
    @formula
    def square(x):
        return x * x
    @kernel
    def norm2(x):
        s = 0.0
        for i in range(len(x)):
            s += square(x[i])
        return s
"""


def test_import_is_free_of_numba_until_the_first_call(tmp_path):
    (tmp_path / "own.py").write_text(textwrap.dedent(MODULE))
    code = """
        import sys, numpy as np, own
        before = "numba" in sys.modules, own.square(np.arange(3.0)).tolist(), "numba" in sys.modules
        print(before, own.norm2(np.arange(3.0)), "numba" in sys.modules)
    """
    path = os.pathsep.join([str(tmp_path), str(SRC)])
    said = python(code, PYTHONPATH=path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert said == "(False, [0.0, 1.0, 4.0], False) 5.0 True"


def test_plain_python_gives_the_same_numbers(tmp_path):
    (tmp_path / "own.py").write_text(textwrap.dedent(MODULE))
    code = "import sys, numpy as np, own; print(own.norm2(np.arange(5.0)), 'numba' in sys.modules)"
    path = os.pathsep.join([str(tmp_path), str(SRC)])
    cache = str(tmp_path / "cache")
    assert python(code, PYTHONPATH=path, NUMBA_CACHE_DIR=cache) == "30.0 True"
    assert (
        python(code, PYTHONPATH=path, NUMBA_CACHE_DIR=cache, MLREPLICA_PURE_PYTHON="1")
        == "30.0 False"
    )


@pytest.fixture
def package(tmp_path):
    """A copy of jit.py in a package of two files, where one file's kernel calls the other's."""
    home = tmp_path / "site" / "mini"
    (home / "core").mkdir(parents=True)
    for folder in (home, home / "core"):
        (folder / "__init__.py").write_text("")
    for name in ("jit.py", "readonly.py", "cache.py", "parts.py"):
        shutil.copy(Path(jit.__file__).parent / name, home / "core" / name)
    (home / "callee.py").write_text(
        "from .core.jit import kernel\n@kernel\ndef f(x):\n    return x + 1.0\n"
    )
    (home / "caller.py").write_text(
        "from .core.jit import kernel\nfrom .callee import f\n"
        "@kernel\ndef g(x):\n    return 10.0 * f(x)\n"
    )
    return home


COUNT = """
    from numba.core import event
    class Count(event.Listener):
        n = 0
        def on_start(self, e): Count.n += 1
        def on_end(self, e): pass
    event.register("numba:compile", Count())
    from mini.caller import g
    print(g(1.0), Count.n)
"""


def test_the_second_process_compiles_nothing(package, tmp_path):
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python(COUNT, **env) == "20.0 2"
    assert python(COUNT, **env) == "20.0 0"


def test_code_from_disk_finds_all_of_numbas_runtime(package, tmp_path):
    """It is loaded before Numba sets up its compiler, so all that it calls must be there."""
    (package / "caller.py").write_text(
        textwrap.dedent("""
        import numpy as np
        from .core.jit import kernel
        @kernel
        def g(x):
            np.random.seed(0)
            A = np.eye(3) * (1.0 + np.random.rand())
            seen = {3: np.linalg.solve(A, np.exp(A[0])).sum()}
            if x > 1.0:
                raise ValueError("too large")
            return round(np.sort(np.array([x, seen[3], 9.0]))[1], 3)
        """)
    )
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    code = (
        COUNT
        + """
    try:
        g(2.0)
    except ValueError as error:
        print(error)
    """
    )
    compiled, loaded = python(code, **env).split(), python(code, **env).split()
    assert int(compiled.pop(1)) > 0
    assert int(loaded.pop(1)) == 0
    assert loaded == compiled
    assert loaded[1:] == ["too", "large"]


def test_an_edit_in_a_called_file_reaches_the_caller(package, tmp_path):
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python(COUNT, **env) == "20.0 2"
    callee = package / "callee.py"
    callee.write_text(callee.read_text().replace("1.0", "2.0"))
    assert python(COUNT, **env) == "30.0 2"


def test_nothing_is_lost_where_many_keep_code_at_once(tmp_path):
    def keep(k):  # each with an index of its own, as processes have
        cache.KernelFile(str(tmp_path), "name", "stamp").save(f"signature {k}", f"code {k}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(keep, range(100)))
    kept = cache.KernelFile(str(tmp_path), "name", "stamp")
    assert [kept.load(f"signature {k}") for k in range(100)] == [f"code {k}" for k in range(100)]
    keep(7)
    assert len(list(tmp_path.glob("*.nbc"))) == 100


def test_shipped_kernels_start_without_compiling(package, tmp_path):
    ship = package / "_kernels"
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    build = {
        "NUMBA_CPU_NAME": cache.LEVEL,
        "NUMBA_CPU_FEATURES": "",
        "MLREPLICA_SHIP_TO": str(ship),
    }
    assert python(COUNT, **env, **build) == "20.0 2"
    moved = tmp_path / "elsewhere"
    package.parent.rename(moved)
    env["PYTHONPATH"] = str(moved)
    assert python(COUNT, **env) == "20.0 0"
    caller = moved / "mini" / "caller.py"
    caller.write_text(caller.read_text().replace("10.0", "100.0"))
    assert python(COUNT, **env) == "200.0 2"  # other sources: the shipped code does not count


def test_shipped_kernels_load_where_nothing_can_be_written(package, tmp_path):
    ship = package / "_kernels"
    build = {
        "NUMBA_CPU_NAME": cache.LEVEL,
        "NUMBA_CPU_FEATURES": "",
        "MLREPLICA_SHIP_TO": str(ship),
    }
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    python(COUNT, **env, **build)
    nowhere = """
        from numba.core import caching
        caching.CompileResultCacheImpl._locator_classes = []  # as if no folder were writable
    """ + COUNT.replace("\n    ", "\n        ")
    assert python(nowhere, **env) == "20.0 0"
    (package / "callee.py").write_text((package / "callee.py").read_text() + "\n")
    assert python(nowhere, **env) == "20.0 2"


def test_a_long_first_compilation_is_said_once(package, tmp_path):
    code = """
        import itertools, logging, sys, types
        from mini.core import jit
        clock = itertools.count(0, 3)  # each look at the clock is three seconds later
        jit.time = types.SimpleNamespace(perf_counter=lambda: float(next(clock)))
        logging.basicConfig(format="%(message)s", handlers=[logging.StreamHandler(sys.stdout)])
        from mini.caller import g
        theirs = lambda x: x  # not ours to speak of, nor must it have a module
        jit.import_numba().njit(theirs)(1)
        theirs.__module__ = None
        jit.import_numba().njit(theirs)(1)
        g(1.0), g(1)
    """
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = python(code, **env)
    assert said.startswith("compiled g in 3.0 s; kept on disk")
    assert said.count("compiled") == 1
    assert python(code, **env) == ""  # a cached kernel is no news


@kernel(part=True)
def half(x):
    return x / 2.0


@kernel(part=True)
def quarters(x):
    return half(half(x[0])), half(half(x[1]))


@kernel
def sum_of_quarters(x):
    a, b = quarters(x)
    return a + b


def test_a_part_is_compiled_within_the_kernel_that_calls_it():
    assert sum_of_quarters(np.array([4.0, 8.0])) == 3.0
    assert half(3.0) == 1.5  # Python may call it too
    assert "dispatcher" not in vars(quarters)
