"""Boosting by weights and by gradients

AdaBoost: `samme.py` (classes) and `r2.py` (numbers), then the estimators: `weight_boosting.py`,
`adaboost_classifier.py`, `adaboost_regressor.py`. Gradient boosting: `stages.py` (one stage), then
`gradient_base.py`, `gradient_boosting_classifier.py`, `gradient_boosting_regressor.py`.
"""
