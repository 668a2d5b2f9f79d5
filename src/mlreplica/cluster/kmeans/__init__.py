"""k-means

Read `lloyd.py` first (the two steps, and bounds that save most of the first), then `seeding.py`
(k-means++), `elkan.py` and `macqueen.py` (two other ways), `points.py` (distances between rows and
centres, dense and sparse), `centres.py` (what the estimators share), `estimator.py`, and last
`mini_batch.py` and `bisecting.py`.
"""
