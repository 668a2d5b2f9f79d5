"""Boosting by weights and by gradients

AdaBoost: `samme.py` (classes), `r2.py` (numbers), `adaboost.py` (the estimators). Gradient
boosting: `stages.py` (one stage), `gradient_base.py`, `gradient_boosting.py` (the estimators).
"""
