"""Monitor: what each step of EM raises, kept as hmmlearn does"""

import logging
import sys
from collections import deque

import numpy as np

log = logging.getLogger(__name__)


class ConvergenceMonitor:
    """The objective of a fit step by step, and whether it has settled.

    The objective is the log-likelihood, plus the logarithm of the priors where there are any: with
    priors the log-likelihood alone may fall.

    A subclass with another `converged` can be set as `model.monitor_` before `fit`.

    Parameters
    ----------
    tol : float
        A gain below it means converged.
    n_iter : int
        The most steps.
    verbose : bool
        Whether to write each step to the standard error stream.

    Attributes
    ----------
    history : deque of float
        The objective at the beginning of each step.
    iter : int
        Steps so far.

    Examples
    --------
    >>> monitor = ConvergenceMonitor(tol=0.1, n_iter=10, verbose=False)
    >>> for value in (-3.0, -2.0, -1.95):
    ...     monitor.report(value)
    >>> monitor.iter, monitor.converged
    (3, True)
    """

    _template = "{iter:>10d} {log_prob:>16.8f} {delta:>+16.8f}"

    def __init__(self, tol, n_iter, verbose):
        self.tol, self.n_iter, self.verbose = tol, n_iter, verbose
        self.history, self.iter = deque(), 0

    def __repr__(self):
        values = ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))
        return f"{type(self).__name__}({values})"

    def _reset(self):
        self.history.clear()
        self.iter = 0

    def report(self, log_prob):
        """Add the objective of one step.

        Parameters
        ----------
        log_prob : float
            The penalised log-likelihood.
        """
        delta = log_prob - self.history[-1] if self.history else np.nan
        self.iter += 1
        if self.verbose:
            line = self._template.format(iter=self.iter, log_prob=log_prob, delta=delta)
            sys.stderr.write(line + "\n")
        if delta < -1e-8 * max(1.0, abs(log_prob)):
            log.warning("Model is not converging: the penalised log-likelihood fell by %g.", -delta)
        self.history.append(log_prob)

    @property
    def converged(self):
        """Whether the last gain is below `tol`, or the steps are used up."""
        settled = len(self.history) >= 2 and self.history[-1] - self.history[-2] < self.tol
        return self.iter == self.n_iter or settled
