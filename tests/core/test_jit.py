import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from mlreplica.core.compile import cache, jit
from mlreplica.core.compile.fingerprint import describe, examine, fingerprint, named
from mlreplica.core.compile.jit import formula, kernel
from mlreplica.discovery import chapters
from mlreplica.warmup import all_kernels

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
    from mlreplica.core.compile.jit import kernel, formula
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
    (home / "core" / "compile").mkdir(parents=True)
    for folder in (home, home / "core", home / "core" / "compile"):
        (folder / "__init__.py").write_text("")
    for path in Path(jit.__file__).parent.glob("*.py"):
        shutil.copy(path, home / "core" / "compile")
    shutil.copytree(Path(jit.__file__).parent / "ahead", home / "core" / "compile" / "ahead")
    (home / "callee.py").write_text(
        "from .core.compile.jit import kernel\n@kernel\ndef f(x):\n    return x + 1.0\n"
    )
    (home / "caller.py").write_text(
        "from .core.compile.jit import kernel\nfrom .callee import f\n"
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
        from .core.compile.jit import kernel
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
    callee.write_text(callee.read_text().replace("2.0", "1.0"))
    assert python(COUNT, **env) == "20.0 0"  # both versions are kept


@pytest.mark.parametrize("name", ["intrinsics.py", "parts.py"])
def test_an_edit_in_the_compile_layer_reaches_every_kernel(package, tmp_path, name):
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python(COUNT, **env) == "20.0 2"
    with (package / "core" / "compile" / name).open("a") as file:
        file.write("# edited\n")
    assert python(COUNT, **env) == "20.0 2"


def test_an_edit_elsewhere_or_of_comments_compiles_nothing_again(package, tmp_path):
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python(COUNT, **env) == "20.0 2"
    (package / "chapter.py").write_text((package / "callee.py").read_text())
    callee = package / "callee.py"
    lines = callee.read_text().replace("(x):\n", '(x):\n    """Text."""\n    # Comment.\n')
    callee.write_text("# Comment.\n" + lines)
    assert python(COUNT, **env) == "20.0 0"


def changing(value):
    """A kernel that names one constant and calls one formula."""
    space = {"kernel": kernel, "formula": formula, "N": value}
    exec("@formula\ndef f(x):\n    return x * N\n@kernel\ndef g(x):\n    return f(x)", space)
    return space["g"]


class Pair(NamedTuple):
    a: float
    b: float


class Riap(NamedTuple):
    b: float
    a: float


def test_a_fingerprint_knows_what_is_reached():
    values = [1, 2, 1.0, np.float32(1), np.int64(1), True, "1", (1,), np.ones(2), np.ones(3)]
    values += [Pair, Riap, np.float32, np.float64]
    assert len({fingerprint(changing(value)) for value in values}) == len(values)
    for value in values:
        assert fingerprint(changing(value)) == fingerprint(changing(value))


def test_the_fields_of_tuples_are_part_of_the_key():
    from numba import typeof

    Riap.__qualname__ = "Pair"
    pair, riap = typeof(Pair(1.0, 2.0)), typeof(Riap(1.0, 2.0))
    assert cache.describe_types((pair,)) != cache.describe_types((riap,))


def test_every_kernel_of_the_package_is_known_by_its_content():
    """No constant is described by an address or by a name that hides its value."""
    chapters()
    for compiled in all_kernels():
        for reached in (compiled, *examine(compiled)[1]):
            assert fingerprint(reached) == fingerprint(reached)
            function = reached.py_func
            for value in named(function.__globals__, function.__code__.co_names):
                assert " at 0x" not in describe(value) or hasattr(value, "py_func")


LOUD = """
import logging, sys, tempfile
logging.basicConfig(format="%(message)s", handlers=[logging.StreamHandler(sys.stdout)])
"""
NOWHERE = (
    LOUD
    + """
def refuse(**options):
    raise PermissionError(13, "Permission denied")
tempfile.TemporaryFile = refuse
"""
)
FULL = (
    LOUD
    + """
from pathlib import Path
def refuse(path, data):
    raise OSError(28, "No space left on device")
Path.write_bytes = refuse
"""
)


def test_where_nothing_can_be_kept_it_is_said_once(package, tmp_path):
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for trouble, reason in ((NOWHERE, "no folder is writable"), (FULL, "No space left on device")):
        said = python(trouble + textwrap.dedent(COUNT), **env)
        assert said.endswith("\n20.0 2")
        assert said.count("compiled kernels cannot be kept for the next process") == 1
        assert reason in said


def test_half_a_file_is_compiled_again(package, tmp_path):
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python(COUNT, **env) == "20.0 2"
    for path in (tmp_path / "cache").rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:1000])
    assert python(COUNT, **env) == "20.0 2"
    assert python(COUNT, **env) == "20.0 0"


def test_old_code_of_other_versions_is_forgotten(package, tmp_path):
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python(COUNT, **env) == "20.0 2"
    files = set((tmp_path / "cache").rglob("*.nbc"))
    for path in files:
        os.utime(path, (0, 0))
    assert python(COUNT.replace("g(1.0)", "g(1)"), **env) == "20.0 2"
    assert files < set((tmp_path / "cache").rglob("*.nbc"))  # another signature
    caller = package / "caller.py"
    caller.write_text(caller.read_text().replace("10.0", "100.0"))
    assert python(COUNT, **env) == "200.0 1"
    left = {path.name.partition("-")[0] for path in files if path.exists()}
    assert left == {"mini.callee.f"}


def test_a_long_first_compilation_is_said_once(package, tmp_path):
    code = """
        import itertools, logging, sys, types
        from mini.core.compile import events, jit
        clock = itertools.count(0, 3)  # each look at the clock is three seconds later
        events.time = types.SimpleNamespace(perf_counter=lambda: float(next(clock)))
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
