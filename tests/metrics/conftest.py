"""Both ways through every metric: NumPy as for few samples, kernels as for many"""

import pytest

from mlreplica.metrics import (
    _confusion,
    _inputs,
    _probability,
    _ranking,
    _regression,
    _residual_sums,
    _sweep,
)

LARGE = (_confusion, _probability, _ranking, _regression, _residual_sums, _sweep)


@pytest.fixture(params=["small", "large"])
def way(request, monkeypatch):
    """Small data, once as they are and once sent through the kernels, in parts on threads."""
    if request.param == "large":
        for module in LARGE:
            monkeypatch.setattr(module, "LARGE", 1)
        monkeypatch.setattr(_inputs, "SHARE", 16)
    return request.param
