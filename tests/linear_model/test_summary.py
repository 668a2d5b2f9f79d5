import itertools
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from mlreplica.linear_model import LinearRegression
from mlreplica.linear_model.least_squares.summary import summarize


def straight_line(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** np.arange(p) + 5.0
    return X, X @ rng.normal(size=p) + 2.0 + rng.normal(size=n), rng.uniform(0.2, 3.0, size=n)


def longley():
    data = sm.datasets.longley.load()
    return data.exog.to_numpy(), data.endog.to_numpy(), np.linspace(1.0, 2.0, 16)


def polynomial():
    x = np.linspace(-1, 2, 60)
    X = np.column_stack([x**k for k in range(1, 7)])
    return X, np.sin(3 * x) + 0.1 * np.cos(50 * x), 1.0 + x**2


def tiny_and_huge():
    X, y, weight = straight_line()
    return X * [1e-9, 1.0, 1e9], y, weight


DATA = [straight_line, longley, polynomial, tiny_and_huge]


def summary_of(X, y, weight=None, has_b=True, **arguments):
    model = LinearRegression(fit_intercept=has_b).fit(X, y, sample_weight=weight)
    return model.summary(X, y, sample_weight=weight, **arguments)


@pytest.mark.parametrize(
    ("data", "weighted", "has_b"), itertools.product(DATA, (False, True), (True, False))
)
def test_statsmodels_agrees(data, weighted, has_b):
    X, y, weight = data()
    weight = weight if weighted else None
    ours = summary_of(X, y, weight, has_b, level=0.9)
    scale = np.linalg.norm(X, axis=0)  # statsmodels drops small columns, so show it equal ones
    design = sm.add_constant(X / scale) if has_b else X / scale
    theirs = (sm.OLS(y, design) if weight is None else sm.WLS(y, design, weight)).fit()
    back = np.append([1.0] * has_b, scale)

    def same(a, b):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-300)

    same(ours.coef * back, theirs.params)
    same(ours.standard_errors * back, theirs.bse)
    same(ours.t, theirs.tvalues)
    np.testing.assert_allclose(ours.p, theirs.pvalues, rtol=1e-7, atol=1e-300)  # p = Φ(t) of huge t
    same(ours.intervals * back[:, None], theirs.conf_int(0.1))
    same(ours.covariance * np.outer(back, back), theirs.cov_params())
    same(
        [ours.r2, ours.r2_adjusted, ours.f, ours.residual_variance],
        [theirs.rsquared, theirs.rsquared_adj, theirs.fvalue, theirs.mse_resid],
    )
    np.testing.assert_allclose(ours.f_p, theirs.f_pvalue, rtol=1e-7, atol=1e-300)
    same(
        [ours.log_likelihood, ours.aic, ours.bic, ours.df_model, ours.df_residual],
        [theirs.llf, theirs.aic, theirs.bic, theirs.df_model, theirs.df_resid],
    )
    np.testing.assert_allclose(ours.residuals, theirs.resid, atol=1e-8 * np.abs(y).max())
    assert ours.weighted == weighted


@pytest.mark.parametrize("data", [straight_line, longley])
def test_influence_agrees_with_statsmodels(data):
    X, y, _ = data()
    ours = summary_of(X, y)
    theirs = sm.OLS(y, sm.add_constant(X)).fit().get_influence()
    np.testing.assert_allclose(ours.leverage, theirs.hat_matrix_diag, rtol=1e-8)
    np.testing.assert_allclose(ours.studentized_residuals, theirs.resid_studentized, rtol=1e-7)
    np.testing.assert_allclose(ours.cooks_distance, theirs.cooks_distance[0], rtol=1e-7)


@pytest.mark.parametrize("has_b", [True, False])
def test_condition_numbers(has_b):
    X, y, weight = straight_line()
    A = np.sqrt(weight)[:, None] * (sm.add_constant(X) if has_b else X)
    ours = summary_of(X, y, weight, has_b)
    np.testing.assert_allclose(ours.condition_number, np.linalg.cond(A))
    equal = A / np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(ours.scaled_condition_number, np.linalg.cond(equal))


def exact_variances(X):
    """diag of (XᵀX)⁻¹ in rational arithmetic."""
    X = [[Fraction(v) for v in row] for row in X]
    k = len(X[0])
    M = [[sum(row[i] * row[j] for row in X) for j in range(k)] for i in range(k)]
    M = [row + [Fraction(int(i == j)) for j in range(k)] for i, row in enumerate(M)]
    for i in range(k):  # positive definite: no pivoting needed
        M[i] = [v / M[i][i] for v in M[i]]
        for j in range(k):
            if j != i:
                M[j] = [a - M[j][i] * c for a, c in zip(M[j], M[i], strict=True)]
    return np.array([float(M[i][k + i]) for i in range(k)])


def test_exact_where_normal_equations_have_no_digit_left():
    x = 10.0 + np.arange(40) / 64  # powers of a short range, exact in float64
    X = np.column_stack([x**k for k in range(1, 5)])
    y = np.sin(x)
    ours = summary_of(X, y)
    want = np.sqrt(exact_variances(np.column_stack([np.ones(40), X])) * ours.residual_variance)
    assert ours.scaled_condition_number**2 > 1e16
    np.testing.assert_allclose(ours.standard_errors, want, rtol=1e-8)


def test_weight_zero_is_absent_and_scale_does_not_matter():
    X, y, weight = straight_line()
    keep = np.arange(40) % 3 > 0
    some = summary_of(X, y, weight * keep)
    without = summary_of(X[keep], y[keep], weight[keep])
    double = summary_of(X[keep], y[keep], 2 * weight[keep])
    for other in (without, double):
        np.testing.assert_allclose(some.standard_errors, other.standard_errors, rtol=1e-10)
        np.testing.assert_allclose(some.leverage, other.leverage, rtol=1e-10)
        np.testing.assert_allclose(some.aic, other.aic, rtol=1e-10)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 5))
def test_leverage_is_a_projection(seed, has_b, p):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(12, p)), rng.normal(size=12), rng.uniform(0.1, 5, size=12)
    found = summary_of(X, y, weight, has_b)
    np.testing.assert_allclose(found.leverage.sum(), p + has_b)
    assert ((found.leverage >= 0) & (found.leverage <= 1)).all()
    A = np.sqrt(weight)[:, None] * (sm.add_constant(X) if has_b else X)
    np.testing.assert_allclose(found.leverage, np.diag(A @ np.linalg.pinv(A)), atol=1e-10)
    step = 0.5  # moving one target moves its own fit by the leverage
    moved = LinearRegression(fit_intercept=has_b).fit(X, y + step * np.eye(12)[3], weight)
    still = LinearRegression(fit_intercept=has_b).fit(X, y, weight)
    change = (moved.predict(X) - still.predict(X))[3]
    np.testing.assert_allclose(change, step * found.leverage[3], atol=1e-10)


def test_dependent_columns_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[:, 3] = X[:, 0] - 2 * X[:, 1] + 1
    y = X @ [1.0, 2, 3, 0] + rng.normal(size=30)
    found = summary_of(pd.DataFrame(X, columns=list("abcd")), y)
    unknown = np.isnan(found.standard_errors)
    assert dict(zip(found.names, unknown, strict=True)) == {
        "intercept": True,
        "a": True,
        "b": True,
        "c": False,
        "d": True,
    }
    assert "do not determine intercept, a, b, d" in found.notes[0]
    assert (found.df_model, found.df_residual) == (3, 26)
    assert found.condition_number == np.inf
    smaller = summary_of(X[:, :3], y)
    np.testing.assert_allclose(found.standard_errors[3], smaller.standard_errors[3], rtol=1e-9)
    np.testing.assert_allclose([found.r2, found.f, found.aic], [smaller.r2, smaller.f, smaller.aic])


def test_constant_column_beside_an_intercept():
    X, y, _ = straight_line()
    found = summary_of(np.column_stack([X, np.full(40, 7.0)]), y)
    np.testing.assert_array_equal(
        np.isnan(found.standard_errors), [True, False, False, False, True]
    )


def test_as_many_rows_as_coefficients():
    X, y = np.array([[1.0], [3.0]]), np.array([1.0, 5.0])
    found = summary_of(X, y)
    assert found.df_residual == 0
    assert "The fit is exact: 2 rows determine 2 coefficients" in found.notes[0]
    assert np.isnan(found.standard_errors).all()
    assert "–" in str(found)


def test_other_rows_are_refused():
    X, y, weight = straight_line()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"standard errors away.*Pass the rows"):
        summarize(X[:30], y[:30], model.coef_, model.intercept_)
    with pytest.raises(ValueError, match="not the least-squares solution"):
        summarize(X, y, model.coef_, model.intercept_, sample_weight=weight)
    with pytest.raises(ValueError, match="not the least-squares solution"):
        summarize(X, y, model.coef_ * 1.05, model.intercept_)
    with pytest.raises(ValueError, match="not the least-squares solution"):
        summarize(X, y, model.coef_, model.intercept_ + 0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"feature_names": ["a"]}, "1 names for 3 columns"),
        ({"coef": [1.0]}, "coef has 1 entries for 3 columns"),
        ({"y": np.ones((40, 2))}, "describes one target; y has 2"),
    ],
)
def test_arguments_are_checked(change, message):
    X, y, _ = straight_line()
    with pytest.raises(ValueError, match=message):
        summarize(**({"X": X, "y": y, "coef": np.ones(3), "intercept": 0.0} | change))


def test_prints_in_eighty_columns_and_names_come_from_the_frame():
    X, y, _ = straight_line()
    frame = pd.DataFrame(X, columns=["short", "a_name_that_is_much_too_long_for_it", "<b>"])
    model = LinearRegression().fit(X, y)
    found = summarize(frame, y, model.coef_, model.intercept_)
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "a_name_that_is_much_too…" in text
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    cells = re.search(r"^short +(\S+) +(\S+)", text, re.MULTILINE).groups()
    np.testing.assert_allclose(
        [float(c) for c in cells], [found.coef[1], found.standard_errors[1]], rtol=1e-4
    )
    table = found.to_frame()
    assert list(table.index) == ["intercept", *frame.columns]
    np.testing.assert_array_equal(table["std err"], found.standard_errors)


def test_is_frozen():
    X, y, _ = straight_line()
    with pytest.raises(AttributeError):
        summary_of(X, y).r2 = 1.0
