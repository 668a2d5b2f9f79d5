"""Layers on Numba's internals: each is tried, and each can be absent"""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from mlreplica.core.compile import arrays, borrow, cache, layers, parts, readonly
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.layers import LAYERS, layer


@pytest.fixture
def later_numba(monkeypatch):
    """A version of Numba that nobody has tested yet."""
    monkeypatch.setattr(layers, "TESTED", ((0, 1), (0, 2)))
    layer.cache_clear()
    yield
    layer.cache_clear()


@pytest.mark.usefixtures("later_numba")
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_tried_where_numba_is_newer(name, caplog):
    assert layer(name) is not None, caplog.text


def without(name, monkeypatch):
    """Take away something that a layer needs."""
    if name == "parts":
        monkeypatch.setattr(parts.Part, "_get_module_for_linking", None)
    elif name == "borrow":
        monkeypatch.setattr(borrow, "OPTIONS", {"_no_such_option": False})
    elif name == "readonly":
        monkeypatch.setattr(readonly, "writable", lambda kind: kind)
    elif name == "arrays":
        monkeypatch.setattr(arrays, "_read", None)
    else:
        monkeypatch.delattr(cache.CompileResult, "_rebuild")


def make_kernel():
    @kernel(part=True, borrow=True, inline=True)
    def half(x):
        return x[0] / 2.0

    @kernel(borrow=True)
    def quarter(x):
        return half(x) / 2.0

    return quarter


@pytest.mark.usefixtures("later_numba")
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_numba_cannot_carry_is_left_out_with_one_line(
    name, monkeypatch, caplog, tmp_path
):
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)  # others may have kept these kernels
    without(name, monkeypatch)
    with caplog.at_level(logging.WARNING, "mlreplica"):
        layer(name)  # also where no kernel asks: "arrays" is for functions of users
        quarter, x = make_kernel(), np.array([8.0])
        assert quarter(x) == 2.0
        x.flags.writeable = False
        assert quarter(x) == 2.0
        assert make_kernel()(x) == 2.0
    said = [record.getMessage() for record in caplog.records if "layer" in record.getMessage()]
    assert len(said) == 1
    assert f"without the layer {name!r}" in said[0]


def run(*args, **env):
    done = subprocess.run(
        [sys.executable, *args],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FIT = """
import numpy as np
from mlreplica.linear_model import LogisticRegression
X = np.vander(np.linspace(-1, 1, 30), 4)
print(LogisticRegression().fit(X, X[:, 2] > 0.1).coef_.round(6).tolist())
"""


def test_without_any_layer_the_numbers_are_the_same(tmp_path):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run("-c", FIT, **folder, MLREPLICA_PLAIN_NUMBA="1") == run("-c", FIT)
    assert list(tmp_path.iterdir()) == []
    assert run("-c", FIT, NUMBA_DISABLE_JIT="1") == run("-c", FIT)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [("NUMBA_DISABLE_JIT", "plain Python"), ("MLREPLICA_PLAIN_NUMBA", "none (plain Numba)")],
)
def test_doctor_tells_how_kernels_run(variable, expected):
    assert expected in run("-m", "mlreplica", "doctor", **{variable: "1"})


def test_doctor_tells_where_nothing_is_kept(tmp_path):
    program = """
import sys, tempfile
def refuse(**options):
    raise PermissionError(13, "Permission denied")
tempfile.TemporaryFile = refuse
from mlreplica.cli.doctor import kernels
print(kernels()["kept in"])
"""
    said = run("-c", program, NUMBA_CACHE_DIR=str(tmp_path))
    assert said.startswith("nowhere: no folder is writable")
