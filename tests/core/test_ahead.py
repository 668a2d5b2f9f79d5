"""Kernels from a library built ahead of time: the bits that Numba gives, and Numba for the rest"""

import ctypes
import functools
import logging
import sys
import threading
from typing import NamedTuple

import numpy as np
import pytest

from mlreplica.core.compile import intrinsics
from mlreplica.core.compile.ahead import levels, library
from mlreplica.core.compile.jit import PURE_PYTHON, kernel

pytestmark = pytest.mark.skipif(
    PURE_PYTHON or not levels.has_compiler(), reason="needs Numba and a C compiler"
)


class Pair(NamedTuple):
    a: np.ndarray
    b: float


@kernel
def scaled_sum(x, w, a):
    s = 0.0
    for i in range(len(x)):
        s += x[i] if w is None else w[i] * x[i]
    return a * s


@kernel
def many_results(x, yes):
    return len(x), x[0], not yes, (np.float32(x[1]), np.uint8(7)), None


@kernel
def of_tuples(pair, shape):
    return pair.a[shape[0], shape[1][0]] * pair.b


@kernel
def with_default(x, k=2):
    return x[k]


@kernel
def new_arrays(x):
    y = x.T.copy()
    return y, y[1], np.arange(3) > 1


@kernel
def hand_back(x):
    x[0] = 5.0
    return x


@kernel
def tail(x):
    return x[2:]


@kernel
def refuse(x):
    if x < 0:
        raise ValueError("x is negative", 3)
    return x


@kernel
def overwrite(x, y):
    x[:] = y


@kernel
def products(A, x):
    return np.dot(A, A.T), np.dot(A, x), np.dot(x, x)


@kernel
def reshaped(A):
    return A.reshape(2, 2, 4)


@kernel
def wait_for(word):
    while intrinsics.load_word(word, 0) == 0:
        intrinsics.yield_processor()
    return True


A = np.arange(12.0).reshape(3, 4) / 7
x = np.linspace(-1, 2, 4)
CALLS = [
    (scaled_sum, (x, None, 3)),
    (scaled_sum, (x, x, 0.5)),
    (scaled_sum, (x.astype("f4"), None, np.float32(3))),
    (scaled_sum, (x[::2], None, np.int32(2))),
    (many_results, (x, True)),
    (many_results, (x, np.bool_(False))),
    (of_tuples, (Pair(A, 2.0), (1, (3, 4)))),
    (with_default, (x,)),
    (with_default, (x, 1)),
    (new_arrays, (A,)),
    (new_arrays, (np.asfortranarray(A),)),
    (tail, (x,)),
    (refuse, (2.0,)),
    (products, (A, x)),
    (products, (A.astype("f4"), x.astype("f4"))),
    (reshaped, (np.arange(16.0).reshape(4, 4),)),
]
QUIET = [(hand_back, (x,)), (overwrite, (x, x)), (wait_for, (np.zeros(1, dtype=np.int64),))]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a library of the kernels above."""
    from llvmlite import binding

    from mlreplica.core.compile.ahead.build import build_caller, build_library

    folder = tmp_path_factory.mktemp("ahead")
    level = binding.get_host_cpu_name()
    pairs = [(k, tuple(map(k.dispatcher.typeof_pyval, args))) for k, args in [*CALLS, *QUIET]]
    # A kernel compiled at a call with fewer arguments knows that they are omitted.
    with_default.dispatcher(x)
    pairs = [(k, s) for k, s in pairs if k is not with_default]
    pairs += [(with_default, s) for s in with_default.dispatcher.signatures]
    pairs.append((with_default, (*pairs[0][1][:1], k_type(1))))
    build_caller(folder / f"caller{library.COMPILED}")
    made, left_out = build_library(pairs, level, folder / f"{level}.so", folder / "objects")
    assert left_out == []
    assert made == len(CALLS) + len(QUIET) - 1  # True and np.bool_ are of one type
    return folder


def k_type(value):
    return with_default.dispatcher.typeof_pyval(value)


@pytest.fixture
def ahead(home, monkeypatch):
    """A function from a kernel to what runs it from the library; None if that is refused."""
    from llvmlite import binding

    found = (
        binding.get_host_cpu_name(),
        library.load_caller(home).open(home / f"{binding.get_host_cpu_name()}.so"),
    )
    monkeypatch.setattr(library, "opened", lambda: found)
    library.fill_routines.cache_clear()
    return library.find


def same(a, b):
    """Whether two results have the same types and bits."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        kinds = a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
        return kinds and a.tobytes() == b.tobytes()
    return type(a) is type(b) and np.array(a, dtype=object) == np.array(b, dtype=object)


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_the_results_of_numba(ahead, k, monkeypatch):
    function, args = CALLS[k]
    expected = function.dispatcher(*args)
    monkeypatch.setattr(function, "compile_call", None)  # the library alone
    arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
    counts = list(map(sys.getrefcount, arrays))
    found = ahead(function)(*args)
    assert same(found, expected)
    del found
    assert counts == list(map(sys.getrefcount, arrays))


def test_memory_of_results_is_their_own(ahead):
    new, row, _ = ahead(new_arrays)(A)
    assert np.shares_memory(new, row)
    del new
    assert (row == A[:, 1]).all()
    given = x.copy()
    assert ahead(hand_back)(given) is given
    assert given[0] == 5.0


def test_errors_of_kernels(ahead):
    with pytest.raises(ValueError, match="negative") as caught:
        ahead(refuse)(-1.0)
    assert caught.value.args == ("x is negative", 3)
    with pytest.raises(ValueError, match="do not fit together"):
        ahead(overwrite)(x.copy(), np.ones(7))


def test_read_only_and_mapped_arrays_are_arrays(ahead, tmp_path, monkeypatch):
    monkeypatch.setattr(scaled_sum, "compile_call", None)
    frozen = x.copy()
    frozen.flags.writeable = False
    assert ahead(scaled_sum)(frozen, None, 3) == scaled_sum.dispatcher(x, None, 3)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert ahead(scaled_sum)(mapped, None, 3) == scaled_sum.dispatcher(x, None, 3)


@pytest.mark.parametrize(
    "args",
    [
        (np.arange(4), None, 3),  # integers
        (A, None, 3),  # two dimensions
        (x, x[::-1], 3),  # another order
        (x.astype(">f8"), None, 3),  # bytes in another order
        (x, None, 1 << 64),  # too large
        (x, None),  # too few
        (x, None, "3"),
        (list(x), None, 3),
        (np.frombuffer(b"\0" + x.tobytes(), dtype="f8", offset=1), None, 3),  # not aligned
    ],
)
def test_other_types_go_to_numba(ahead, args, monkeypatch):
    monkeypatch.setattr(scaled_sum, "compile_call", lambda *given: given)
    result = ahead(scaled_sum)(*args)
    assert len(result) == len(args)
    assert all(a is b for a, b in zip(result, args, strict=True))


def test_a_line_on_the_log(caplog):
    with caplog.at_level(logging.INFO, logger="mlreplica"):
        again = kernel(scaled_sum.py_func)
        for _ in range(2):
            assert again.compile_call(np.arange(4), None, 3) == 18
    (line,) = caplog.messages
    assert "lacks scaled_sum(ndarray[int64, 1-d], NoneType, int)" in line


def test_code_of_changed_sources_is_refused(ahead, monkeypatch, caplog):
    monkeypatch.setattr(library, "hash_of_file", lambda name: b"other")
    with caplog.at_level(logging.INFO, logger="mlreplica"):
        assert ahead(scaled_sum) is None
    assert "has changed since the library was built" in caplog.messages[0]


def test_a_kernel_that_is_not_there(ahead):
    assert ahead(kernel(same)) is None


def test_python_runs_beside_a_kernel(ahead):
    word, results = np.zeros(1, dtype=np.int64), []
    thread = threading.Thread(target=lambda: results.append(ahead(wait_for)(word)))
    thread.start()
    word[0] = 1  # which the kernel would never see if it held the lock
    thread.join(timeout=30)
    assert results == [True]


def test_only_the_table_has_a_name(home):
    (path,) = home.glob("[!c]*.so")
    opened = ctypes.CDLL(str(path))
    assert opened.mlreplica_kernels
    for name in ("NRT_Free", "numba_xxdot", "PyErr_SetString", "routines"):
        assert not hasattr(opened, name)


def test_a_library_that_cannot_be_loaded_is_left_out(home, monkeypatch, tmp_path, caplog):
    opened = functools.partial(library.opened.__wrapped__)
    monkeypatch.setattr(library, "found_caller", library.found_caller.__wrapped__)
    monkeypatch.delenv("MLREPLICA_AHEAD", raising=False)
    monkeypatch.setattr(library, "FOLDER", tmp_path / "missing")
    assert opened() is None
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    assert opened() is None
    assert "cannot be loaded" in caplog.messages[-1]
    caller = f"caller{library.COMPILED}"
    (tmp_path / caller).write_bytes((home / caller).read_bytes())
    assert opened() is None
    assert "no library of kernels suits this CPU" in caplog.messages[-1]
    for level in library.levels(library.load_caller(tmp_path)):
        (tmp_path / f"{level}.so").write_bytes(b"half a file")
    assert opened() is None
    assert "cannot be loaded" in caplog.messages[-1]
    assert library.from_caller("gather") is not None
    monkeypatch.setenv("MLREPLICA_AHEAD", "0")
    assert opened() is None
    assert library.from_caller("gather") is None
