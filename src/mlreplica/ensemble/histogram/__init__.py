"""Second-order boosting on histograms

Read `textbook.py` first (boosting on histograms in its shortest form), then the engine:
`histograms.py` (sums that decide a split), `rounds.py` (the rounds of boosting),
`binning.py` (numbers become bytes), `grow.py` (a tree, leaf by leaf), `predict.py` (all trees at
once), `interactions.py`, `early_stopping.py`, `base.py`, `classifier.py` and `regressor.py`.
"""
