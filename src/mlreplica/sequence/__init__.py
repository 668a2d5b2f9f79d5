"""Sequence: rows whose order matters

Read `_textbook.py` first: the three problems of hidden Markov models in four short functions. Then
`_base.py` and `_answers.py` (what all models share), `_lattice.py` and `_paths.py` (the recursions,
compiled) and the emissions: `_categorical.py`, `_gaussian.py` with `_normal.py` and `_missing.py`,
`_mixture.py`, `_counts.py`, `_negative_binomial.py`, `_multinomial.py`, and `_any.py` for those of
your own.

With labels: `_crf_chain.py` (the likelihood of a conditional random field), `_minimise.py`,
`_crf_online.py`, and `_crf.py` (the estimator); `_words.py` makes attributes of words.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._any import HMM as HMM
    from ._categorical import CategoricalHMM as CategoricalHMM
    from ._counts import PoissonHMM as PoissonHMM
    from ._crf import CRF as CRF
    from ._gaussian import GaussianHMM as GaussianHMM
    from ._mixture import GMMHMM as GMMHMM
    from ._monitor import ConvergenceMonitor as ConvergenceMonitor
    from ._multinomial import MultinomialHMM as MultinomialHMM
    from ._negative_binomial import NegativeBinomialHMM as NegativeBinomialHMM
    from ._select import select_n_components as select_n_components
    from ._textbook import backward as backward
    from ._textbook import baum_welch as baum_welch
    from ._textbook import forward as forward
    from ._textbook import viterbi as viterbi
    from ._words import WordFeatures as WordFeatures

__all__, __getattr__, __dir__ = lazy(__name__)
