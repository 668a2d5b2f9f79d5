"""Posterior models: what estimators that are fitted by sampling share"""

import functools

from sklearn.base import BaseEstimator

from mlreplica.core.iterate import CallbackSupport, attributes_set_by

from .draws import Draws
from .parameters import Layout
from .sampler import Run


class PosteriorModel(CallbackSupport, BaseEstimator):
    """An estimator whose fitted state is a sample of its posterior.

    A subclass has the settings `n_draws`, `n_warmup`, `n_chains`, `random_state` and `n_jobs`,
    `_blocks()`, the named blocks of a draw, and `publish(draws)`, which sets its attributes.
    """

    @property
    def draws_(self):
        """The sample as `Draws`, made of arrays that a file can hold."""
        if "_posterior" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet, so it has no draws_.")
        layout, name = Layout(self._blocks()), type(self).__name__
        return Draws(self._posterior, layout, self._accept_rates, self._stats, name)

    def keep(self, draws, array):
        """Keep a sample, transformed to `array`."""
        self._posterior, self._stats = array, draws.stats
        self._accept_rates, self.n_iter_ = draws.accept_rates, self.n_warmup + draws.n_draws

    def sample_posterior(self, sampler, publish, x0=None):
        """Run a sampler; its callbacks and interrupts are those of this estimator.

        Parameters
        ----------
        sampler : Sampler
        publish : callable
            publish(model, draws) sets the fitted attributes.
        x0 : ndarray or None, default=None
            Where chains start.
        """

        def published(draws):
            if draws.n_draws == 0:  # during the warm-up: a draw from where the chains are
                chains = [{k: v.copy() for k, v in chain.items()} for chain in draws.chains]
                run = Run(sampler, chains, 1, 0, 1, self.n_jobs)
                next(run.blocks())
                draws = run.draws()
            return attributes_set_by(self, functools.partial(publish, draws=draws))

        sampler.owner, sampler.published = self, published
        draws = sampler.sample(
            x0, self.n_draws, n_chains=self.n_chains, n_warmup=self.n_warmup,
            random_state=self.random_state, n_jobs=self.n_jobs, warn=False,
        )  # fmt: skip
        publish(self, draws)
        return self
