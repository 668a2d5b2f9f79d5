"""Regression beyond squares, each a whole algorithm: `huber.py`; `poisson.py`,
`poisson_regressor.py`, `tweedie.py`, `tweedie_regressors.py` (problems and estimators, which share
`mean_regressor.py`); `quantile_solvers.py` and `quantile.py` (the estimator); `ransac.py` and
`ransac_regressor.py`
"""
