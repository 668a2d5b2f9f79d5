r"""Hidden Markov models: three problems, four short functions

A chain z_1, …, z_T of K hidden states starts by π, moves by A, and in state j shows x_t with
probability (or density) B_tj:

    P(x, z) = π_{z_1} B_{1 z_1} Π_{t>1} A_{z_{t−1} z_t} B_{t z_t}                          (1)

How likely are the observations? Sum (1) over all K^T paths, one step at a time:

    α_1j = π_j B_1j,       α_tj = (Σ_i α_{t−1,i} A_ij) B_tj,       P(x) = Σ_j α_Tj          (2)

What is known of the state at time t? What follows it counts as much as what comes before:

    β_Ti = 1,              β_ti = Σ_j A_ij B_{t+1,j} β_{t+1,j}                             (3)
    γ_ti = P(z_t = i | x) = α_ti β_ti / P(x)                                               (4)
    ξ_tij = P(z_t = i, z_{t+1} = j | x) = α_ti A_ij B_{t+1,j} β_{t+1,j} / P(x)             (5)

Which path is the best? Replace the sum in (2) by a maximum and remember where it came from:

    δ_1j = π_j B_1j,       δ_tj = (max_i δ_{t−1,i} A_ij) B_tj                              (6)

Which parameters explain x best? Count what (4) and (5) expect, and divide (Baum, Welch):

    π_i ← γ_1i,    A_ij ← Σ_t ξ_tij / Σ_{t<T} γ_ti,    b_j(v) ← Σ_{t: x_t = v} γ_tj / Σ_t γ_tj   (7)

The products shrink like c^T, below the smallest float after some hundred steps. Either divide each
α_t by its sum c_t, and log P(x) = Σ_t log c_t, or work with logarithms throughout.       (8)

References
----------
Rabiner: A tutorial on hidden Markov models and selected applications in speech recognition.
    Proceedings of the IEEE 77 (1989), 257–286.
Baum, Petrie, Soules, Weiss: A maximization technique occurring in the statistical analysis of
    probabilistic functions of Markov chains. Ann. Math. Statist. 41 (1970), 164–171.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp


class Forward(NamedTuple):
    """α, log P(x) and, where α is scaled, the sums c_t it was divided by."""

    alpha: np.ndarray
    log_likelihood: float
    scale: np.ndarray | None = None


class Path(NamedTuple):
    """The best path, the logarithm of its probability, δ and where each maximum came from."""

    states: np.ndarray
    log_probability: float
    delta: np.ndarray
    origin: np.ndarray


class BaumWelchState(NamedTuple):
    """What a step of `baum_welch` starts from, and how likely that makes the symbols."""

    startprob: np.ndarray
    transmat: np.ndarray
    emissionprob: np.ndarray
    log_likelihood: float
    gamma: np.ndarray


def forward(startprob, transmat, B, space="scaled"):
    """Sum over all paths that end in each state, by (2).

    Parameters
    ----------
    startprob : array-like of shape (K,)
        π.
    transmat : array-like of shape (K, K)
        A, from row i to column j.
    B : array-like of shape (T, K)
        How probable each observation is in each state; in logarithms if `space` is "log".
    space : {"scaled", "log", "plain"}, default="scaled"
        Divide by the sums (8), use logarithms, or do neither, which is exact for fractions.

    Returns
    -------
    forward : Forward
        Named tuple of `alpha`, `log_likelihood` (P(x) itself if "plain") and `scale`.

    Examples
    --------
    >>> found = forward([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.2], [0.9, 0.2], [0.1, 0.8]])
    >>> found.alpha.round(3)
    array([[0.818, 0.182],
           [0.883, 0.117],
           [0.191, 0.809]])
    """
    pi, A, B = (np.asarray(a) for a in (startprob, transmat, B))
    alpha, c = np.empty_like(B), np.empty(len(B))
    for t in range(len(B)):
        if space == "log":
            with np.errstate(divide="ignore"):
                before = np.log(pi) if t == 0 else logsumexp(alpha[t - 1][:, None] + np.log(A), 0)
            alpha[t] = before + B[t]
        else:
            alpha[t] = (pi if t == 0 else alpha[t - 1] @ A) * B[t]  # (2)
        if space == "scaled":
            c[t] = alpha[t].sum()
            alpha[t] /= c[t]  # (8)
    if space == "plain":
        return Forward(alpha, alpha[-1].sum())
    if space == "log":
        return Forward(alpha, float(logsumexp(alpha[-1])))
    return Forward(alpha, float(np.log(c).sum()), c)


def backward(transmat, B, scale=None, space="scaled"):
    """Sum over all ways to go on from each state, by (3).

    Parameters
    ----------
    transmat, B, space
        As for `forward`.
    scale : ndarray of shape (T,), default=None
        The sums c_t that `forward` divided by; required if `space` is "scaled".

    Returns
    -------
    beta : ndarray of shape (T, K)
        With α and β of the same space, αβ (or α + β of logarithms) is γ up to a factor.

    Examples
    --------
    >>> backward([[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.2], [0.9, 0.2], [0.1, 0.8]], space="plain")
    array([[0.2307, 0.1663],
           [0.31  , 0.59  ],
           [1.    , 1.    ]])
    """
    A, B = np.asarray(transmat), np.asarray(B)
    beta = np.empty_like(B)
    beta[-1] = 0 if space == "log" else 1
    for t in range(len(B) - 2, -1, -1):
        if space == "log":
            with np.errstate(divide="ignore"):
                beta[t] = logsumexp(np.log(A) + B[t + 1] + beta[t + 1], axis=1)
        else:
            beta[t] = A @ (B[t + 1] * beta[t + 1])  # (3)
        if space == "scaled":
            beta[t] /= scale[t + 1]
    return beta


def viterbi(startprob, transmat, B, space="log"):
    """Find the most probable path, by (6).

    Parameters
    ----------
    startprob, transmat, B
        As for `forward`; B is in logarithms if `space` is "log".
    space : {"log", "plain"}, default="log"
        Add logarithms, or multiply as (6) is written.

    Returns
    -------
    path : Path
        Named tuple of `states`, `log_probability` (the probability if "plain"), `delta`, `origin`.

    Examples
    --------
    >>> B = [[0.9, 0.2], [0.9, 0.2], [0.1, 0.8]]
    >>> viterbi([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], B, space="plain").states
    array([0, 0, 1])
    """
    pi, A, B = (np.asarray(a) for a in (startprob, transmat, B))
    log = space == "log"
    if log:
        with np.errstate(divide="ignore"):
            pi, A = np.log(pi), np.log(A)
    T, K = B.shape
    delta, origin = np.empty_like(B), np.zeros((T, K), dtype=np.int64)
    delta[0] = pi + B[0] if log else pi * B[0]
    for t in range(1, T):
        come = delta[t - 1][:, None] + A if log else delta[t - 1][:, None] * A  # i to j
        origin[t] = come.argmax(axis=0)
        best = come.max(axis=0)
        delta[t] = best + B[t] if log else best * B[t]  # (6)
    z = np.empty(T, dtype=np.int64)
    z[-1] = delta[-1].argmax()
    for t in range(T - 1, 0, -1):
        z[t - 1] = origin[t, z[t]]
    return Path(z, delta[-1].max(), delta, origin)


def baum_welch(x, startprob, transmat, emissionprob):
    """Yield the parameters and their likelihood before each step (7), indefinitely.

    Parameters
    ----------
    x : array-like of shape (T,)
        Symbols 0, 1, …, M − 1.
    startprob, transmat, emissionprob : array-like of shape (K,), (K, K), (K, M)
        Where to start; a probability that is zero stays zero.

    Yields
    ------
    state : BaumWelchState
        Named tuple of `startprob`, `transmat`, `emissionprob`, `log_likelihood` and `gamma`.

    Examples
    --------
    >>> start = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]]
    >>> steps = baum_welch([0, 0, 1, 1, 1, 0, 0, 0, 1, 1], *start)
    >>> [round(next(steps).log_likelihood, 3) for _ in range(4)]
    [-6.818, -6.064, -5.887, -5.808]
    """
    x = np.asarray(x)
    pi, A, b = (np.array(a, dtype=np.float64) for a in (startprob, transmat, emissionprob))
    while True:
        B = b[:, x].T
        alpha, log_likelihood, c = forward(pi, A, B)
        beta = backward(A, B, c)
        gamma = alpha * beta  # (4), scaled
        yield BaumWelchState(pi, A, b, log_likelihood, gamma)
        ahead = B[1:] * beta[1:] / c[1:, None]
        xi = A * (alpha[:-1].T @ ahead)  # (5), summed over t
        pi = gamma[0] / gamma[0].sum()
        A = xi / xi.sum(axis=1, keepdims=True)
        b = np.stack([np.bincount(x, g, b.shape[1]) for g in gamma.T])
        b /= b.sum(axis=1, keepdims=True)  # (7)
