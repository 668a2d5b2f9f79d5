"""Regression beyond squares, each a whole algorithm: `huber.py`; `poisson.py` (its problem) and
`poisson_regressor.py`; `tweedie.py` (its problem) and `tweedie_regressors.py` (the estimators);
`quantile_solvers.py` and `quantile.py` (the estimator)
"""
