"""Lasso and elastic net

Read `coordinate_descent.py` first: the textbook algorithm with its duality gap. The engine that
runs by default follows: `problem.py` and `columns.py` (X as the solvers see it), `working_set.py`
(few columns at a time), `face.py` (Newton steps on the non-zero weights), `large_set.py` (many
sparse columns), `path.py` (one α or many), `elastic_net.py` and `cv.py` (the estimators). Several
targets that share columns: `multi_task.py`, `multi_task_estimators.py`, `multi_task_cv.py`.
"""
