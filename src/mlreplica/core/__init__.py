"""What three or more algorithms share; no estimator lives here

compile/        how a loop becomes machine code and runs on threads
formulas/       each formula once: losses, penalties, kernels, vector functions, draws
rows/           the walk over rows, and the statistics that add up over them
growth/         how trees are grown, walked and pruned
linalg.py       factors of small matrices that know how many digits they keep
linear.py       what linear models share: training rows, weights, X w + b
iterate.py      the loop that drives every solver: stops, warns, traces, calls back
conjugate_gradients.py, quadratic_descent.py   the linear system and the L1 model of a Newton step
validation.py   one validation at the boundary; nothing inside validates again
inputs.py       rows whose columns are numbers or categories
lazy.py         public names are imported when they are first used
card.py         what tools need to know about an estimator
"""
