r"""Conditional random fields learned one sequence at a time

Stochastic gradient descent ("l2sgd") follows the gradient of one sequence's −log p + λ/2 ‖w‖².
The others find the best labelling ŷ under the present weights and, where it is wrong, move towards
y by the difference of features Δ = Φ(x, y) − Φ(x, ŷ):

    averaged perceptron "ap":    w ← w + Δ                                                      (1)
    passive–aggressive "pa":     w ← w + τ Δ,    τ = min(C, ℓ/‖Δ‖²)     for type I               (2)
    "arow":                      w ← w + α ΣΔ,   α = max(0, ℓ)/(ΔᵀΣΔ + γ),  1/Σ_f += Δ_f²/γ      (3)

with ℓ = s(x, ŷ) − s(x, y) + a cost of the mistakes. "ap" and "pa" return the mean of all weights,
also of the first, which are zero.

References
----------
Collins: Discriminative training methods for hidden Markov models. EMNLP 2002.
Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online passive-aggressive algorithms. JMLR 7 (2006).
Mejer, Crammer: Confidence in structured-prediction using confidence-weighted models. EMNLP 2010.
"""

import numpy as np

from mlreplica.core.compile.jit import kernel

from ._lattice import densities, in_blocks, smooth_scaled
from ._minimise import CRFState

PERCEPTRON, PASSIVE, AROW = 0, 1, 2


@kernel(borrow=True, part=True)
def local_scores(indptr, columns, values, starts, labels, w, a, z, out):
    """Scores of the items a … z−1 in the first rows of `out`."""
    L = out.shape[1]
    for t in range(a, z):
        for j in range(L):
            out[t - a, j] = 0.0
        for k in range(indptr[t], indptr[t + 1]):
            v, c = values[k], columns[k]
            for f in range(starts[c], starts[c + 1]):
                out[t - a, labels[f]] += v * w[f]
    return 0


@kernel(borrow=True)
def best_labels(scores, n, T, origin, found, d, e):
    """Viterbi's labels of n items."""
    L = scores.shape[1]
    for j in range(L):
        d[j] = scores[0, j]
    for t in range(1, n):
        for j in range(L):
            best, come = 0, d[0] + T[0, j]
            for i in range(1, L):
                if d[i] + T[i, j] > come:
                    best, come = i, d[i] + T[i, j]
            origin[t, j] = best
            e[j] = come + scores[t, j]
        for j in range(L):
            d[j] = e[j]
    best = 0
    for j in range(1, L):
        if d[j] > d[best]:
            best = j
    for t in range(n - 1, -1, -1):
        found[t] = best
        if t > 0:
            best = origin[t, best]
    return 0


@kernel(borrow=True, part=True)
def put(delta, touched, m, f, v):
    """delta[f] += v, with f on the list of what was touched; returns the list's length."""
    if delta[f] == 0.0:
        touched[m] = f
        m += 1
    delta[f] += v
    if delta[f] == 0.0:
        delta[f] = 1e-300  # stays on the list, and is nothing
    return m


@kernel(borrow=True)
def online_epoch(
    order, offsets, indptr, columns, values, starts, labels, place, y, weights, algorithm, options,
    w, mean, spread, clock, scores, T, origin, found, d, e, delta, touched,
):  # fmt: skip
    """One pass; w, mean, spread and the clock change in place. Returns the sum of the losses.

    `place[i, j]` is the number of the weight of a transition, or −1; `options` are C or γ, the type
    of "pa", and whether the cost is the root of the number of mistakes.
    """
    L = len(d)
    loss = 0.0
    for s in order:
        a, z = offsets[s], offsets[s + 1]
        n = z - a
        if n == 0 or weights[s] == 0.0:
            continue
        for i in range(L):
            for j in range(L):
                T[i, j] = w[place[i, j]] if place[i, j] >= 0 else 0.0
        local_scores(indptr, columns, values, starts, labels, w, a, z, scores)
        best_labels(scores, n, T, origin, found, d, e)
        clock[0] += weights[s]
        wrong, margin, m = 0, 0.0, 0
        for t in range(n):
            true, guess = y[a + t], found[t]
            if t > 0 and (true != guess or y[a + t - 1] != found[t - 1]):
                margin += T[found[t - 1], guess] - T[y[a + t - 1], true]
                if place[y[a + t - 1], true] >= 0:
                    m = put(delta, touched, m, place[y[a + t - 1], true], 1.0)
                if place[found[t - 1], guess] >= 0:
                    m = put(delta, touched, m, place[found[t - 1], guess], -1.0)
            if true == guess:
                continue
            wrong += 1
            margin += scores[t, guess] - scores[t, true]
            for k in range(indptr[a + t], indptr[a + t + 1]):
                v, c = values[k], columns[k]
                for f in range(starts[c], starts[c + 1]):
                    if labels[f] == true:
                        m = put(delta, touched, m, f, v)
                    elif labels[f] == guess:
                        m = put(delta, touched, m, f, -v)
        if wrong > 0:
            step, cost = 1.0, 0.0
            if algorithm == PERCEPTRON:
                loss += weights[s] * wrong / n
            else:
                square = 0.0
                for k in range(m):
                    f = touched[k]
                    square += delta[f] * delta[f] * (spread[f] if algorithm == AROW else 1.0)
                if algorithm == AROW:
                    cost = max(0.0, margin + wrong)
                    step = cost / (square + options[0])
                else:
                    cost = max(0.0, margin + (np.sqrt(wrong) if options[2] > 0.0 else 1.0))
                    if options[1] == 0.0:
                        step = cost / square if square > 0.0 else 0.0
                    elif options[1] == 1.0:
                        step = min(options[0], cost / square) if square > 0.0 else 0.0
                    else:
                        step = cost / (square + 0.5 / options[0])
                loss += weights[s] * cost
            step *= weights[s]
            for k in range(m):
                f = touched[k]
                if algorithm == AROW:
                    w[f] += step * spread[f] * delta[f]
                    spread[f] = 1.0 / (1.0 / spread[f] + delta[f] * delta[f] / options[0])
                else:
                    w[f] += step * delta[f]
                    mean[f] += (clock[0] - weights[s]) * step * delta[f]
        for k in range(m):
            delta[touched[k]] = 0.0
    return loss


def online(items, features, y, weights, algorithm, options, variance, averaged, seed):
    """Yield a state after every pass over the sequences, in a new random order each."""
    M, offsets = items
    L, D = features.n_labels, features.size
    longest = int(np.diff(offsets).max())
    w, mean, spread, clock = np.zeros(D), np.zeros(D), np.full(D, float(variance)), np.ones(1)
    scratch = (
        np.empty((longest, L)),
        np.empty((L, L)),
        np.zeros((longest, L), dtype=np.int64),
        np.zeros(longest, dtype=np.int64),
        np.empty(L),
        np.empty(L),
        np.zeros(D),
        np.zeros(D + 1, dtype=np.int64),
    )
    rng = np.random.RandomState(seed)
    arrays = (
        offsets,
        M.indptr,
        M.indices,
        M.data,
        features.starts,
        features.labels,
        places(features),
        y,
        weights,
    )
    while True:
        order = rng.permutation(len(offsets) - 1)
        loss = online_epoch(order, *arrays, algorithm, options, w, mean, spread, clock, *scratch)
        now = w - mean / clock[0] if averaged else w.copy()
        yield CRFState(loss / weights.sum(), np.inf, np.inf, now)


@kernel(borrow=True)
def gradient_epoch(
    order, offsets, indptr, columns, values, starts, labels, place, y, weights, rate,
    w, scores, matrices, ones, f, p, flat, rows,
):  # fmt: skip
    """One pass of gradient steps; the weights are rate[0]·w, so that they all shrink at once.

    `rate` holds that factor, λ, t₀ and t of the step 1/(λ(t₀ + t)). Returns Σ −log p as it goes.
    """
    L, A, AT = scores.shape[1], matrices[0], matrices[1]
    loss = 0.0
    for s in order:
        a, z = offsets[s], offsets[s + 1]
        n = z - a
        if n == 0 or weights[s] == 0.0:
            continue
        scale, shift = rate[0], 0.0
        for i in range(L):
            for j in range(L):
                A[i, j] = scale * w[place[i, j]] if place[i, j] >= 0 else 0.0
                shift = max(shift, A[i, j])
        local_scores(indptr, columns, values, starts, labels, w, a, z, scores)
        gold = 0.0
        for t in range(n):
            for j in range(L):
                scores[t, j] *= scale
            gold += scores[t, y[a + t]]
            if t > 0:
                gold += A[y[a + t - 1], y[a + t]]
        for i in range(L):
            for j in range(L):
                A[i, j] = np.exp(A[i, j] - shift)
                AT[j, i] = A[i, j]
        log_z = densities(scores[:n], f[:n], flat[: n * L])
        if not log_z > -np.inf:
            return np.nan
        sparse = bool(0)  # no literal False: so this and `walk_scaled` compile the same code
        log_z += smooth_scaled(scores[:n], ones, matrices, sparse, f[:n], p[:n], 1.0, rows)
        if not log_z > -np.inf:
            return np.nan
        loss += weights[s] * (log_z + shift * (n - 1) - gold)
        eta = 1.0 / (rate[1] * (rate[2] + rate[3]))
        rate[3] += 1.0
        rate[0] *= 1.0 - eta * rate[1]
        step = eta * weights[s] / rate[0]
        for t in range(n):
            true = y[a + t]
            for k in range(indptr[a + t], indptr[a + t + 1]):
                v, c = step * values[k], columns[k]
                for g in range(starts[c], starts[c + 1]):
                    j = labels[g]
                    w[g] += v * ((1.0 if j == true else 0.0) - scores[t, j])
            if t > 0 and place[y[a + t - 1], true] >= 0:
                w[place[y[a + t - 1], true]] += step
        for i in range(L):
            for j in range(L):
                if place[i, j] >= 0:
                    count = 0.0
                    for t in range(1, n):
                        count += f[t - 1, i] * p[t, j]
                    w[place[i, j]] -= step * A[i, j] * count
        if rate[0] < 1e-9:
            for g in range(len(w)):
                w[g] *= rate[0]
            rate[0] = 1.0
    return loss


def stochastic(items, features, y, weights, c2, options, seed):
    """Yield a state after every pass of stochastic gradient descent.

    t₀ of the step 1/(λ(t₀ + t)) is the best of some first steps, tried on some of the sequences.
    """
    M, offsets = items
    L, D, S = features.n_labels, features.size, len(weights)
    longest = int(np.diff(offsets).max())
    arrays = (
        offsets,
        M.indptr,
        M.indices,
        M.data,
        features.starts,
        features.labels,
        places(features),
        y,
        weights,
    )
    scores, f, p = np.empty((3, longest, L))
    matrices = np.stack([in_blocks(np.zeros((L, L)))] * 2)
    scratch = scores, matrices, np.ones(L), f, p, f.reshape(-1), np.zeros((4, matrices.shape[2]))
    lam = 2.0 * max(c2, 1e-12) / weights.sum()
    rng = np.random.RandomState(seed)
    sample = rng.permutation(S)[: options["samples"]]

    def attempt(eta, order):
        w, rate = np.zeros(D), np.array([1.0, lam, 1.0 / (lam * eta), 0.0])
        gradient_epoch(order, *arrays, rate, w, *scratch)
        again = np.array([rate[0], lam, 1e300, 0.0])  # steps of no length: the loss afterwards
        loss = gradient_epoch(order, *arrays, again, w, *scratch)
        return loss + c2 * (rate[0] ** 2 * (w @ w)) * len(order) / S

    first, factor = attempt(1e-12, sample), options["rate"]
    eta, found = options["eta"], {}
    for _ in range(options["max_trials"]):
        value = attempt(eta, sample)
        if np.isfinite(value) and value < first:
            found[eta] = value
            if len(found) >= options["candidates"]:
                break
        elif factor > 1:
            eta, factor = options["eta"], 1.0 / factor
        eta *= factor
    eta = min(found, key=found.get) if found else options["eta"]
    w, rate = np.zeros(D), np.array([1.0, lam, 1.0 / (lam * eta), 0.0])
    while True:
        loss = gradient_epoch(rng.permutation(S), *arrays, rate, w, *scratch)
        now = rate[0] * w
        yield CRFState(float(loss + c2 * (now @ now)), np.inf, np.inf, now)


def places(features):
    """Which weight each pair of labels has, or −1."""
    L = features.n_labels
    place = np.full((L, L), -1, dtype=np.int64)
    numbers = len(features.labels) + np.arange(len(features.pairs))
    place[features.pairs[:, 0], features.pairs[:, 1]] = numbers
    return place
