"""Accelerate: existing code for scikit-learn runs on mlreplica without a change

    python -m mlreplica.accelerate script.py     a script, with its arguments
    %load_ext mlreplica.accelerate               a notebook
    mlreplica.accelerate.install()               a program, before it imports scikit-learn's names
    MLREPLICA_ACCELERATE=1 python script.py      every Python process

Read `_modules.py` first (public names of scikit-learn, hmmlearn and sklearn-crfsuite lead to ours),
then `_stand_ins.py` (classes and functions that fall back to the original where ours refuses) and
`_record.py` (what ran where).
"""

from typing import TYPE_CHECKING, Any

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._modules import accelerated as accelerated
    from ._modules import install as install
    from ._modules import uninstall as uninstall
    from ._record import report as report

__all__, __getattr__, __dir__ = lazy(__name__)


def load_ipython_extension(_: Any) -> None:
    """Run by `%load_ext mlreplica.accelerate`."""
    from ._modules import install

    install()


def unload_ipython_extension(_: Any) -> None:
    """Run by `%unload_ext mlreplica.accelerate`."""
    from ._modules import uninstall

    uninstall()
