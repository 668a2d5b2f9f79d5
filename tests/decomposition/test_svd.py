"""Three kinds, six solvers; small singular values against exact arithmetic"""

from decimal import Decimal, getcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlreplica.core.rows.products import Products
from mlreplica.decomposition import svd
from mlreplica.decomposition._bidiagonal import block_bidiagonal
from mlreplica.decomposition._golub_kahan import qr_steps
from mlreplica.decomposition._jacobi import jacobi_sweeps

DENSE = ["lapack", "jacobi", "golub-kahan", "eigen"]
shapes = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 12))


def matrix(m, n, rank, seed):
    rng = np.random.default_rng(seed)
    r = min(m, n, rank)
    return rng.normal(size=(m, r)) @ rng.normal(size=(r, n))


def exact_singular_values(A):
    """Of a small A: Jacobi's rotations on AᵀA in numbers of 100 digits."""
    getcontext().prec = 100
    A = [[Decimal(float(a)) for a in row] for row in A]
    n = len(A[0])
    M = [[sum(row[i] * row[j] for row in A) for j in range(n)] for i in range(n)]
    for _ in range(30):
        for p in range(n):
            for q in range(p + 1, n):
                if abs(M[p][q]) ** 2 <= Decimal(10) ** -170 * abs(M[p][p] * M[q][q]):
                    continue
                zeta = (M[q][q] - M[p][p]) / (2 * M[p][q])
                t = 1 / (abs(zeta) + (1 + zeta * zeta).sqrt())
                t = t if zeta >= 0 else -t
                c = 1 / (1 + t * t).sqrt()
                s = t * c
                for row in M:
                    row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
                M[p], M[q] = (
                    [c * a - s * b for a, b in zip(M[p], M[q], strict=True)],
                    [s * a + c * b for a, b in zip(M[p], M[q], strict=True)],
                )
    return np.array(sorted((float(M[i][i].sqrt()) for i in range(n)), reverse=True))


@given(shape=shapes, seed=st.integers(0, 1000), solver=st.sampled_from(DENSE))
@example(shape=(8, 8, 7), seed=255, solver="eigen")
def test_full_and_compact_rebuild_the_matrix(shape, seed, solver):
    A = matrix(*shape, seed)
    m, n, r = *A.shape, min(shape)
    full, compact = svd(A, "full", solver), svd(A, "compact", solver)
    assert full.U.shape == (m, m)
    assert full.Vt.shape == (n, n)
    assert len(compact.s) == r
    size = 1 + np.abs(A).max()
    tol = 1e-6 if solver == "eigen" else 1e-12
    assert_allclose((full.U[:, : min(m, n)] * full.s) @ full.Vt[: min(m, n)], A, atol=tol * size)
    assert_allclose(compact.matrix(), A, atol=tol * size)
    assert_allclose(full.U.T @ full.U, np.eye(m), atol=1e-11)
    assert_allclose(full.Vt @ full.Vt.T, np.eye(n), atol=1e-11)


@given(seed=st.integers(0, 1000), k=st.integers(1, 5))
def test_no_matrix_of_rank_k_is_closer_than_the_truncated_one(seed, k):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 6))
    best = np.linalg.norm(A - svd(A, "truncated", n_components=k).matrix())
    assert_allclose(best, np.sqrt((svd(A).s[k:] ** 2).sum()), rtol=1e-10)
    other = rng.normal(size=(8, k)) @ rng.normal(size=(k, 6))
    other *= (A * other).sum() / (other * other).sum()
    assert np.linalg.norm(A - other) >= best


@pytest.mark.parametrize("kind", ["columns", "rows", "both", "nearly singular"])
def test_jacobi_keeps_small_singular_values_to_the_last_digits(kind):
    rng = np.random.default_rng(3)
    C = rng.normal(size=(7, 5))
    down = 10.0 ** -np.arange(0, 35, 5)[rng.permutation(7)]
    across = 10.0 ** -np.arange(0, 40, 8)[[3, 0, 4, 2, 1]]
    A = {
        "columns": C * across,
        "rows": down[:, None] * C,
        "both": down[:, None] * C * across,
        "nearly singular": np.hstack([C[:, :4], C[:, :1] + 1e-8 * C[:, 4:]]),
    }[kind]
    exact = exact_singular_values(A)
    found = svd(A, "truncated", "jacobi", n_components=5).s
    # two columns nearly equal: no scaling helps, and ε in an entry moves σ_5 by ε·1e8 of itself
    tol = 1e-7 if kind == "nearly singular" else 1e-13
    assert_allclose(found, exact, rtol=tol)
    if kind == "columns":
        lapack = svd(A, "truncated", n_components=5).s
        assert abs(lapack[-1] / exact[-1] - 1) > 1e-6  # what one loses otherwise
    assert_allclose(svd(A).s[0], exact[0], rtol=1e-14)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
@pytest.mark.parametrize("solver", ["lapack", "jacobi", "golub-kahan"])
def test_huge_and_tiny_matrices(scale, solver):
    A = np.array([[3.0, 1.0], [1.0, 2.0], [0.5, 0.25]])
    assert_allclose(svd(scale * A, solver=solver).s, scale * svd(A).s, rtol=1e-12)


def test_iterations_go_down():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(12, 12))
    cosines = [state.cosine for state in jacobi_sweeps(G, np.eye(12))]
    assert cosines[-1] == 0.0
    assert 3 < len(cosines) < 12
    d, e = rng.normal(size=9), rng.normal(size=8)
    B = np.diag(d) + np.diag(e, 1)
    sizes = np.linalg.svd(B)[1]
    active = [state.active for state in qr_steps(d, e, np.eye(9), np.eye(9))]
    assert active == sorted(active, reverse=True)
    assert_allclose(np.sort(np.abs(d))[::-1], sizes, rtol=1e-10)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
def test_a_few_singular_values_of_a_large_matrix(make):
    rng = np.random.default_rng(0)
    A = sp.random_array((500, 400), density=0.05, rng=rng).toarray()
    A[:, :30] *= 3
    exact = np.linalg.svd(A)[1][:6]
    found = svd(make(A), "truncated", "lanczos", n_components=6, random_state=0)
    assert_allclose(found.s, exact, rtol=1e-10)
    assert_allclose(A @ found.Vt.T, found.U * found.s, atol=1e-8)
    rough = svd(make(A), "truncated", "randomized", n_components=6, random_state=0)
    assert_allclose(rough.s, exact, rtol=2e-2)
    assert (rough.s <= exact * (1 + 1e-12)).all()


@given(seed=st.integers(0, 200), passes=st.integers(1, 12))
def test_residual_and_bound_hold_after_any_number_of_passes(seed, passes):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(90, 80)) * 0.9 ** np.arange(80)
    exact = np.linalg.svd(A)[1]
    states = block_bidiagonal(Products(A), rng.normal(size=(80, 4)), 3, 24, every=True)
    for _ in range(passes):
        state = next(states)
    saved = (exact[:3] ** 2).sum() - (state.values**2).sum()
    assert -1e-9 <= saved <= state.bound + 1e-9 * exact[0] ** 2
    if np.isfinite(state.residual):
        U, Vt = state.vectors()
        wrong = np.linalg.norm(A.T @ U - Vt.T * state.values, axis=0).max()
        assert_allclose(wrong, state.residual * state.values[0], atol=1e-8 * exact[0])


def test_signs_are_those_of_scikit_learn():
    Vt = svd(np.random.default_rng(0).normal(size=(9, 5))).Vt
    assert (Vt[np.arange(5), np.abs(Vt).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize(
    ("A", "options", "message"),
    [
        ([[1.0, np.nan]], {}, "NaN"),
        ([[1.0, 2.0]], {"solver": "lanczos"}, "kind='truncated'"),
        ([[1.0, 2.0]], {"kind": "truncated", "n_components": 3}, "at most"),
        ([[1.0, 2.0]], {"n_components": 1}, "kind='truncated'"),
        ([1.0, 2.0], {}, "2D"),
        (sp.eye_array(3), {}, "[Ss]parse"),
    ],
)
def test_bad_input_is_refused(A, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        svd(A, **options)


def test_nothing_but_zeros():
    for solver in DENSE:
        full = svd(np.zeros((3, 2)), "full", solver)
        assert_allclose(full.s, 0)
        assert_allclose(full.U.T @ full.U, np.eye(3), atol=1e-14)
        assert svd(np.zeros((3, 2)), "compact", solver).s.shape == (0,)
