"""Ahead of time: kernels written in Python, shipped as machine code

Read `library.py` first: how a kernel finds its code without Numba. Then `build.py` (how that code
was made) with `describe.py` (types of arguments as numbers, and which sources code depends on).
In C: `kernels.h` (what a library holds), `caller.c` (the way in from Python) and `runtime.c` (what
kernels call). The book's page "How a loop becomes machine code" follows one kernel all the way.
"""
