"""Regression beyond squares, each a whole algorithm: `huber.py`, `poisson.py`,
`quantile_solvers.py` and `quantile.py` (the estimator)
"""
