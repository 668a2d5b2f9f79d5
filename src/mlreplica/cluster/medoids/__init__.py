"""k-medoids

Read `pam.py` first (exchanges, all judged in one pass over the rows), then `estimator.py`.
"""
