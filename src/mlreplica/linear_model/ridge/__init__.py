"""Ridge regression

Read `textbook.py` first (the closed form in its shortest form), then `direct.py` (the same with a
proof that no digits are lost), `solvers.py` (solvers by name), `regressor.py` (the
estimator), `leave_one_out.py` and `cv.py` (choosing α), `bayesian.py` (choosing it by
the evidence), `classifier.py` (ridge on labels ±1).
"""
