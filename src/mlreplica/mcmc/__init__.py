"""Sampling: Markov chains that visit points as often as a density says

Read `metropolis.py` first, then `gibbs.py`. `sampler.py` runs chains, `draws.py` and
`diagnostics.py` judge them. `density.py` and `parameters.py` say how a user's function becomes a
target; `hamiltonian.py`, `nuts.py`, `slices.py` and `ensemble.py` walk on it in other ways.
`ising.py` and `annealing.py` are cousins; `regression.py` and `logistic.py` are models that are
fitted by sampling.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from .annealing import simulated_annealing as simulated_annealing
    from .diagnostics import autocorrelation as autocorrelation
    from .diagnostics import ess_bulk as ess_bulk
    from .diagnostics import ess_mean as ess_mean
    from .diagnostics import ess_tail as ess_tail
    from .diagnostics import hdi as hdi
    from .diagnostics import mcse_mean as mcse_mean
    from .diagnostics import mcse_sd as mcse_sd
    from .diagnostics import rhat as rhat
    from .draws import Draws as Draws
    from .draws import MonteCarloWarning as MonteCarloWarning
    from .ensemble import Ensemble as Ensemble
    from .gibbs import Gibbs as Gibbs
    from .gibbs import MetropolisStep as MetropolisStep
    from .hamiltonian import HMC as HMC
    from .ising import Ising as Ising
    from .logistic import BayesianLogisticRegression as BayesianLogisticRegression
    from .logistic_density import logistic_log_density as logistic_log_density
    from .metropolis import MetropolisHastings as MetropolisHastings
    from .nuts import NUTS as NUTS
    from .parameters import cholesky as cholesky
    from .parameters import interval as interval
    from .parameters import ordered as ordered
    from .parameters import positive as positive
    from .parameters import real as real
    from .parameters import simplex as simplex
    from .regression import BayesianLinearRegression as BayesianLinearRegression
    from .slices import Slice as Slice

__all__, __getattr__, __dir__ = lazy(__name__)
