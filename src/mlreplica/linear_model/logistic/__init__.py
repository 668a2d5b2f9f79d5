"""Logistic regression

Read `objective.py` first (objective, derivatives, certificate), then `textbook.py` (Newton's method
in its shortest form) and the engines: `smooth.py` (Newton, L-BFGS,
gradient descent), `proximal_newton.py` and `quadratic_model.py` (L1 and elastic net), `saga.py`,
`wide.py` (fewer rows than columns), `sparse.py` (sparse rows), `training.py` (which solver runs),
`regression.py` and `cv.py` (the estimators) and `summary.py` (Wald tests).
"""
