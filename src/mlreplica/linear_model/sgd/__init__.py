"""Descent along gradients, from the perceptron to SGD

Read `perceptron.py` first, then `gradient_descent.py` and `mini_batches.py` (plain functions for
any loss of `objective.py`), `textbook.py` (SGD in its shortest form), `epochs.py` and `steps.py`
(its engine) with `losses.py`, and the estimators: `perceptron_classifier.py`, `base.py`,
`classifier.py`, `regressor.py`.
"""
