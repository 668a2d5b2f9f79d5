"""The walk over rows, and what adds up along it

Read `walk.py` first: what a row is, and how solvers ask for sums over rows. Then `moments.py`: the
statistics of two sets of rows add up to those of both. `csr.py` has the products of sparse rows
that read each row once, `stored.py` the products with columns of a sparse matrix.
"""
