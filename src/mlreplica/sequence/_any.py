r"""Hidden Markov model with emissions of any kind, also several side by side

Given the state, columns of different emissions are independent, so that their densities multiply:

    log p(x_t | k) = Σ_e log p_e(x_{t, columns of e} | k)                                      (1)

An emission is one of the models of this chapter, of which only the emissions are used, or an
object of yours with `log_density(X)`, an (n, K) array, and `m_step(X, gamma)`, which learns from
rows weighted by the (n, K) probabilities of the states. `start(X, n_components, random_state)` and
`sample(state, random_state)` are used if it has them.
"""

import copy
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mlreplica.core.card import Card

from ._base import BaseHMM


def of_emission(k, named):
    """What belongs to emission k: the names end in its number, which is taken off."""
    end = f"_{k}"
    return {name.removesuffix(end): value for name, value in named.items() if name.endswith(end)}


def emissions_add_up(model):
    """Whether batches can be averaged; raises AttributeError if an emission needs the rows."""
    given = model.emissions
    for emission, _ in given if isinstance(given, list | tuple) else [(given, None)]:
        ours = isinstance(emission, BaseHMM) and hasattr(emission, "partial_fit")
        if not ours and emission is not None:
            name = type(emission).__name__
            raise AttributeError(f"{name}.m_step needs all rows, and online EM keeps averages.")
    return True


class HMM(BaseHMM):
    """Hidden Markov model with emissions of any kind, several of them for mixed columns: (1).

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    emissions : object, or list of (object, columns), default=None
        What a state shows: models of this chapter or objects of your own, each with the columns it
        is about. None: `GaussianHMM()` on all columns. `partial_fit` needs models of this chapter:
        an object of your own learns from rows, of which online EM keeps only averages.
    startprob_prior, transmat_prior : float or array-like, default=1.0
        Dirichlet priors of `startprob_` and of the rows of `transmat_`; 1 is none.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` returns: the most probable path, or in each row the most probable state.
    random_state : int, RandomState or None, default=None
    n_iter : int, default=100
        The most steps of EM.
    tol : float, default=1e-2
        Stop when the penalised log-likelihood gains less.
    verbose : bool, default=False
        Whether to write the objective of each step to the standard error stream.
    params, init_params : str, default="ste"
        What to learn, and what to set before: s(tart), t(ransitions), e(missions).
    implementation : {"scaling", "log"}, default="scaling"
        How to multiply many probabilities; the results are the same, and "scaling" is faster: a
        sequence that would underflow is done again with logarithms.
    topology : {"ergodic", "left-right"} or array-like of shape (n_components, n_components)
        Which transitions there may be.
    n_init : int, default=1
        Random starts, on threads; the most likely fit is kept.

    Attributes
    ----------
    startprob_, transmat_ : ndarray of shape (n_components,), (n_components, n_components)
        π and A.
    emissions_ : list of (object, columns)
        The emissions as learned; those of this chapter are models of their own columns.
    n_features : int
        Columns of X.
    monitor_, history_, n_iter_, converged_
        As of `GaussianHMM`.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.sequence import CategoricalHMM, PoissonHMM
    >>> rng, z = np.random.default_rng(0), np.repeat([0, 1, 0], 40)
    >>> X = np.column_stack([rng.poisson(np.array([2, 9])[z]), rng.random(120) < 0.2 + 0.6 * z])
    >>> emissions = [(PoissonHMM(), [0]), (CategoricalHMM(), [1])]
    >>> model = HMM(2, emissions, random_state=0).fit(X)
    >>> np.flatnonzero(np.diff(model.predict(X)))
    array([39, 79])
    """

    card = Card(
        page="baum-welch",
        checks="hidden_markov",
        task="labelling",
        input="sequences",
        cheap=lambda: {"n_components": 2, "n_iter": 3, "random_state": 0},
        data=lambda: (np.random.default_rng(0).standard_normal((60, 3)),),
        use="regimes behind columns of different kinds, or behind a density of your own",
        good="mixed columns; an emission of your own runs at the speed of its NumPy",
        bad="columns are independent within a state; finds a local optimum",
        time="O(n K²) per step of EM, and what the emissions take",
        memory="O(n K)",
        rescaling="as the emissions",
        missing="accepted: missing values are marginalised",
        instead="GaussianHMM if all columns are numbers that may be correlated",
    )
    _parameter_constraints = BaseHMM._parameter_constraints | {"emissions": "no_validation"}

    def __init__(
        self,
        n_components=1,
        emissions=None,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        algorithm="viterbi",
        random_state=None,
        n_iter=100,
        tol=1e-2,
        verbose: int = False,
        params="ste",
        init_params="ste",
        implementation="scaling",
        topology: Any = "ergodic",
        n_init=1,
    ):
        self.n_components = n_components
        self.emissions = emissions
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.topology = topology
        self.n_init = n_init

    def _start(self, X, rng):
        """Copies of the emissions, each started on its own columns."""
        from ._gaussian import GaussianHMM

        if not self._needs_start("e", "emissions_"):
            return
        given = GaussianHMM() if self.emissions is None else self.emissions
        if not isinstance(given, list | tuple):
            given = [(given, list(range(X.shape[1])))]
        self.emissions_ = []
        for emission, names in given:
            columns = np.atleast_1d(names)
            if columns.dtype.kind not in "iu" or columns.min() < 0 or columns.max() >= X.shape[1]:
                raise ValueError(f"Columns of an emission must be numbers below {X.shape[1]}.")
            made, part = copy.deepcopy(emission), np.ascontiguousarray(X[:, columns])
            if isinstance(made, BaseHMM):
                made.n_components = self.n_components
                made.startprob_, made.transmat_ = self.startprob_, self.transmat_
                rows = made._encode(part)
                made._shape_of(rows)
                made._start(rows, rng)
                made._check_emissions()
            elif hasattr(made, "start"):
                made.start(part, self.n_components, rng)
            self.emissions_.append((made, columns.tolist()))

    def _maximise_chain(self, start, transitions):
        """π and A, also of each emission, which is then a model of its own columns."""
        super()._maximise_chain(start, transitions)
        for emission, _ in self.emissions_:
            if isinstance(emission, BaseHMM):
                emission.startprob_, emission.transmat_ = self.startprob_, self.transmat_

    def _check_emissions(self):
        self._n_features = 1 + max(max(columns) for _, columns in self.emissions_)

    def _parts(self, X):
        """Each emission with its rows."""
        for emission, columns in self.emissions_:
            rows = np.ascontiguousarray(X[:, columns])
            ours = isinstance(emission, BaseHMM)
            yield emission, emission._encode(rows) if ours else rows, ours

    def log_density(self, X):
        """log p(x_t | k), equation (1), of every row and state.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples, n_components)
        """
        total = np.zeros((len(X), self.n_components))
        for emission, rows, ours in self._parts(X):
            found = np.asarray(emission.log_density(rows), dtype=np.float64)
            if found.shape != total.shape:
                raise ValueError(f"log_density must return {total.shape}, got {found.shape}.")
            if np.isnan(found).any() or (found == np.inf).any():
                raise ValueError("log_density must return finite numbers or −inf.")
            total += found
            if ours:
                total += emission._row_measure(rows)[:, None]
        return total

    def _statistics(self, X, gamma, **centres):
        """Statistics of our own emissions, rows and weights for others; names end in a number."""
        found = {}
        for k, (emission, rows, ours) in enumerate(self._parts(X)):
            new = {"rows": (rows, gamma)}
            if ours:
                new = emission._statistics(rows, gamma, **of_emission(k, centres))
            found |= {f"{name}_{k}": value for name, value in new.items()}
        return found

    def _maximise(self, stats):
        if "e" not in self.params:
            return
        for k, (emission, _) in enumerate(self.emissions_):
            own = of_emission(k, stats)
            if isinstance(emission, BaseHMM):
                emission._maximise(own)
            else:
                emission.m_step(*own["rows"])

    def _emission_prior(self):
        if "e" not in self.params:
            return 0.0
        own = [emission for emission, _ in self.emissions_ if isinstance(emission, BaseHMM)]
        return sum(emission._emission_prior() for emission in own)

    partial_fit = available_if(emissions_add_up)(BaseHMM.partial_fit)

    def _draw(self, state, rng):
        row = np.full(self._n_features, np.nan)
        for emission, columns in self.emissions_:
            ours = isinstance(emission, BaseHMM)
            row[columns] = emission._draw(state, rng) if ours else emission.sample(state, rng)
        return row

    def _emission_sizes(self):
        sizes = 0
        for emission, _ in self.emissions_:
            if isinstance(emission, BaseHMM):
                own = emission._emission_sizes()
                sizes += sum(own.values())
            else:
                sizes += int(getattr(emission, "n_parameters", 0))
        return {"e": sizes}
